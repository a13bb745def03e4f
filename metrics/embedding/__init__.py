"""Metrics that compare vectors of words, tokens or utterances."""
