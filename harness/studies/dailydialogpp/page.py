"""Tables, remarks and objects of the study of DailyDialog++, next to the numbers that Sai et al. (2020) report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from benchmarks.corpora.dailydialogpp import Kind
from harness.published import PrintedNumber, Tables
from harness.results.exhibits import Grid, number
from harness.studies import Findings
from harness.studies.dailydialogpp.accuracy import compare_pairs
from harness.studies.dailydialogpp.columns import NEGATIVES, ReferenceMode, ReplyScores, ScoredColumn
from harness.studies.dailydialogpp.replies import SETS

ACCURACY = ("metric", "references", "threshold", "acc. random", "paper", "r random", "paper", "acc. advers.", "paper",
            "r advers.", "paper")
COUNTS = ("tp", "fn", "fp", "tn")
CONFUSION = ("metric", "negatives", *COUNTS, "missing", "paper tp", "fn", "fp", "tn")
PAIRS = ("best, other", "negatives", "accuracy", "other", "McNemar p", "chi² p", "r", "other", "Williams p")
Pairs = dict[Kind, list[dict[str, Any]]]

PAPER = Tables.of("deb")
METRICS = {
    "bleu-1": "BLEU-1", "bleu-2": "BLEU-2", "bleu-3": "BLEU-3", "bleu-4": "BLEU-4", "meteor": "METEOR",
    "rouge-l": "ROUGE-L", "delta-bleu": "deltaBLEU", "embedding-average": "Embedding Average",
    "vector-extrema": "Vector Extrema", "greedy-matching": "Greedy Matching", "bert-score-f": "BERTScore",
    "adem": "ADEM", "bert-regressor": "BERT regressor", "bert-dnn": "BERT+DNN", "ruber-unreferenced": "RUBER",
    "ruber-unreferenced-large": "RUBER-Large", "deb": "DEB", "deb-original": "BERT original",
    "deb-pretrain": "DEB pretrained on Reddit",
}
"""The paper's names of columns, with size or stage of training; its RUBER is the unreferenced part."""
VARIANTS = ("large", "original", "pretrain", "finetune")

TRAINED = frozenset({"adem", "bert-regressor", "bert-dnn", "ruber-unreferenced", "ruber-unreferenced-large", "deb"})
"""The paper's trained metrics, which have one row for all uses of references."""

QUALITIES: dict[Kind, str] = {"random": "pos vs rand neg", "adversarial": "pos vs adv neg"}
MODES: dict[ReferenceMode, str] = {
    "single": "single reference", "avg": "multi reference, avg", "max": "multi reference, max",
    "standard": "multi reference, standard", "none": "trained metric"}
TRAINING = {"random": "trained/finetuned on rand neg", "adversarial": "trained/finetuned on adv neg",
            "both": "trained/finetuned on rand + adv neg"}
"""The paper's notes on trainings, by the option `negatives`."""

CHANGES = {"unchanged": "unmodified positives", "reverse": "reverse word order", "jumble": "jumble word order",
           "nouns only": "retain only nouns", "no punctuation": "remove punctuation",
           "no stop words": "remove stopwords", "synonyms": "replace with synonyms"}

SPACE = "replies alone"
"""The encoder's vectors of replies, which do not depend on the context."""

DOUBTS = ("uncertain", "order taken from", "assigned from")
"""Words in notes on published numbers whose place in their table is not certain."""


def printed(row: ScoredColumn, negatives: Kind, statistic: str) -> PrintedNumber | None:
    """Return an accuracy or correlation from Table 3, else from Table 6, or from Table 7 for a trained metric."""
    training = row.negatives or "random"
    notes = {"Table 3": MODES[row.mode], "Table 6": ""}
    if key(row) in TRAINED:
        notes = {"Table 3": MODES["none"]} if training == "random" else {}
        notes["Table 7"] = TRAINING.get(training, "?")
    rows = PAPER.where(metric=METRICS.get(key(row)), quality=QUALITIES[negatives], statistic=statistic)
    numbers = (rows.first(table=table, note=note) for table, note in notes.items())
    return next(filter(None, numbers), None)


