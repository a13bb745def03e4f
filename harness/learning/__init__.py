"""Train metrics and fit the weights of composites."""
