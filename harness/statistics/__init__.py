"""Statistics. The names that flags accept are defined here, since commands import them without numpy."""

STATISTIC_NAMES = ("spearman", "pearson", "kendall", "kendall-c", "point-biserial", "roc-auc",
                   "pairwise-accuracy", "soft-pairwise-accuracy", "pairwise-difference-pearson", "partial")
"""The keys of `estimates.STATISTICS`; `kendall` is tau-b, and flags also accept `kendall-b`."""

LEVEL_NAMES = ("items", "within-contexts", "within-systems", "over-systems")  # the keys of `panel.LEVELS`
TEST_NAMES = ("perm-both", "perm-both-scores", "williams", "williams-contexts", "steiger", "meng", "bootstrap")
"""Tests of two dependent correlations, implemented in `pooled`, `permutation`, `williams` and `bootstrap`."""


def statistic_title(name: str) -> str:
    """Return the title of a statistic of the results, such as Spearman, Kendall within contexts or ROC-AUC."""
    return name.replace("-", " ").capitalize().replace("Roc auc", "ROC-AUC")