def printed_with(row: ScoredColumn, table: str, **fields: str) -> PrintedNumber | None:
    """Return a number from Table 4 or 5, which have only untrained metrics and those trained on random replies."""
    if row.negatives not in (None, "random"):
        return None
    return PAPER.first(table=table, metric=METRICS.get(key(row)), **fields)


def key(row: ScoredColumn) -> str:
    """Return the name of a column in METRICS, with its size or stage of training."""
    return "-".join([row.column, *(part for part in VARIANTS if row.column in METRICS and f"={part}" in row.label)])


def findings(rows: Sequence[ScoredColumn], conicities: Mapping[str, float], scores: ReplyScores) -> Findings:
    data = f"DailyDialog++, {len(scores.contexts['test'])} contexts of the test part"
    main = sorted((row for row in rows if row.main), key=lambda row: (-row.matrices["random"].accuracy, row.name))
    replies = scores.replies("test", "none")
    pairs = {kind: compare_pairs([row.scores for row in main], [row.threshold.value for row in main], replies, kind)
             for kind in NEGATIVES}
    grids = (
        Grid("accuracy", "Accuracy: relevant against irrelevant replies", ACCURACY, tuple(map(_accuracy, rows)), data),
        Grid("confusion", "Confusion matrices", CONFUSION, tuple(_confusion(main)), data),
        Grid("contests", "The best compared with all others", PAIRS, tuple(_best(main, pairs)), data),
        Grid("changes", "Changed relevant replies that still count as relevant", ("metric", *CHANGES),
             tuple(_changed(main)), data),
        Grid("conicity", "Conicity of embeddings", ("space", *SETS), tuple(conicity_rows(conicities)), data))
    return Findings(
        tuple(grid for grid in grids if grid.rows), tuple(_remarks(scores)),
        {"accuracy": list(_accuracy_objects(rows)), "contest": [
             {"negatives": kind} | pair | {side: main[pair[side]].name for side in ("first", "second")}
             for kind, compared in pairs.items() for pair in compared],
         "change": [{"metric": row.name, "change": change, "share": value, **_cited("paper", _share(row, change))}
                    for row in main for change, value in row.shares.items()],
         "conicity": [{"space": SPACE, **conicities}] if conicities else []},
        failures=tuple(f"{label}: {reason}" for label, reason in scores.failures.items()))


def _share(row: ScoredColumn, change: str) -> PrintedNumber | None:
    return printed_with(row, "Table 4", quality=CHANGES[change])


def _accuracy(row: ScoredColumn) -> tuple[str, ...]:
    texts = [row.name, row.mode, number(row.threshold.value, 3)]
    for kind in NEGATIVES:
        matrix = row.matrices[kind]
        texts += [_percent(matrix.accuracy), _quoted(printed(row, kind, "accuracy"), _percent),
                  number(matrix.correlation.value), _quoted(printed(row, kind, "point-biserial"))]
    return tuple(texts)


def _confusion(main: Iterable[ScoredColumn]) -> Iterator[tuple[str, ...]]:
    for row in main:
        for kind, matrix in row.matrices.items():
            counts = [printed_with(row, "Table 5", quality=QUALITIES[kind], statistic=f"count-{part}")
                      for part in COUNTS]
            yield (row.name, kind, *(str(getattr(matrix, part)) for part in (*COUNTS, "missing")),
                   *map(_quoted, counts))


def _best(main: Sequence[ScoredColumn], pairs: Pairs) -> Iterator[tuple[str, ...]]:
    """Yield the tests of the most accurate column against each other column."""
    for kind, compared in pairs.items():
        accuracies = [row.matrices[kind].accuracy for row in main]
        best = int(np.argmax(np.nan_to_num(accuracies, nan=-1.0)))
        for pair in (pair for pair in compared if best in (pair["first"], pair["second"])):
            other = pair["second"] if pair["first"] == best else pair["first"]
            r = [number(main[index].matrices[kind].correlation.value) for index in (best, other)]
            yield (f"{main[best].name}, {main[other].name}", kind, _percent(accuracies[best]),
                   _percent(accuracies[other]), _p(pair["mcnemar_p_holm"]), _p(pair["chi_squared_p"]), *r,
                   _p(pair["williams_p_holm"]))


