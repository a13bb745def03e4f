"""Recompute the results of a bundle, to be compared with the packed ones."""
