"""The readers: the organisers' JSON, private ratings, score files."""
