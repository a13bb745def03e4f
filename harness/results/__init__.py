"""The results of a run: rows, files, item scores, examples, and what differs between two."""
