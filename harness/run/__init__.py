"""A run: settings, plan, scores, correlations, comparisons and ranks, in the order in which they happen."""
