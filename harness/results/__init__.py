"""The results of a run: rows, files, item scores, and differences between two runs."""
