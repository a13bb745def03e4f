"""Metrics from outside this package: files, other libraries, other environments."""
