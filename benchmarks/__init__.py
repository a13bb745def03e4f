"""Datasets: items and their human ratings."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""numpy reads this on import. Multi-threaded products sum in a different order, and their threads mostly wait."""
