"""Metrics that ask a language model how likely a text is."""
