"""Training metrics: recipes, data, objectives and the training loop."""
