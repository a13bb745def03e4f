"""How the qualities that people rate hang together, on every dataset with several: FineD-Eval's choice of its own.

Zhang et al. (2022) correlate the eleven qualities of FED's dialogues with each other, group them (Table 1) and select
three that a metric should have. The same is done here with every dataset of three qualities or more; no metric takes
part. Beside the numbers on fed-dial stand those in print. `relations` says how each step is done.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np

from harness.errors import BadConfig
from harness.published import Tables
from harness.results.exhibits import number
from harness.results.rows import Grid, HeatMap
from harness.studies import Findings, StudyRequest
from harness.studies.dimensions.relations import (
    ABSENT,
    AGREEMENT,
    FEWEST,
    JOINED,
    OVERALL,
    STRONG,
    QualityChoice,
    Relations,
    relate,
)

TITLE = "How the qualities that people rate hang together"
FLAGS = ("dataset", "quality", "split")
SELECTION = ("quality", "ρ overall", "agreement", "no answer", "strong with", "in the group of", "selected", "paper")
PRINTED = "fed-dial"
OWN = {"likability": "likeability", "topic depth": "depth"}
"""Qualities whose name in print is another than here."""

PAPER = Tables.of("finedeval")


def study(request: StudyRequest) -> Findings:
    """Relate the qualities of each dataset to each other."""
    every = (relate(dataset, request.selection.qualities, request.seed, request.draws)
             for dataset in request.datasets())
    known = [relations for relations in every if relations is not None]
    if not known:
        raise BadConfig(f"no requested dataset has {FEWEST} qualities or more whose ratings differ; "
                        "fed-dial has eleven")
    return findings(known, request.seed, request.draws)


def findings(relations: Sequence[Relations], seed: int, draws: int) -> Findings:
    """Everything that is printed and kept."""
    return Findings(
        tables=tuple(table for each in relations for table in _tables(each)),
        remarks=(
            ("Correlations are Spearman's ρ between the mean ratings of the items that have both qualities; intervals "
            f"in pair.csv are of {draws} bootstrap draws of items (95 %). Seed: {seed}."),
            (f"strong with: ρ of {STRONG:.2f} or more. Groups join pairs of {JOINED:.2f} or more; a group is a "
            "representative with what it is joined to, and the representatives are the fewest that reach everything."),
            (f"selected: ρ with overall above {OVERALL}, agreement {AGREEMENT} or more, no answer at most "
            f"{ABSENT:.0%}, in one group alone, and the one that represents it. agreement: Spearman's ρ of "
            "each vote with the mean of the votes on its item, its own among them. no answer: the share of votes not "
            "given, of the most that an item has.")),
        objects={"pair": [_about(each) | {
                     "first": pair.first, "second": pair.second, "items": pair.items, "spearman": pair.value,
                     "low": pair.low, "high": pair.high} for each in relations for pair in each.pairs],
                 "choice": [_about(each) | {
                     "quality": row.quality, "groups": row.groups, "selected": not row.reasons, "reasons": row.reasons,
                     "overall": row.overall, "agreement": row.agreement, "absent": row.absent}
                     for each in relations for row in each.choices]},
        maps=tuple(map(_map, relations)))


def _about(relations: Relations) -> dict[str, object]:
    return {"dataset": relations.dataset.card.name, "data": relations.dataset.kind}


def _tables(relations: Relations) -> Iterator[Grid]:
    card = relations.dataset.card
    data = f"{card.title}, {relations.dataset.kind}, {len(relations.dataset.items)} items"
    yield Grid(f"{card.name}-groups", "Groups of qualities", ("representative", "group", "paper"),
               tuple(_groups(relations)), data)
    yield Grid(f"{card.name}-selection", "Which qualities the rule selects", SELECTION, tuple(_selection(relations)),
               data)
    if card.name == PRINTED:
        yield Grid(f"{card.name}-print", "Beside print", ("what", "here", "paper"), tuple(_printed(relations)), data)


def _groups(relations: Relations) -> Iterator[tuple[str, ...]]:
    printed = printed_groups() if relations.dataset.card.name == PRINTED else ()
    for name, members in relations.groups.items():
        same = next((group for group in printed if set(group) == set(members)), ())
        yield name, ", ".join(members), ", ".join(same) or ("–" if printed else "")


def _selection(relations: Relations) -> Iterator[tuple[str, ...]]:
    printed = [_own(row.quality) for row in PAPER.where(note="selected for a sub-metric").rows]
    for row in relations.choices:
        here = "yes" if row.quality in printed else "no"
        yield (row.quality, number(row.overall), number(row.agreement, 3), number(row.absent),
               ", ".join(_strong(relations, row)) or "–", ", ".join(row.groups),
               f"no: {', '.join(row.reasons)}" if row.reasons else "yes",
               here if relations.dataset.card.name == PRINTED else "")


def _strong(relations: Relations, row: QualityChoice) -> list[str]:
    """The qualities with which a quality correlates strongly."""
    return [other for pair in relations.pairs if pair.printed >= STRONG and row.quality in (pair.first, pair.second)
            for other in (pair.first, pair.second) if other not in (row.quality, "overall")]


def _printed(relations: Relations) -> Iterator[tuple[str, ...]]:
    known = {frozenset((pair.first, pair.second)): pair.value for pair in relations.pairs}
    for (first, second), value in printed_pairs().items():
        yield f"{first} and {second}", number(known.get(frozenset((first, second)), math.nan)), str(value)
    values = [value for value in known.values() if math.isfinite(value)] or [math.nan]
    for words, which, note in (("least", min, "minimum"), ("largest", max, "maximum")):
        yield f"{words} of all pairs", number(which(values)), str(PAPER.row(quality="all pairs", note=note).value)
    rows = {row.quality: row for row in relations.choices}
    votes = PAPER.where(statistic="interannotator-spearman")
    if "consistency" in rows:
        yield ("agreement, consistency", number(rows["consistency"].agreement, 3),
               str(votes.row(quality="consistency").value))
        others = [row.agreement for name, row in rows.items() if name != "consistency" and math.isfinite(row.agreement)]
        yield ("least agreement of the others", number(min(others, default=math.nan), 3),
               f"above {votes.row(quality='all except consistency').value}")
    if "error recovery" in rows:
        yield ("no answer, error recovery", number(rows["error recovery"].absent),
               str(PAPER.row(quality="error recovery", statistic="fraction").value))


def printed_groups() -> list[tuple[str, ...]]:
    """The groups of FineD-Eval's Table 1, each with its representative first."""
    rows = PAPER.where(statistic="group-membership")
    return [tuple(_own(row.quality) for row in rows.where(metric=group).rows) for group in rows.values("metric")]


