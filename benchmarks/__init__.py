"""Datasets: items and their human ratings."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Read when numpy is imported: multi-threaded products sum in a different order, and threads mostly wait."""
