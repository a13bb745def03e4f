"""Score metrics and composites on datasets, in one process or on a cluster, and store the scores."""
