"""What the study of qualities says: tables for the terminal, a page, CSV files, and heat maps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from harness.results.rows import Grid
from harness.studies import Findings
from harness.studies._picture import Map, svg
from harness.studies._writing import csv_lines, finite, markdown, number
from harness.studies.dimensions import published as paper
from harness.studies.dimensions.relations import ABSENT, AGREEMENT, JOINED, OVERALL, STRONG, QualityChoice, Relations

SELECTION = ("quality", "ρ overall", "agreement", "no answer", "strong with", "in the group of", "selected", "paper")
GROUPS = ("representative", "group", "paper")
PRINT = ("what", "here", "paper")
PAIRS = ("dataset", "kind", "first", "second", "spearman", "low", "high", "items")
PICTURE = "![How qualities correlate; the numbers are in pairs.csv](dimensions.svg)"


def findings(title: str, relations: Sequence[Relations], seed: int, draws: int) -> Findings:
    """Everything that is printed and kept."""
    tables = tuple(table for each in relations for table in _tables(each))
    remarks = _remarks(seed, draws)
    about = [((each.dataset.card.name, each.origin), each) for each in relations]
    pairs = [(*names, pair.first, pair.second, *(f"{value:.6f}" for value in (pair.value, pair.low, pair.high)),
              pair.items) for names, each in about for pair in each.pairs]
    selected = [(*names, *row) for names, each in about for row in _selection(each)]
    files = {"dimensions.md": markdown(title, remarks, tables, PICTURE),
             "dimensions.svg": svg(title, [_map(each) for each in relations]),
             "pairs.csv": csv_lines(PAIRS, pairs),
             "selection.csv": csv_lines(("dataset", "kind", *SELECTION), selected)}
    return Findings(tables, remarks, tuple(entry for each in relations for entry in _objects(each)), files)


def _tables(relations: Relations) -> Iterator[Grid]:
    card = relations.dataset.card
    data = f"{card.title}, {relations.origin}, {len(relations.dataset.items)} items"
    yield Grid(f"{card.name}-groups", "Groups of qualities", GROUPS, tuple(_groups(relations)), data)
    yield Grid(f"{card.name}-selection", "Which qualities the rule selects", SELECTION, tuple(_selection(relations)),
               data)
    if card.name == paper.DATASET:
        yield Grid(f"{card.name}-print", "Beside print", PRINT, tuple(_printed(relations)), data)


def _groups(relations: Relations) -> Iterator[tuple[str, ...]]:
    printed = paper.groups() if relations.dataset.card.name == paper.DATASET else {}
    for name, members in relations.groups.items():
        same = next((group for group in printed.values() if set(group) == set(members)), ())
        yield name, ", ".join(members), ", ".join(same) or ("–" if printed else "")


def _selection(relations: Relations) -> Iterator[tuple[str, ...]]:
    printed = paper.selected() if relations.dataset.card.name == paper.DATASET else None
    for row in relations.choices:
        yield (row.quality, number(row.overall), number(row.agreement, 3), number(row.absent),
               ", ".join(_strong(relations, row)) or "–", ", ".join(row.groups),
               f"no: {', '.join(row.reasons)}" if row.reasons else "yes",
               "" if printed is None else "yes" if row.quality in printed else "no")


def _strong(relations: Relations, row: QualityChoice) -> list[str]:
    """The qualities with which a quality correlates strongly."""
    return [other for pair in relations.pairs if pair.printed >= STRONG and row.quality in (pair.first, pair.second)
            for other in (pair.first, pair.second) if other not in (row.quality, "overall")]


def _printed(relations: Relations) -> Iterator[tuple[str, ...]]:
    known = {frozenset((pair.first, pair.second)): pair.value for pair in relations.pairs}
    for (first, second), value in paper.pairs().items():
        yield f"{first} and {second}", number(known.get(frozenset((first, second)), math.nan)), str(value)
    values = [value for value in known.values() if math.isfinite(value)] or [math.nan]
    yield "least of all pairs", number(min(values)), str(paper.bound("minimum"))
    yield "largest of all pairs", number(max(values)), str(paper.bound("maximum"))
    rows = {row.quality: row for row in relations.choices}
    agreement = "interannotator-spearman"
    if "consistency" in rows:
        yield ("agreement, consistency", number(rows["consistency"].agreement, 3),
               str(paper.printed("consistency", agreement)))
        others = [row.agreement for name, row in rows.items() if name != "consistency" and math.isfinite(row.agreement)]
        yield ("least agreement of the others", number(min(others, default=math.nan), 3),
               f"above {paper.printed('all except consistency', agreement)}")
    if "error recovery" in rows:
        yield ("no answer, error recovery", number(rows["error recovery"].absent),
               str(paper.printed("error recovery", "fraction")))


def _remarks(seed: int, draws: int) -> tuple[str, ...]:
    return (
        ("Correlations are Spearman's ρ between the mean ratings of the items that have both qualities; intervals in "
        f"pairs.csv are of {draws} bootstrap draws of items (95 %). Seed: {seed}."),
        (f"strong with: ρ of {STRONG:.2f} or more. Groups join pairs of {JOINED:.2f} or more; a group is a "
        "representative with what it is joined to, and the representatives are the fewest that reach everything."),
        (f"selected: ρ with overall above {OVERALL}, agreement {AGREEMENT} or more, no answer at most {ABSENT:.0%}, "
        "in one group alone, and the one that represents it. agreement: Spearman's ρ of each vote with the mean of "
        "the votes on its item, its own among them. no answer: the share of votes not given, of the most that an "
        "item has."))


def _map(relations: Relations) -> Map:
    labels = tuple(ratings.quality.dimension for ratings in relations.rated)
    values = np.eye(len(labels))
    for pair in relations.pairs:
        i, j = labels.index(pair.first), labels.index(pair.second)
        values[i, j] = values[j, i] = pair.value
    known = sorted((pair.value, pair.first, pair.second) for pair in relations.pairs if math.isfinite(pair.value))
    title = f"{relations.dataset.card.name}, {relations.origin}"
    text = f"{title}: Spearman's rho between the mean ratings of {len(labels)} qualities"
    if known:
        (low, *apart), (high, *near) = known[0], known[-1]
        text += f", from {low:.2f} ({' and '.join(apart)}) to {high:.2f} ({' and '.join(near)})"
    return Map(title, labels, values, f"{text}. The numbers are in pairs.csv.")


def _objects(relations: Relations) -> Iterator[dict[str, object]]:
    about = {"dataset": relations.dataset.card.name, "kind": relations.origin}
    for pair in relations.pairs:
        yield {**about, "first": pair.first, "second": pair.second, "items": pair.items,
               "spearman": finite(pair.value), "low": finite(pair.low), "high": finite(pair.high)}
    for row in relations.choices:
        yield {**about, "quality": row.quality, "groups": list(row.groups), "selected": not row.reasons,
               "reasons": list(row.reasons), "overall": finite(row.overall),
               "agreement": finite(row.agreement), "absent": finite(row.absent)}
