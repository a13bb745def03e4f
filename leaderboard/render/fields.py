"""What every field of the files for machines means: the columns of the CSV files, the parts of leaderboard.json.

One sentence each. The JSON Schema takes its descriptions from here, and a test holds docs/site.md against it.
"""

from __future__ import annotations

METRIC = {"metric": "name of the metric", "column": "the metric's column; a metric can give several scores"}
MODELS = {"models": "the models that the scores are made of, joined by a comma; empty for a metric without"}
TARGET = {"dataset": "name of the dataset", "quality": "the quality as the dataset calls it"}
STATISTIC = {"statistic": "spearman, pearson or kendall"}
BOARD = {
    "board": "dev or test; with -references behind it, only the datasets that have some",
    "origin": "real (human judgements) or sample (made by a script); they never share an average",
    "rule": "dev: mean over the qualities of a dataset, then over the datasets; test: mean over all targets",
}

RANKING = {
    **METRIC,
    "value": "the average under the rule; nothing for a column that lacks a target",
    "rank": "rank on the board, 1 the highest; nothing for a column that lacks a target",
    "covered": "how many targets the column has a value on",
    "targets": "how many targets the board has; a target is one quality of one dataset",
    "low": "lower end of the 95 % interval of the rank, over items and datasets; nothing without resampling",
    "high": "upper end of that interval",
    "letters": "the ranks of two columns that share a letter do not differ significantly",
}

CORRELATION = {
    **TARGET, **METRIC, **STATISTIC,
    "n": "how many items were compared",
    "value": "the correlation, from -1 to 1; nothing where the note says why",
    "p": "two-sided p of no correlation",
    "low": "lower end of the 95 % interval of the correlation",
    "high": "upper end of that interval",
    "note": "why there is no value, or a remark on it",
    "corrected": "the correlation corrected for rater unreliability: divided by the square root of the reliability",
}

RELIABILITY = {
    **TARGET,
    "method": "the measure of reliability: leave-one-out, split-half, alpha-ordinal, alpha-interval",
    "value": "the reliability; nothing where the note says why",
    "items": "over how many items",
    "note": "why there is no value",
}

COMPARISON = {
    **TARGET, **STATISTIC,
    "test": "williams or perm-both",
    "better": "the column that agrees better with people",
    "worse": "the other column",
    "n": "how many items both have a score on",
    "delta": "the difference of their correlations, 0 or more",
    "value": "the statistic of the test, where it has one",
    "p": "two-sided p of no difference",
    "holm": "p adjusted by Holm over all pairs of columns on the quality",
    "bh": "p adjusted by Benjamini and Hochberg over the same pairs",
}

CHANGE = {
    "origin": BOARD["origin"], **TARGET, **METRIC, **STATISTIC,
    "old": "the value in the earlier report",
    "new": "the value in this one",
    "difference": "new less old",
    "old_low": "lower end of the earlier 95 % interval",
    "old_high": "upper end of that interval",
    "beyond": "yes where the new value lies outside that interval, no where not, empty where there was none",
    "kinds": "everything that differs and may be the cause: data, code, weights, options, environment",
    "why": "the causes in words; those of the dataset and the metric come before those of the whole run",
}

CSV = {
    "ranking.csv": {**BOARD, **STATISTIC, **METRIC, **MODELS, **RANKING},
    "correlations.csv": {
        "dataset": TARGET["dataset"], "split": "dev or test", "level": "turn or dialogue", "origin": BOARD["origin"],
        "quality": TARGET["quality"], "dimension": "the name under which datasets share the quality",
        **METRIC, **STATISTIC, **MODELS, **CORRELATION},
    "reliability.csv": RELIABILITY,
    "comparisons.csv": COMPARISON,
    "changes.csv": CHANGE,
}
"""The columns of each CSV file; changes.csv is there where the site was published against an earlier report."""

RUN = {
    "version": "version of the harness",
    "commit": "commit of its checkout, with -dirty behind it where there were other changes; null for a package",
    "seed": "seed of everything random",
    "device": "where models ran, and in which precision",
    "options": "the options of the run",
    "python": "version of Python",
    "platform": "operating system and machine",
    "packages": "versions of the packages that scores may depend on",
    "command": "what repeats the run",
}

DATASET = {
    "name": "name of the dataset", "title": "what it is called in full", "split": "dev or test",
    "level": "turn or dialogue: what is judged",
    "origin": "sample, imported or fetched",
    "fingerprint": "sha256 of the content of the items",
    "items": "how many items", "ratings": "how many ratings",
    "qualities": "what was rated",
    "licence": "licence of the data, as its source states it", "citation": "the paper to cite", "notes": "remarks",
    "has": "what its items come with: references, context, facts",
    "contexts": "how many different contexts; fewer than items where several items share one",
    "ratings_fingerprint": "sha256 of the content of the ratings; empty in an older report",
}

QUALITY = {
    "name": "the quality as the dataset calls it", "dimension": "the name under which datasets share it",
    "low": "lowest value of the scale, null where not known", "high": "highest value of the scale",
    "rated": "how many items have a rating of it",
}

METRIC_ENTRY = {
    "name": "name of the metric, as on the command line", "title": "what it is called in full",
    "family": "kind of metric: lexical, embedding, trained and so on",
    "columns": "the scores it gives",
    "needs": "what an item must have, and data to be fetched",
    "levels": "turn, dialogue or both",
    "paper": "where it is described", "scope": "item, or dataset where a score depends on the other items",
    "trained_on": "what it was trained on",
    "signature": "everything its scores depend on besides the items",
    "models": "the models its scores are made of",
    "learned_on": "datasets it is scored on with weights fitted on their ratings",
}

TRAINING = {
    "name": "name of the weights", "metrics": "the metrics that read them", "encoder": "the encoder they belong to",
    "digest": "sha256 of the weights", "corpora": "what they were trained on, with licences",
    "seed": "seed of the training", "steps": "how many steps it took", "kept": "the step whose weights are used",
    "device": "where it ran", "seconds": "how long", "command": "what repeats it", "commit": "commit it ran from",
}

SKIP = {"dataset": "name of the dataset", "metric": "name of the metric", "reason": "why it was not scored"}
FAILURE = {"dataset": "name of the dataset", "metric": "name of the metric", "error": "the exception"}
TIMING = {"dataset": "name of the dataset", "metric": "name of the metric", "items": "how many items were scored",
          "seconds": "how long that took"}

PARTS = {
    "schema": "version of this form; it is raised when a field changes its meaning or goes",
    "run": "what must be known to repeat the run",
    "datasets": "the datasets as they were in the run",
    "metrics": "the metrics as they were in the run",
    "boards": "a board per split, origin, rule and statistic, the best column first",
    "correlations": "how well each column agrees with people on each quality",
    "reliability": "how far people agree among themselves",
    "trainings": "trained weights that metrics of the run read",
    "skips": "what was not scored, for a declared reason",
    "failures": "what failed",
    "timings": "seconds that each metric took on each dataset, when it was scored",
}

BOARD_ENTRY = {**BOARD, **STATISTIC, "title": "what the board is called", "ranking": "its columns, the best first"}
