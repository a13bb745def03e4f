"""Scores: one metric on one dataset, composites, and the store; executors above them."""
