"""Metrics made of the scores of others."""
