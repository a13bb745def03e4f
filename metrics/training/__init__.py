"""Training: recipe, data, loop and checkpoint."""
