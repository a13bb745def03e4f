"""Datasets: items, and the ratings that people gave them."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Numpy's products in one thread, read when it is imported: several add in another order, and mostly wait."""
