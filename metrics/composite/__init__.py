"""Metrics that combine the scores of other metrics."""
