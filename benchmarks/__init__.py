"""Datasets: items and their human ratings."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""numpy reads this on import. Statistics and workers use the cores already; more threads would mostly wait."""
