"""Dialogues to train on, and their overlap with the evaluation sets."""
