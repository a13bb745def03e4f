"""The report on how a table was read: roles of columns, ignored columns, remarks, and the first item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.dataset import Dataset, Rating
from benchmarks.errors import plural
from benchmarks.tables.columns import Recognised
from benchmarks.tables.roles import MAX_LISTED, listed
from benchmarks.tables.sheet import Sheet

MAX_TEXT = 60  # maximum characters of a text in a report line
MAX_TURNS = 6  # maximum turns shown of the first item; earlier turns are left out
MIN_VOTES = 5  # minimum votes of a rater whose scale is compared with that of others
OUTLIER_FACTOR = 2.0
"""A single vote is reported if the range of the other votes is less than 1/OUTLIER_FACTOR of the full range."""


def report(sheet: Sheet, columns: Recognised, dataset: Dataset, remarks: Sequence[str], raters: int) -> Iterator[str]:
    votes, rated_pairs = sum(len(rating.votes) for rating in dataset.ratings), dataset.rated
    names = [quality.name for quality in dataset.card.qualities]
    single_vote = f"one vote per item{' and quality' if names[1:] else ''}" if votes <= rated_pairs else ""
    rater_text = plural(raters, "rater") if raters else single_vote or "raters not named"
    yield f"{sheet.file}: {plural(len(dataset.items), 'item')}, {plural(votes, 'vote')}, {rater_text}"
    for role, column in columns.roles.items():
        yield f"  {role:<10} {column}"
    for quality in dataset.card.qualities[:MAX_LISTED]:
        vote_columns = [vote for vote in columns.votes if vote.quality == quality.name]
        from_columns = listed([*dict.fromkeys(vote.column for vote in vote_columns)])
        scale = str(vote_columns[0].scale) if vote_columns[0].scale.labels else quality.scale
        source = "" if from_columns == quality.name else f" (columns {from_columns})"
        yield f"  rating     {quality.name}: {scale}{source}"
    if names[MAX_LISTED:]:
        yield f"  rating     {listed(names[MAX_LISTED:])}"
    for metric, column in columns.metrics.items():
        yield f"  metric     {column}: --metric scores:{dataset.card.name}.{metric}"
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for column, reason in columns.left_out.items():
        reasons[reason].append(column)
    for reason, left_out in reasons.items():
        yield f"  left out   {listed(left_out)}: {reason}"
    yield from (f"  {remark}" for remark in remarks)
    if single_vote:
        yield f"  {single_vote}: reliability cannot be estimated"
        if names[1:] and "annotator" not in columns.roles:
            yield f"  if {listed(names)} are raters of one quality, name the columns QUALITY (RATER)"
    first_item = dataset.items[0]
    turns = " | ".join(f"{turn.speaker}: {_shortened(turn.text)}" for turn in first_item.utterances[-MAX_TURNS:])
    yield f"  first item {'... | ' if len(first_item.utterances) > MAX_TURNS else ''}{turns}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line[:MAX_TEXT] + "..." * (len(line) > MAX_TEXT)


def different_scales(quality: str, ratings: Sequence[Rating], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a remark if all votes of one rater are above all votes of another; `names` maps names to pseudonyms."""
    votes: defaultdict[str, list[float]] = defaultdict(list)
    for rating in ratings:
        for rater, vote in zip(rating.raters, rating.votes, strict=bool(rating.raters)):
            votes[rater].append(vote)
    ranges = {name: (min(given), max(given)) for name, pseudonym in names.items()
              if len(given := votes[pseudonym]) >= MIN_VOTES and len({*given}) > 1}
    if ranges:
        low, high = min(ranges, key=lambda name: ranges[name][1]), max(ranges, key=lambda name: ranges[name][0])
        if ranges[high][0] > ranges[low][1]:
            scales = (f"{name} votes from {ranges[name][0]:g} to {ranges[name][1]:g}" for name in (low, high))
            yield f"{quality}: {', '.join(scales)}; if their scales differ, convert the votes to one scale"


def outliers(quality: str, ratings: Sequence[Rating], locations: Mapping[str, str]) -> Iterator[str]:
    """Yield a remark on each single vote that widens the scale."""
    votes = sorted(vote for rating in ratings for vote in rating.votes)
    for end, other_votes in ((votes[:1], votes[1:]), (votes[-1:], votes[:-1])):
        if len(other_votes) > 2 and 0 < OUTLIER_FACTOR * (other_votes[-1] - other_votes[0]) < votes[-1] - votes[0]:
            item = next(rating.item for rating in ratings if end[0] in rating.votes)
            others = f"{other_votes[0]:g} to {other_votes[-1]:g}"
            yield (f"{quality}: a single vote, {end[0]:g}, is far from all others, {others}; see "
                   f"{locations[item].rpartition(', ')[2]}")
