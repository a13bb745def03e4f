"""Bundles computed again: the differences and their places."""
