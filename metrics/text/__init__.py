"""Text: words, keywords, retrieval and graphs of topics."""
