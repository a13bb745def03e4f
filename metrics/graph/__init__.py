"""Metrics that read a graph: of topics between context and response, or of the utterances of a dialogue."""
