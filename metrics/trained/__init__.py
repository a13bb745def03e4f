"""Metrics with weights that were trained on dialogues."""