def _changed(main: Iterable[ScoredColumn]) -> Iterator[tuple[str, ...]]:
    for row in main:
        yield (row.name, *(_percent(row.shares.get(change, math.nan)) for change in CHANGES))
        shares = [_share(row, change) for change in CHANGES]
        if any(value is not None for value in shares):
            yield (f"{row.name} in the paper", *(_quoted(share, _percent) for share in shares))


def conicity_rows(conicities: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    if conicities:
        yield (SPACE, *(number(conicities[name]) for name in SETS))
        rows = PAPER.where(statistic="conicity")
        for space in rows.where(quality="set P").values("metric"):
            yield (f"{space} (paper)", *(_quoted(rows.first(quality=f"set {name.replace('+', ' u ')}", metric=space))
                                         for name in SETS))


def _remarks(scores: ReplyScores) -> Iterator[str]:
    yield ("references: single is one relevant reply drawn at random; for the k-th reply of each kind, max, avg and "
           "standard use all relevant replies except the k-th; none: the metric uses no references. The standard mode "
           "is not listed if another gives the same scores. Confusion matrices, tests and changes use the standard "
           "mode.")
    yield ("paper: Sai et al. (2020), who pretrained RUBER, RUBER-Large and DEB on Reddit. A question mark follows "
           "values whose place in the paper's table is uncertain: accuracies of avg and max may be swapped, RUBER and "
           "RUBER-Large are assumed to have the same order in each row of changes, and DEB's fp and tn on random "
           "negatives follow from its accuracy.")
    yield ("trained metrics may have been trained on the development part of DailyDialog++, on which best thresholds "
           "are set; their accuracy at the best threshold is then too high. No metric is trained on the test part.")
    yield (f"threshold: 0.5 for a trained metric; else the value of 0, 0.01, ..., 1 with the fewest errors on the "
           f"{len(scores.contexts['dev'])} contexts of the development part, relevant against random replies; for "
           "scores outside 0 to 1, one of their quantiles on these. Random and adversarial replies share a threshold.")
    yield ("p of McNemar's and Williams' tests is adjusted over all pairs by Holm's method; the chi² test treats the "
           "replies of the two metrics as independent samples, as in the paper, and is not adjusted. All three tests "
           f"treat replies to one context as independent. Seed: {scores.seed}.")
    yield from (f"left out, {name}: {reason}" for name, reason in scores.skips.items())


def _accuracy_objects(rows: Sequence[ScoredColumn]) -> Iterator[dict[str, object]]:
    for row in rows:
        for kind, matrix in row.matrices.items():
            r = matrix.correlation
            yield {"metric": row.name, "references": row.mode, "main": row.main, "negatives": kind,
                   "threshold": row.threshold.value, "rule": row.threshold.rule, "accuracy": matrix.accuracy,
                   **_cited("accuracy_paper", printed(row, kind, "accuracy")),
                   "r": r.value, "r_low": r.low, "r_high": r.high, "p": r.p,
                   **_cited("r_paper", printed(row, kind, "point-biserial")),
                   "accuracy_at_best": row.best_accuracies[kind],
                   **{part: getattr(matrix, part) for part in (*COUNTS, "missing")}}


def _cited(name: str, published: PrintedNumber | None) -> dict[str, object]:
    return {name: published.value if published else None, f"{name}_note": published.note if published else ""}


def _quoted(published: PrintedNumber | None, format_value: Callable[[Decimal], str] = str) -> str:
    """Format a published number, with "?" if its place in its table is not certain; None as an empty string."""
    if published is None:
        return ""
    return format_value(published.value) + " ?" * any(words in published.note for words in DOUBTS)


def _percent(value: Decimal | float) -> str:
    """Format a share in per cent, NaN (not measured) as a dash."""
    return f"{100 * float(value):.1f} %" if math.isfinite(value) else "–"


def _p(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return "<1e-9" if value < 1e-9 else f"{value:.2g}".replace("-", "−") if value >= 0.001 else f"{value:.0e}"
