"""Compute results of a bundle again, to be compared with the packed ones."""
