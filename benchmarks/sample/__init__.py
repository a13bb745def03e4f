"""A small benchmark with the names and shapes of the real one, made by a script: not human data."""
