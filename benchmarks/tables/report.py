"""The report on how a table was read: roles of columns, ignored columns, remarks, and the first item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmarks.dataset import Dataset, Rating
from benchmarks.errors import plural
from benchmarks.tables.columns import Recognised
from benchmarks.tables.roles import DIMENSIONS, LISTED, listed, words
from benchmarks.tables.sheet import Sheet

SHOWN = 60  # maximum characters of a text in a report line
FIRST = 6  # maximum turns of the first item (the last ones are shown)
OUTLYING = 2.0
"""A single vote is reported if, without it, the range of the votes would be less than 1/OUTLYING of the full range."""


def report(sheet: Sheet, columns: Recognised, dataset: Dataset, remarks: Sequence[str], raters: int) -> Iterator[str]:
    votes, rated = sum(len(rating.votes) for rating in dataset.ratings), dataset.rated
    names = [quality.name for quality in dataset.card.qualities]
    single = f"one vote per item{' and quality' if names[1:] else ''}" if votes <= rated else ""
    by = plural(raters, "rater") if raters else single or "raters not named"
    yield f"{sheet.file}: {plural(len(dataset.items), 'item')}, {plural(votes, 'vote')}, {by}"
    for role, column in columns.roles.items():
        yield f"  {role:<10} {column}"
    for quality in dataset.card.qualities[:LISTED]:
        of_quality = [vote for vote in columns.votes if vote.quality == quality.name]
        from_columns = listed([*dict.fromkeys(vote.column for vote in of_quality)])
        scale = str(of_quality[0].scale) if of_quality[0].scale.labels else quality.scale
        source = "" if from_columns == quality.name else f" (columns {from_columns})"
        yield f"  rating     {quality.name}: {scale}{source}"
    if names[LISTED:]:
        yield f"  rating     {listed(names[LISTED:])}"
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for column, why in columns.left_out.items():
        reasons[why].append(column)
    for why, left_out in reasons.items():
        yield f"  left out   {listed(left_out)}: {why}"
    yield from (f"  {remark}" for remark in remarks)
    if single:
        yield f"  {single}: reliability cannot be estimated"
    for alike in [names] if single else _named_alike(names):
        if len(alike) > 1 and "annotator" not in columns.roles:
            few = ", ".join((*alike[:3], *(["..."] if len(alike) > 3 else [])))
            yield f"  if {few} are raters of one quality, name the columns {_as_raters(alike)}, ..."
    first = dataset.items[0]
    spoken = " | ".join(f"{turn.speaker}: {turn.text[:SHOWN]}{'...' if len(turn.text) > SHOWN else ''}"
                        for turn in first.utterances[-FIRST:])
    yield f"  first item {'... | ' if len(first.utterances) > FIRST else ''}{spoken}"


def _named_alike(names: Sequence[str]) -> Iterable[list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        if (parts := words(name))[1:] and parts[0] in DIMENSIONS:
            groups[parts[0]].append(name)
    return groups.values()


def _as_raters(names: Sequence[str]) -> str:
    """Return a name for the first column that marks it as a rater's: `helpful (anna)` for helpful_anna."""
    quality, _, rater = names[0].partition("_")
    shared = rater and sum(name.startswith(f"{quality}_") for name in names) > 1
    return f"{quality} ({rater})" if shared else f"rater_{names[0]}"


def outliers(quality: str, ratings: Sequence[Rating], locations: Mapping[str, str]) -> Iterator[str]:
    """Yield a remark on each single vote that widens the scale."""
    votes = sorted(vote for rating in ratings for vote in rating.votes)
    for end, rest in ((votes[:1], votes[1:]), (votes[-1:], votes[:-1])):
        if len(rest) > 2 and 0 < OUTLYING * (rest[-1] - rest[0]) < votes[-1] - votes[0]:
            item = next(rating.item for rating in ratings if end[0] in rating.votes)
            yield (f"{quality}: a single vote, {end[0]:g}, is far from all others, {rest[0]:g} to {rest[-1]:g}; see "
                   f"{locations[item].rpartition(', ')[2]}")
