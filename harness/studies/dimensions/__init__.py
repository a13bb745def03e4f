"""Correlations between the qualities that people rate, on every dataset with several: FineD-Eval's choice of qualities.

Zhang et al. (2022) correlate the eleven qualities of FED's dialogues with each other, group them (Table 1) and select
three that a metric should have. The same is done here with every dataset of three qualities or more, without metrics,
and compared with the paper's numbers on fed-dial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from operator import attrgetter

import numpy as np

from harness.errors import BadConfig
from harness.published import Tables
from harness.published.measured import QUALITIES
from harness.results.exhibits import Grid, HeatMap, number
from harness.studies import Findings, StudyRequest
from harness.studies.dimensions import relations as rules
from harness.studies.dimensions.relations import Relations, relate

TITLE = "How the qualities that people rate are related"
FLAGS = ("dataset", "quality", "split")
SELECTION = ("quality", "ρ overall", "agreement", "no answer", "strong with", "in the group of", "selected", "paper")
PRINTED = "fed-dial"

PAPER = Tables.of("finedeval")


def study(request: StudyRequest) -> Findings:
    seed, qualities = request.settings.seed, request.settings.quality
    related = (relate(dataset, qualities, seed, request.draws) for dataset in request.datasets())
    relations = [row for row in related if row is not None]
    if not relations:
        raise BadConfig(f"no requested dataset has {rules.FEWEST} qualities or more whose ratings are not constant; "
                        "fed-dial has eleven")
    return findings(relations, seed, request.draws)


def findings(relations: Sequence[Relations], seed: int, draws: int) -> Findings:
    return Findings(
        tables=tuple(table for row in relations for table in _tables(row)),
        remarks=(
            ("Correlations are Spearman's ρ between the mean ratings of the items that have both qualities; intervals "
            f"in pair.csv are of {draws} bootstrap draws of items (95 %). Seed: {seed}."),
            (f"strong with: ρ of {rules.STRONG:.2f} or more. Groups join pairs of {rules.JOINED:.2f} or more; a group "
             "is a representative with all qualities joined to it, and the representatives are the fewest that reach "
             "every joined quality."),
            (f"selected: ρ with overall above {rules.OVERALL}, agreement {rules.AGREEMENT} or more, no answer at most "
             f"{100 * rules.ABSENT:.0f} %, in one group only, and its representative. agreement: Spearman's ρ of each "
             "vote with the mean of all votes on its item. no answer: the share of votes missing, out of the "
             "most votes on any item.")),
        objects={kind: [{"dataset": row.dataset.card.name, "data": row.dataset.kind} | entry._asdict()
                        for row in relations for entry in entries(row)]
                 for kind, entries in (("pair", attrgetter("pairs")), ("choice", attrgetter("choices")))},
        maps=tuple(map(_map, relations)))


def _tables(relations: Relations) -> Iterator[Grid]:
    card = relations.dataset.card
    in_print = card.name == PRINTED
    data = f"{card.title}, {relations.dataset.kind}, {len(relations.dataset.items)} items"
    yield Grid(f"{card.name}-groups", "Groups of qualities", ("representative", "group", "paper"),
               tuple(_groups(relations, printed_groups() if in_print else [])), data)
    yield Grid(f"{card.name}-selection", "Which qualities the rule selects", SELECTION,
               tuple(_selection(relations, in_print)), data)
    if in_print:
        yield Grid(f"{card.name}-print", "Compared with the paper", ("value", "here", "paper"),
                   tuple(_printed(relations)), data)


def _groups(relations: Relations, printed: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    for name, members in relations.groups.items():
        same = next((group for group in printed if set(group) == set(members)), ())
        yield name, ", ".join(members), ", ".join(same) or ("–" if printed else "")


def _selection(relations: Relations, in_print: bool) -> Iterator[tuple[str, ...]]:
    printed = [_renamed(row.quality) for row in PAPER.where(note="selected for a sub-metric").rows]
    for row in relations.choices:
        strong = [other for pair in relations.pairs
                  if pair.printed >= rules.STRONG and row.quality in (pair.first, pair.second)
                  for other in (pair.first, pair.second) if other not in (row.quality, "overall")]
        yield (row.quality, number(row.overall), number(row.agreement, 3), number(row.absent),
               ", ".join(strong) or "–", ", ".join(row.groups),
               f"no: {', '.join(row.reasons)}" if row.reasons else "yes",
               ("yes" if row.quality in printed else "no") if in_print else "")


def _printed(relations: Relations) -> Iterator[tuple[str, ...]]:
    known = {frozenset((pair.first, pair.second)): pair.spearman for pair in relations.pairs}
    for (first, second), value in printed_pairs().items():
        yield f"{first} and {second}", number(known.get(frozenset((first, second)), math.nan)), str(value)
    values = [value for value in known.values() if math.isfinite(value)] or [math.nan]
    for words, function, note in (("lowest", min, "minimum"), ("highest", max, "maximum")):
        yield f"{words} of all pairs", number(function(values)), str(PAPER.row(quality="all pairs", note=note).value)
    rows = {row.quality: row for row in relations.choices}
    votes = PAPER.where(statistic="interannotator-spearman")
    if "consistency" in rows:
        yield ("agreement, consistency", number(rows["consistency"].agreement, 3),
               str(votes.row(quality="consistency").value))
        others = [row.agreement for name, row in rows.items() if name != "consistency" and math.isfinite(row.agreement)]
        yield ("lowest agreement of the others", number(min(others, default=math.nan), 3),
               f"above {votes.row(quality='all except consistency').value}")
    if "error recovery" in rows:
        yield ("no answer, error recovery", number(rows["error recovery"].absent),
               str(PAPER.row(quality="error recovery", statistic="fraction").value))


def printed_groups() -> list[tuple[str, ...]]:
    """Return the groups of FineD-Eval's Table 1, each with its representative first."""
    rows = PAPER.where(statistic="group-membership")
    return [tuple(_renamed(row.quality) for row in rows.where(metric=group).rows) for group in rows.values("metric")]


def printed_pairs() -> dict[tuple[str, str], Decimal]:
    """Return the correlations of two qualities in FineD-Eval's Section 2.1."""
    pairs = ((row.quality.split(" ~ "), row.value) for row in PAPER.rows if " ~ " in row.quality)
    return {(_renamed(first), _renamed(second)): value for (first, second), value in pairs}


def _renamed(quality: str) -> str:
    return QUALITIES.get(quality, quality)


def _map(relations: Relations) -> HeatMap:
    labels = tuple(ratings.quality.dimension for ratings in relations.rated)
    values = np.eye(len(labels))
    for pair in relations.pairs:
        i, j = labels.index(pair.first), labels.index(pair.second)
        values[i, j] = values[j, i] = pair.spearman
    known = sorted((pair.spearman, pair.first, pair.second) for pair in relations.pairs if math.isfinite(pair.spearman))
    title = f"{relations.dataset.card.name}, {relations.dataset.kind}"
    text = f"{title}: Spearman's rho between the mean ratings of {len(labels)} qualities"
    if known:
        (low, *lowest), (high, *highest) = known[0], known[-1]
        text += f", from {low:.2f} ({' and '.join(lowest)}) to {high:.2f} ({' and '.join(highest)})"
    return HeatMap.of(title, labels, values, f"{text}. The numbers are in pair.csv.")
