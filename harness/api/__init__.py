"""The Python interface for notebooks, with pandas DataFrames.

    from harness.api import estimate, load, power, run, score, to_datasets

    results = run(metrics=["bleu", "./my_metric.py"], datasets=["fed-turn"])      # or load("results")
    print(results)                                    the output of `harness report`
    results.correlations(), results.comparisons(), results.rankings(), results.reliability(), results.decisions()
    results.leads(dimension="relevance")              differences between columns over a board, with intervals and p
    results.items("fed-turn", texts=True)             ratings, scores and texts, a row per item
    results.publish("public")                         the pages
    score("bleu", rows)                               scores only; rows of dicts, a DataFrame, a datasets.Dataset
    estimate(rows, "cosine")                          mean ratings of systems from few ratings and all scores
    power(results, "fed-turn")                        the smallest difference detectable on a dataset
    to_datasets("fed-turn")                           items and votes as a DatasetDict

`docs/notebook.ipynb` has examples. pandas and datasets come with the extra [all] and are imported on use.
"""

from __future__ import annotations

from harness.api.decisions import estimate, power
from harness.api.hub import to_datasets
from harness.api.results import Results, load
from harness.api.runs import run
from harness.api.scores import score

__all__ = ["Results", "estimate", "load", "power", "run", "score", "to_datasets"]
