"""Dialogues to train on, and what they share with the evaluation sets."""
