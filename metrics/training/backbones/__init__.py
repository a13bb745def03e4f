"""Networks that several metrics share, and how they are trained; none of them is a metric."""
