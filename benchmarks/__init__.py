"""Datasets: items and their human ratings."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Read when numpy is imported: products in several threads add in another order, and mostly wait."""
