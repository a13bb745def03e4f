"""Statistics. The names of flags and their choices are here, since they need no numpy."""

STATISTIC_NAMES = ("spearman", "pearson", "kendall", "kendall-c", "point-biserial", "roc-auc",
                   "pairwise-accuracy", "soft-pairwise-accuracy", "pairwise-difference-pearson", "partial")
"""The rows of `estimates.STATISTICS`; `kendall` is tau-b, and the flags take kendall-b too."""

LEVEL_NAMES = ("items", "within-contexts", "within-systems", "over-systems")  # the rows of `panel.LEVELS`
TEST_NAMES = ("perm-both", "perm-both-scores", "williams", "williams-contexts", "steiger", "meng", "bootstrap")
"""Tests of two dependent correlations, in `pooled`, `permutation`, `williams` and `bootstrap`."""


def statistic_title(name: str) -> str:
    """Return the title of a statistic of the results: Spearman, Kendall within contexts, ROC-AUC."""
    return name.replace("-", " ").capitalize().replace("Roc auc", "ROC-AUC")
