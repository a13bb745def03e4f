"""Training metrics and fitting the weights of composites."""
