"""What the study of DailyDialog++ says: tables for the terminal, a page, CSV files, and a picture of the scores."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from benchmarks.corpora.dailydialogpp import Kind
from harness.studies import Findings, Table
from harness.studies import _pp_published as paper
from harness.studies._pp_boxes import Strip, boxes
from harness.studies._pp_changes import PRINTED
from harness.studies._pp_conicity import SETS, Spread
from harness.studies._pp_items import KINDS
from harness.studies._pp_rows import NEGATIVES, Material, Row
from harness.studies._pp_scoring import Scorer
from harness.studies._pp_verdicts import Contest, contests

STATISTICS = ("accuracy", "point-biserial")
ACCURACY = ("metric", "references", "threshold", "acc. random", "paper", "r random", "paper", "acc. advers.", "paper",
            "r advers.", "paper")
CONFUSION = ("metric", "negatives", "tp", "fn", "fp", "tn", "missing", "paper tp", "fn", "fp", "tn")
CONTESTS = ("best, beside", "negatives", "accuracy", "beside", "McNemar p", "chi² p", "r", "beside", "Williams p")
TRAINING = ("metric", "trained with", "acc. random", "paper", "acc. advers.", "paper")
Contests = dict[Kind, tuple[Contest, ...]]


def findings(title: str, rows: Sequence[Row], spreads: Sequence[Spread], material: Material, scorer: Scorer,
             ) -> Findings:
    """Everything that is printed and kept."""
    of = f"DailyDialog++, {len(material.contexts['test'])} contexts of the test part"
    main = sorted((row for row in rows if row.main), key=lambda row: (-row.verdicts["random"].accuracy, row.name))
    tests = _contests(main, material)
    tables = [table for table in (
        Table("accuracy", "Relevant replies told from irrelevant ones", of, ACCURACY, tuple(map(_accuracy, rows))),
        Table("confusion", "Confusion matrices", of, CONFUSION, tuple(_confusion(main))),
        Table("contests", "The best beside all others", of, CONTESTS, tuple(_best(main, tests))),
        Table("changes", "Changed relevant replies that are still taken for relevant", of, ("metric", *PRINTED),
              tuple(_changed(main))),
        Table("conicity", "Conicity of embeddings", of, ("space", *SETS), tuple(_conicity(spreads))),
        Table("training", "Training with and without adversarial replies", of, TRAINING, tuple(_training(main))),
    ) if table.rows]
    remarks = tuple(_remarks(material, scorer))
    return Findings(tuple(tables), remarks, tuple(_objects(rows, main, tests, spreads)),
                    _files(title, tables, remarks, rows, main, tests, material),
                    tuple(f"{label}: {reason}" for label, reason in scorer.failures.items()))


def _contests(main: Sequence[Row], material: Material) -> Contests:
    given = material.replies("test", "none")
    return {kind: contests([row.scores for row in main], [row.threshold.value for row in main], given, kind)
            for kind in NEGATIVES}


def _accuracy(row: Row) -> tuple[str, ...]:
    cells = [row.name, row.way, _number(row.threshold.value, 3)]
    for kind in NEGATIVES:
        found = row.verdicts[kind]
        printed = [paper.figure(_key(row), row.way, kind, statistic, _trained(row)) for statistic in STATISTICS]
        cells += [_share(found.accuracy), _printed_share(printed[0]), _number(found.correlation.value),
                  _printed(printed[1])]
    return tuple(cells)


def _confusion(main: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    for row in main:
        for kind in NEGATIVES:
            found = row.verdicts[kind]
            known = _trained(row) == "random"
            yield (row.name, kind, *map(str, (found.tp, found.fn, found.fp, found.tn, found.missing)),
                   *(_printed(paper.count(_key(row), kind, cell) if known else None)
                     for cell in ("tp", "fn", "fp", "tn")))


def _best(main: Sequence[Row], tests: Contests) -> Iterator[tuple[str, ...]]:
    """The row of the highest accuracy against each of the others, for either kind of irrelevant reply."""
    for kind, pairs in tests.items():
        accuracies = [row.verdicts[kind].accuracy for row in main]
        best = max(range(len(main)), key=lambda number: accuracies[number] if accuracies[number] >= 0 else -1)
        for pair in pairs:
            if best in (pair.first, pair.second):
                other = pair.second if pair.first == best else pair.first
                r = [_number(main[number].verdicts[kind].correlation.value) for number in (best, other)]
                yield (f"{main[best].name}, {main[other].name}", kind, _share(accuracies[best]),
                       _share(accuracies[other]), _p(pair.mcnemar_holm), _p(pair.chi_squared.p), *r, _p(pair.p_holm))


def _changed(main: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    for row in main:
        yield (row.name, *(_share(row.shares.get(change, math.nan)) for change in PRINTED))
        printed = [paper.share(_key(row), change) for change in PRINTED]
        if any(value is not None for value in printed) and _trained(row) == "random":
            yield (f"{row.name} in the paper", *map(_printed_share, printed))


def _conicity(spreads: Sequence[Spread]) -> Iterator[tuple[str, ...]]:
    for one in spreads:
        yield (one.space, *(_number(one.values[name]) for name in SETS))
    if spreads:
        printed = {name: paper.conicity(name) for name in SETS}
        for space in printed["P"]:
            yield (f"{space} (paper)", *(_printed(printed[name].get(space)) for name in SETS))


def _training(main: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """The metrics that can be trained on several kinds of irrelevant reply."""
    for row in main:
        if row.training in paper.TRAINING:
            cells = [_share(row.verdicts[kind].accuracy) for kind in NEGATIVES]
            printed = [_printed_share(paper.accuracy_trained(_key(row), row.training, kind)) for kind in NEGATIVES]
            yield (row.name, row.training, cells[0], printed[0], cells[1], printed[1])


def _remarks(material: Material, scorer: Scorer) -> Iterator[str]:
    yield ("references: single is one relevant reply drawn at random; max, avg and standard use all but the k-th for "
           "the k-th reply of each kind; a metric that takes none has none. The standard way is not listed where it "
           "is one of the others. Matrices, tests and changes are of the standard way.")
    yield ("trained metrics may have been trained on DailyDialog++'s own development part, on which other thresholds "
           "are set: what they reach at the best threshold is to that extent too good. The test part never is.")
    yield (f"threshold: 0.5 for a trained metric; else the value of 0, 0.01, ..., 1 with the least errors on the "
           f"{len(material.contexts['dev'])} contexts of the development part, relevant against random; for scores "
           "outside 0 to 1, of their quantiles there. One threshold serves for random and adversarial replies.")
    yield ("McNemar and Williams are adjusted over all pairs by Holm's method; chi² takes the replies as if they were "
           "different ones, as the paper does, and is not adjusted. All take replies to one context as independent. "
           f"Seed: {material.seed}.")
    for what, reason in scorer.skips.items():
        yield f"left out, {what}: {reason}"


def _files(title: str, tables: Sequence[Table], remarks: Sequence[str], rows: Sequence[Row], main: Sequence[Row],
           tests: Contests, material: Material) -> dict[str, bytes]:
    kinds = material.replies("test", "none").kinds
    strips = [Strip(row.name if row.way in ("none", "standard") else f"{row.name}, {row.way}",
                    {kind: row.scores[kinds == kind] for kind in KINDS}, row.threshold.value) for row in main]
    found = {"dailydialogpp.md": "\n".join(_page(title, tables, remarks)).encode(),
             "accuracy.csv": _csv(entry for entry in _row_objects(rows)),
             "contests.csv": _csv(entry for entry in _contest_objects(main, tests))}
    found |= {f"{table.name}.csv": _table_csv(table) for table in tables if f"{table.name}.csv" not in found}
    return found | ({"scores.svg": boxes(f"Scores on {tables[0].data}", strips)} if strips else {})


def _page(title: str, tables: Sequence[Table], remarks: Sequence[str]) -> Iterator[str]:
    yield from (f"# {title}", "", *(line for remark in remarks for line in (remark, "")))
    if tables:
        yield from ("![Scores by kind of reply; percentiles are in the picture's description](scores.svg)", "")
    for table in tables:
        yield from (f"## {table.caption}", "")
        for line in (table.head, ["---"] * len(table.head), *table.rows):
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        yield ""


def _objects(rows: Sequence[Row], main: Sequence[Row], tests: Contests,
             spreads: Sequence[Spread]) -> Iterator[dict[str, object]]:
    yield from ({"kind": "accuracy", **entry} for entry in _row_objects(rows))
    yield from ({"kind": "contest", **entry} for entry in _contest_objects(main, tests))
    for row in main:
        for change, value in row.shares.items():
            yield {"kind": "change", "metric": row.name, "change": change, "share": _plain(value),
                   "paper": _float(paper.share(_key(row), change)) if _trained(row) == "random" else None}
    for one in spreads:
        yield {"kind": "conicity", "space": one.space, **{name: _plain(value) for name, value in one.values.items()}}


def _row_objects(rows: Sequence[Row]) -> Iterator[dict[str, object]]:
    for row in rows:
        for kind, found in row.verdicts.items():
            r = found.correlation
            yield {"metric": row.name, "references": row.way, "main": row.main, "negatives": kind,
                   "threshold": _plain(row.threshold.value), "rule": row.threshold.rule,
                   "accuracy": _plain(found.accuracy),
                   "accuracy_paper": _float(paper.figure(_key(row), row.way, kind, "accuracy", _trained(row))),
                   "r": _plain(r.value), "r_low": _plain(r.low), "r_high": _plain(r.high), "p": _float(r.p),
                   "r_paper": _float(paper.figure(_key(row), row.way, kind, "point-biserial", _trained(row))),
                   "accuracy_at_best": _plain(row.at_best[kind]),
                   "tp": found.tp, "fn": found.fn, "fp": found.fp, "tn": found.tn, "missing": found.missing}


def _contest_objects(main: Sequence[Row], tests: Contests) -> Iterator[dict[str, object]]:
    for kind, pairs in tests.items():
        for pair in pairs:
            yield {"negatives": kind, "first": main[pair.first].name, "second": main[pair.second].name,
                   "accuracy": _plain(pair.mcnemar.first), "accuracy_second": _plain(pair.mcnemar.second),
                   "mcnemar": _plain(pair.mcnemar.statistic), "mcnemar_method": pair.mcnemar.method,
                   "mcnemar_p": _float(pair.mcnemar.p), "mcnemar_p_holm": _float(pair.mcnemar_holm),
                   "chi_squared": _plain(pair.chi_squared.statistic), "chi_squared_p": _float(pair.chi_squared.p),
                   "r_difference": _plain(pair.delta), "williams_t": _plain(pair.t), "williams_p": _float(pair.p),
                   "williams_p_holm": _float(pair.p_holm)}


def _csv(entries: Iterable[dict[str, object]]) -> bytes:
    lines = list(entries)
    stream = io.StringIO()
    if lines:
        writer = csv.DictWriter(stream, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return stream.getvalue().encode()


def _table_csv(table: Table) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows((table.head, *table.rows))
    return stream.getvalue().encode()


def _key(row: Row) -> str:
    return paper.key(row.label, row.column)


def _trained(row: Row) -> str:
    """What the row is to be compared with in the paper, where no more is said: training with random replies."""
    return row.training or "random"


def _plain(value: float) -> float | None:
    return round(value, 6) + 0 if math.isfinite(value) else None


def _float(value: Decimal | float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _number(value: float, digits: int = 2) -> str:
    return f"{round(value, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def _p(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return "<1e-9" if value < 1e-9 else f"{value:.2g}".replace("-", "−") if value >= 0.001 else f"{value:.0e}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if math.isfinite(value) else "–"


def _printed(value: Decimal | None) -> str:
    return "" if value is None else str(value)


def _printed_share(value: Decimal | None) -> str:
    return "" if value is None else f"{100 * float(value):.1f} %"
