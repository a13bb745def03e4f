"""Pretrained models: names to files to networks, and what is computed with them once."""
