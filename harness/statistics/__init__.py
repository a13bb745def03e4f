"""Each method once: a module is named after what it computes, and `estimates` has the table of statistics.

The names here are those of the flags `--statistic`, `--level` and `--test`; they need no numpy.
"""

STATISTIC_NAMES = ("spearman", "pearson", "kendall", "kendall-c", "point-biserial", "pairwise-accuracy",
                   "soft-pairwise-accuracy", "partial")
"""The rows of `estimates.STATISTICS`; `kendall` is tau-b, and the flags take kendall-b too."""

LEVEL_NAMES = ("items", "within-contexts", "within-systems", "over-systems")
"""The rows of `panel.LEVELS`."""

TEST_NAMES = ("perm-both", "williams", "williams-contexts", "steiger", "meng", "bootstrap")
"""Tests of two dependent correlations: `permutation`, the formulas of `williams`, `bootstrap`."""
