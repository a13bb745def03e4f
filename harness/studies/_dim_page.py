"""What the study of qualities says: tables for the terminal, a page, CSV files, and heat maps."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.studies import Findings, Table
from harness.studies import _dim_published as paper
from harness.studies._dim_groups import ABSENT, AGREEMENT, JOINED, OVERALL, STRONG, Verdict
from harness.studies._picture import Map, svg

if TYPE_CHECKING:
    from harness.studies.dimensions import Related

SELECTION = ("quality", "ρ overall", "agreement", "no answer", "strong with", "in the group of", "selected", "paper")
GROUPS = ("representative", "group", "paper")
PRINT = ("what", "here", "paper")
PAIRS = ("dataset", "kind", "first", "second", "spearman", "low", "high", "items")


def findings(title: str, found: Sequence[Related], seed: int, draws: int) -> Findings:
    """Everything that is printed and kept."""
    tables = tuple(table for one in found for table in _tables(one))
    remarks = tuple(_remarks(seed, draws))
    picture = svg(title, [_map(one) for one in found])
    page = "\n".join(_page(title, tables, remarks)).encode()
    return Findings(tables, remarks, tuple(entry for one in found for entry in _objects(one)),
                    {"dimensions.md": page, "dimensions.svg": picture, "pairs.csv": _csv(PAIRS, _pairs(found)),
                     "selection.csv": _csv(("dataset", "kind", *SELECTION), _selections(found))})


def _tables(one: Related) -> Iterator[Table]:
    name, data = one.dataset.card.name, f"{one.dataset.card.title}, {_kind(one)}, {len(one.dataset.items)} items"
    yield Table(f"{name}-groups", "Groups of qualities", data, GROUPS, tuple(_groups(one)))
    yield Table(f"{name}-selection", "Which qualities the rule selects", data, SELECTION, tuple(_selection(one)))
    if name == paper.DATASET:
        yield Table(f"{name}-print", "Beside print", data, PRINT, tuple(_printed(one)))


def _groups(one: Related) -> Iterator[tuple[str, ...]]:
    printed = paper.groups() if one.dataset.card.name == paper.DATASET else {}
    for name, members in one.groups.items():
        beside = next((own for own in printed.values() if set(own) == set(members)), ())
        yield name, ", ".join(members), ", ".join(beside) or ("–" if printed else "")


def _selection(one: Related) -> Iterator[tuple[str, ...]]:
    chosen = paper.selected() if one.dataset.card.name == paper.DATASET else None
    for row in one.verdicts:
        yield (row.quality, _number(row.overall), _number(row.agreement, 3), _number(row.absent),
               ", ".join(_strong(one, row)) or "–", ", ".join(row.groups), _said(row),
               "" if chosen is None else "yes" if row.quality in chosen else "no")


def _said(row: Verdict) -> str:
    return f"no: {', '.join(row.reasons)}" if row.reasons else "yes"


def _strong(one: Related, row: Verdict) -> list[str]:
    """The qualities with which one correlates strongly."""
    return [other for pair in one.pairs if pair.printed >= STRONG and row.quality in (pair.first, pair.second)
            for other in (pair.first, pair.second) if other not in (row.quality, "overall")]


def _printed(one: Related) -> Iterator[tuple[str, ...]]:
    known = {frozenset((pair.first, pair.second)): pair.value for pair in one.pairs}
    for (first, second), value in paper.pairs().items():
        yield f"{first} and {second}", _number(known.get(frozenset((first, second)), math.nan)), str(value)
    values = [value for value in known.values() if math.isfinite(value)] or [math.nan]
    rows = {row.quality: row for row in one.verdicts}
    for what, here, statistic in (("least of all pairs", min(values), "minimum"),
                                  ("largest of all pairs", max(values), "maximum")):
        yield what, _number(here), str(paper.bound(statistic))
    if "consistency" in rows:
        yield "agreement, consistency", _number(rows["consistency"].agreement, 3), str(paper.agreement("consistency"))
        others = [row.agreement for name, row in rows.items() if name != "consistency" and math.isfinite(row.agreement)]
        yield ("least agreement of the others", _number(min(others, default=math.nan), 3),
               f"above {paper.agreement('all except consistency')}")
    if "error recovery" in rows:
        yield "no answer, error recovery", _number(rows["error recovery"].absent), str(paper.absent())


def _remarks(seed: int, draws: int) -> Iterator[str]:
    yield ("Correlations are Spearman's ρ between the mean ratings of the items that have both qualities; intervals in "
           f"pairs.csv are of {draws} bootstrap draws of items (95 %). Seed: {seed}.")
    yield (f"strong with: ρ of {STRONG:.2f} or more. Groups join pairs of {JOINED:.2f} or more; a group is a "
           "representative with what it is joined to, and the representatives are the fewest that reach everything.")
    yield (f"selected: ρ with overall above {OVERALL}, agreement {AGREEMENT} or more, no answer at most {ABSENT:.0%}, "
           "in one group alone, and the one that represents it. agreement: Spearman's ρ of each vote with the mean of "
           "the votes on its item, its own among them. no answer: the share of votes not given, of the most that an "
           "item has.")


def _page(title: str, tables: Iterable[Table], remarks: Iterable[str]) -> Iterator[str]:
    yield from (f"# {title}", "", *(line for remark in remarks for line in (remark, "")))
    yield from ("![How qualities correlate; the numbers are in pairs.csv](dimensions.svg)", "")
    for table in tables:
        yield from (f"## {table.caption}: {table.data}", "", f"| {' | '.join(table.head)} |",
                    f"|{' --- |' * len(table.head)}", *(f"| {' | '.join(row)} |" for row in table.rows), "")


def _map(one: Related) -> Map:
    labels = tuple(row.quality.dimension for row in one.rated)
    values = np.eye(len(labels))
    for pair in one.pairs:
        i, j = labels.index(pair.first), labels.index(pair.second)
        values[i, j] = values[j, i] = pair.value
    known = sorted((pair.value, pair.first, pair.second) for pair in one.pairs if math.isfinite(pair.value))
    title = f"{one.dataset.card.name}, {_kind(one)}"
    told = f"{title}: Spearman's rho between the mean ratings of {len(labels)} qualities"
    if known:
        (low, *apart), (high, *near) = known[0], known[-1]
        told += f", from {low:.2f} ({' and '.join(apart)}) to {high:.2f} ({' and '.join(near)})"
    return Map(title, labels, values, f"{told}. The numbers are in pairs.csv.")


def _pairs(found: Iterable[Related]) -> Iterator[tuple[object, ...]]:
    for one in found:
        for pair in one.pairs:
            yield (one.dataset.card.name, _kind(one), pair.first, pair.second,
                   *(f"{value:.6f}" for value in (pair.value, pair.low, pair.high)), pair.items)


def _selections(found: Iterable[Related]) -> Iterator[tuple[object, ...]]:
    for one in found:
        for row in _selection(one):
            yield (one.dataset.card.name, _kind(one), *row)


def _objects(one: Related) -> Iterator[dict[str, object]]:
    about = {"dataset": one.dataset.card.name, "kind": _kind(one)}
    for pair in one.pairs:
        yield {**about, "first": pair.first, "second": pair.second, "items": pair.items,
               **{name: value if math.isfinite(value) else None
                  for name, value in (("spearman", pair.value), ("low", pair.low), ("high", pair.high))}}
    for row in one.verdicts:
        yield {**about, "quality": row.quality, "groups": list(row.groups), "selected": not row.reasons,
               "reasons": list(row.reasons),
               **{name: value if math.isfinite(value) else None
                  for name, value in (("overall", row.overall), ("agreement", row.agreement), ("absent", row.absent))}}


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows((head, *rows))
    return stream.getvalue().encode()


def _kind(one: Related) -> str:
    return "sample" if one.dataset.origin == "sample" else "real"


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"
