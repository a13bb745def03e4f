"""What the study of DailyDialog++ says: tables for the terminal, a page, CSV files, and a picture of the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from benchmarks.corpora.dailydialogpp import Kind
from harness.results.rows import Grid
from harness.studies import Findings
from harness.studies._writing import csv_lines, csv_objects, finite, markdown, number
from harness.studies.dailydialogpp import published as paper
from harness.studies.dailydialogpp.accuracy import ColumnPair, compare_pairs
from harness.studies.dailydialogpp.boxes import Strip, boxes
from harness.studies.dailydialogpp.columns import NEGATIVES, ReplyScores, ScoredColumn
from harness.studies.dailydialogpp.conicity import SETS, Conicity
from harness.studies.dailydialogpp.replies import KINDS

ACCURACY = ("metric", "references", "threshold", "acc. random", "paper", "r random", "paper", "acc. advers.", "paper",
            "r advers.", "paper")
CONFUSION = ("metric", "negatives", "tp", "fn", "fp", "tn", "missing", "paper tp", "fn", "fp", "tn")
PAIRS = ("best, beside", "negatives", "accuracy", "beside", "McNemar p", "chi² p", "r", "beside", "Williams p")
TRAINING = ("metric", "trained with", "acc. random", "paper", "acc. advers.", "paper")
PICTURE = "![Scores by kind of reply; percentiles are in the picture's description](scores.svg)"
Pairs = dict[Kind, tuple[ColumnPair, ...]]


def findings(title: str, rows: Sequence[ScoredColumn], spaces: Sequence[Conicity], scores: ReplyScores) -> Findings:
    """Everything that is printed and kept."""
    of = f"DailyDialog++, {len(scores.contexts['test'])} contexts of the test part"
    main = sorted((row for row in rows if row.main), key=lambda row: (-row.matrices["random"].accuracy, row.name))
    replies = scores.replies("test", "none")
    pairs = {kind: compare_pairs([row.scores for row in main], [row.threshold.value for row in main], replies, kind)
             for kind in NEGATIVES}
    tables = tuple(table for table in (
        Grid("accuracy", "Relevant replies told from irrelevant ones", ACCURACY, tuple(map(_accuracy, rows)), of),
        Grid("confusion", "Confusion matrices", CONFUSION, tuple(_confusion(main)), of),
        Grid("contests", "The best beside all others", PAIRS, tuple(_best(main, pairs)), of),
        Grid("changes", "Changed relevant replies that are still taken for relevant", ("metric", *paper.CHANGES),
             tuple(_changed(main)), of),
        Grid("conicity", "Conicity of embeddings", ("space", *SETS), tuple(_conicity(spaces)), of),
        Grid("training", "Training with and without adversarial replies", TRAINING, tuple(_training(main)), of),
    ) if table.rows)
    remarks = tuple(_remarks(scores))
    files = {"dailydialogpp.md": markdown(title, remarks, tables, PICTURE if main else ""),
             **{f"{table.name}.csv": csv_lines(table.head, table.rows) for table in tables},
             "accuracy.csv": csv_objects(_accuracy_objects(rows)),
             "contests.csv": csv_objects(_pair_objects(main, pairs))}
    if main:
        strips = [Strip(row.name if row.way in ("none", "standard") else f"{row.name}, {row.way}",
                        {kind: row.scores[replies.kinds == kind] for kind in KINDS}, row.threshold.value)
                  for row in main]
        files["scores.svg"] = boxes(f"Scores on {of}", strips)
    return Findings(tables, remarks, tuple(_objects(rows, main, pairs, spaces)), files,
                    tuple(f"{label}: {reason}" for label, reason in scores.failures.items()))


def _accuracy(row: ScoredColumn) -> tuple[str, ...]:
    texts = [row.name, row.way, number(row.threshold.value, 3)]
    for kind in NEGATIVES:
        matrix = row.matrices[kind]
        texts += [_percent(matrix.accuracy), _percent(paper.figure(row, kind, "accuracy")),
                  number(matrix.correlation.value), _text(paper.figure(row, kind, "point-biserial"))]
    return tuple(texts)


def _confusion(main: Iterable[ScoredColumn]) -> Iterator[tuple[str, ...]]:
    for row in main:
        for kind, matrix in row.matrices.items():
            name = paper.key(row.label, row.column)
            printed = [paper.count(name, kind, part) if paper.training(row) == "random" else None
                       for part in ("tp", "fn", "fp", "tn")]
            yield (row.name, kind, *map(str, (matrix.tp, matrix.fn, matrix.fp, matrix.tn, matrix.missing)),
                   *map(_text, printed))


def _best(main: Sequence[ScoredColumn], pairs: Pairs) -> Iterator[tuple[str, ...]]:
    """The row of the highest accuracy against each of the others, for either kind of irrelevant reply."""
    for kind, compared in pairs.items():
        accuracies = [row.matrices[kind].accuracy for row in main]
        best = max(range(len(main)), key=lambda place: accuracies[place] if accuracies[place] >= 0 else -1)
        for pair in compared:
            if best in (pair.first, pair.second):
                other = pair.second if pair.first == best else pair.first
                r = [number(main[place].matrices[kind].correlation.value) for place in (best, other)]
                yield (f"{main[best].name}, {main[other].name}", kind, _percent(accuracies[best]),
                       _percent(accuracies[other]), _p(pair.mcnemar_holm), _p(pair.chi_squared.p), *r, _p(pair.p_holm))


def _changed(main: Iterable[ScoredColumn]) -> Iterator[tuple[str, ...]]:
    for row in main:
        yield (row.name, *(_percent(row.shares.get(change, math.nan)) for change in paper.CHANGES))
        printed = [paper.share(paper.key(row.label, row.column), change) for change in paper.CHANGES]
        if any(value is not None for value in printed) and paper.training(row) == "random":
            yield (f"{row.name} in the paper", *map(_percent, printed))


def _conicity(spaces: Sequence[Conicity]) -> Iterator[tuple[str, ...]]:
    for each in spaces:
        yield (each.space, *(number(each.values[name]) for name in SETS))
    if spaces:
        printed = {name: paper.conicity(name) for name in SETS}
        for space in printed["P"]:
            yield (f"{space} (paper)", *(_text(printed[name].get(space)) for name in SETS))


def _training(main: Iterable[ScoredColumn]) -> Iterator[tuple[str, ...]]:
    """The metrics that can be trained on several kinds of irrelevant reply."""
    for row in main:
        if row.training in paper.TRAINING:
            texts = [text for kind in NEGATIVES for text in (
                _percent(row.matrices[kind].accuracy),
                _percent(paper.accuracy_trained(paper.key(row.label, row.column), row.training, kind)))]
            yield (row.name, row.training, *texts)


def _remarks(scores: ReplyScores) -> Iterator[str]:
    yield ("references: single is one relevant reply drawn at random; max, avg and standard use all but the k-th for "
           "the k-th reply of each kind; a metric that takes none has none. The standard way is not listed where it "
           "is one of the others. Matrices, tests and changes are of the standard way.")
    yield ("trained metrics may have been trained on DailyDialog++'s own development part, on which other thresholds "
           "are set: what they reach at the best threshold is to that extent too good. The test part never is.")
    yield (f"threshold: 0.5 for a trained metric; else the value of 0, 0.01, ..., 1 with the least errors on the "
           f"{len(scores.contexts['dev'])} contexts of the development part, relevant against random; for scores "
           "outside 0 to 1, of their quantiles there. One threshold serves for random and adversarial replies.")
    yield ("McNemar and Williams are adjusted over all pairs by Holm's method; chi² takes the replies as if they were "
           "different ones, as the paper does, and is not adjusted. All take replies to one context as independent. "
           f"Seed: {scores.seed}.")
    for what, reason in scores.skips.items():
        yield f"left out, {what}: {reason}"


def _objects(rows: Sequence[ScoredColumn], main: Sequence[ScoredColumn], pairs: Pairs,
             spaces: Sequence[Conicity]) -> Iterator[dict[str, object]]:
    yield from ({"kind": "accuracy", **entry} for entry in _accuracy_objects(rows))
    yield from ({"kind": "contest", **entry} for entry in _pair_objects(main, pairs))
    for row in main:
        for change, value in row.shares.items():
            printed = paper.share(paper.key(row.label, row.column), change) if paper.training(row) == "random" else None
            yield {"kind": "change", "metric": row.name, "change": change, "share": finite(value, 6),
                   "paper": _float(printed)}
    for each in spaces:
        yield {"kind": "conicity", "space": each.space,
               **{name: finite(value, 6) for name, value in each.values.items()}}


def _accuracy_objects(rows: Sequence[ScoredColumn]) -> Iterator[dict[str, object]]:
    for row in rows:
        for kind, matrix in row.matrices.items():
            r = matrix.correlation
            yield {"metric": row.name, "references": row.way, "main": row.main, "negatives": kind,
                   "threshold": finite(row.threshold.value, 6), "rule": row.threshold.rule,
                   "accuracy": finite(matrix.accuracy, 6),
                   "accuracy_paper": _float(paper.figure(row, kind, "accuracy")),
                   "r": finite(r.value, 6), "r_low": finite(r.low, 6), "r_high": finite(r.high, 6), "p": _float(r.p),
                   "r_paper": _float(paper.figure(row, kind, "point-biserial")),
                   "accuracy_at_best": finite(row.at_best[kind], 6), "tp": matrix.tp, "fn": matrix.fn,
                   "fp": matrix.fp, "tn": matrix.tn, "missing": matrix.missing}


def _pair_objects(main: Sequence[ScoredColumn], pairs: Pairs) -> Iterator[dict[str, object]]:
    for kind, compared in pairs.items():
        for pair in compared:
            yield {"negatives": kind, "first": main[pair.first].name, "second": main[pair.second].name,
                   "accuracy": finite(pair.mcnemar.first, 6), "accuracy_second": finite(pair.mcnemar.second, 6),
                   "mcnemar": finite(pair.mcnemar.statistic, 6), "mcnemar_method": pair.mcnemar.method,
                   "mcnemar_p": _float(pair.mcnemar.p), "mcnemar_p_holm": _float(pair.mcnemar_holm),
                   "chi_squared": finite(pair.chi_squared.statistic, 6), "chi_squared_p": _float(pair.chi_squared.p),
                   "r_difference": finite(pair.delta, 6), "williams_t": finite(pair.t, 6),
                   "williams_p": _float(pair.p), "williams_p_holm": _float(pair.p_holm)}


def _float(value: Decimal | float | None) -> float | None:
    return None if value is None else finite(float(value))


def _text(value: Decimal | None) -> str:
    return "" if value is None else str(value)


def _percent(value: Decimal | float | None) -> str:
    """A share in per cent; empty where nothing is printed, a dash where a measured one is missing."""
    if value is None:
        return ""
    return f"{100 * float(value):.1f} %" if math.isfinite(value) else "–"


def _p(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return "<1e-9" if value < 1e-9 else f"{value:.2g}".replace("-", "−") if value >= 0.001 else f"{value:.0e}"