def printed_pairs() -> dict[tuple[str, str], Decimal]:
    """The correlations of two qualities that its Section 2.1 prints."""
    pairs = {tuple(map(_own, row.quality.split(" ~ "))): row.value for row in PAPER.rows if " ~ " in row.quality}
    return {(first, second): value for (first, second), value in pairs.items()}


def _own(quality: str) -> str:
    return OWN.get(quality, quality)


def _map(relations: Relations) -> HeatMap:
    labels = tuple(ratings.quality.dimension for ratings in relations.rated)
    values = np.eye(len(labels))
    for pair in relations.pairs:
        i, j = labels.index(pair.first), labels.index(pair.second)
        values[i, j] = values[j, i] = pair.value
    known = sorted((pair.value, pair.first, pair.second) for pair in relations.pairs if math.isfinite(pair.value))
    title = f"{relations.dataset.card.name}, {relations.dataset.kind}"
    text = f"{title}: Spearman's rho between the mean ratings of {len(labels)} qualities"
    if known:
        (low, *apart), (high, *near) = known[0], known[-1]
        text += f", from {low:.2f} ({' and '.join(apart)}) to {high:.2f} ({' and '.join(near)})"
    return HeatMap.of(title, labels, values, f"{text}. The numbers are in pair.csv.")
