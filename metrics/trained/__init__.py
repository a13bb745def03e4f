"""Metrics whose weights are trained on dialogues."""
