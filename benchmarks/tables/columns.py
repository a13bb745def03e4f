"""Recognition of the columns of a table of ratings by their names and contents.

A column with a usual name has a role (roles.py). Other columns that hold votes are ratings: a column per quality, or
several per quality, one for each rater (`rater_anna`, `rater_ben`; `fluency_1`, `fluency_2`; `fluency_anna`), unless a
column names the rater. A long table names the quality in a column. All other columns are left out and reported. A card
can state the columns of each quality instead.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.dataset import Level
from benchmarks.errors import BadRecord, nearest
from benchmarks.tables.cells import MISSING, NAMED, Scale, label, likely_order, scale_of
from benchmarks.tables.roles import (
    ANSWERS,
    DIMENSIONS,
    MAX_DISTINCT,
    MAX_LABEL,
    MESSAGE_FIELDS,
    TEXT_ROLES,
    Profile,
    check_objects,
    check_pairs,
    listed,
    metrics_of,
    misspelled,
    normal_name,
    parsed_names,
    role_of,
    roles_of,
    stated_columns,
    usual_name,
)
from benchmarks.tables.sheet import Sheet

NON_RATING_NAME = re.compile(rf"\b({'|'.join(NAMED['unrated'])})\b")  # names of numeric columns without ratings
NO_RATING = "its name does not suggest a rating (if it is one, name every rating with --columns rating=COLUMN)"
CONSTANT = "the same vote in every row"
FIRST_RATER = "first"  # rater of the unnumbered column among numbered ones: pandas writes repeated names as fun, fun.1
MIN_TEXT_LENGTH = 20  # minimum mean length, in characters, for a column without a usual name to be used as the response


@dataclass(frozen=True, slots=True)
class Votes:
    """A column of votes on a quality; `rater` is set if the column belongs to one rater."""

    column: str
    quality: str
    scale: Scale
    rater: str = ""


@dataclass(frozen=True, slots=True)
class StatedQuality:
    """The columns of a quality (one, or one per rater) and its scale."""

    columns: tuple[str, ...]
    scale: Scale


@dataclass(frozen=True, slots=True)
class Recognised:
    """Columns by role, columns of votes, and ignored columns with reasons."""

    roles: Mapping[str, str]
    votes: tuple[Votes, ...]
    single: bool = False  # a context is one turn even if it has several lines
    of_card: bool = False  # a card names the columns of votes
    metrics: Mapping[str, str] = field(default_factory=dict)  # columns with scores, by the name of the metric
    left_out: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        return "turn" if "response" in self.roles else "dialogue"

    @property
    def is_long(self) -> bool:  # a column names the quality of each row's vote
        return "quality" in self.roles

    @property
    def qualities(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(vote.quality for vote in self.votes))


def recognise(sheet: Sheet, stated: Mapping[str, str], scales: Sequence[tuple[str, ...]] = (),
              qualities: Mapping[str, StatedQuality] | None = None) -> Recognised:
    """Return the role of each column.

    `stated` maps roles, or usual names of columns, to columns: `prompt=x` reads x as if it were named prompt. `scales`
    are the user's, `qualities` the card's.
    """
    columns = stated_columns(sheet, stated)
    ratings = columns.pop("rating") if len(columns.get("rating", ())) > 1 else ()
    metrics = metrics_of(sheet.file, columns.pop("metric", ()))
    profiles = {name: Profile() for name in sheet.columns}
    for _, row in sheet.rows():
        for profile, cell in zip(profiles.values(), row, strict=True):
            profile.add(cell)
    qualities = qualities or {}
    card_columns = {column for quality in qualities.values() for column in quality.columns}
    named = {*card_columns, *metrics.values()}
    roles, left_out = roles_of([name for name in sheet.columns if name not in named], profiles, columns)
    unassigned = [name for name in sheet.columns
                  if name not in {*roles.values(), *left_out, *named} and profiles[name].filled]
    remarks: list[str] = []
    annotator = roles.get("annotator", "")
    votes, ignored = _votes([] if qualities else unassigned, profiles, scales, ratings, annotator, remarks)
    if qualities:
        ignored = dict.fromkeys(unassigned, "not named in the card")
    _check_scales(sheet.file, unassigned, profiles, scales)
    if "quality" in roles and "rating" in roles and not card_columns & profiles.keys():
        left_out |= {vote.column: "the rating is in " + repr(roles["rating"]) for vote in votes}
        votes = _votes_of_long_table(sheet.file, roles, profiles, scales, qualities)
    else:
        for role in {"quality", "rating"} & roles.keys():  # an ordinary column unless the table has both
            column = roles.pop(role)
            scale = scale_of(profiles[column].values, scales) or (Scale() if role == "rating" in columns else None)
            if scale and not qualities:
                votes.insert(0, Votes(column, column, scale))
            else:
                ignored[column] = "text without a role"
        votes += _votes_of_card(sheet.file, profiles, qualities, annotator)
    answers = [name for name in ignored if ANSWERS.search(normal_name(name)) and not qualities]
    check_objects(sheet.file, profiles, [roles[role] for role in TEXT_ROLES if role in roles.keys() - columns.keys()],
                   [*ratings, *columns.get("rating", ()), *answers])
    check_pairs(sheet.file, {} if "response" in roles or "dialogue" in columns else ignored)
    if "response" not in roles and "dialogue" not in roles:
        _assign_texts(sheet, roles, ignored, profiles, remarks, of_card=bool(qualities))
    if ratings and "quality" not in roles:
        ignored |= {vote.column: "not stated as a rating" for vote in votes if vote.column not in ratings}
        votes = [vote for vote in votes if vote.column in ratings]
    if not votes and not qualities:
        labels = "".join(f"; {name!r} holds {reason}" for name, reason in ignored.items()
                         if "--scale" in reason or CONSTANT in reason)
        raise BadRecord(sheet.file, None, "", f"no column holds ratings; the columns are {listed(sheet.columns)}"
                                              f"{labels}. Name one with --columns rating=COLUMN")
    _check_used(sheet.file, votes, scales)
    left_out |= {name: reason if reason == NO_RATING else reason + misspelled(name, roles, of_card=bool(qualities))
                 for name, reason in ignored.items() if name not in roles.values()}
    context = next((name for name in stated if name != "context" and role_of(name) == "context"), roles.get("context"))
    single = usual_name(context or "") in NAMED["single"]
    return Recognised(roles, tuple(votes), single, bool(qualities), metrics, left_out, tuple(remarks))


def _votes_of_long_table(file: str, roles: Mapping[str, str], profiles: Mapping[str, Profile],
                         scales: Sequence[tuple[str, ...]], qualities: Mapping[str, StatedQuality]) -> list[Votes]:
    column, quality_names = roles["rating"], profiles[roles["quality"]].values
    if qualities and (unknown := next((name for name in quality_names if name not in qualities), None)):
        raise BadRecord(file, None, roles["quality"], f"{unknown!r:.60} is not a quality of the card; "
                                                      f"{nearest(unknown, qualities)}")
    values = profiles[column].values
    if (scale := scale_of(values, scales)) is None and not qualities:
        examples = ", ".join(repr(value)[:30] for value in list(values)[:3])
        raise BadRecord(file, None, column, f"holds no ratings ({examples}, ...)")
    return [Votes(column, quality, qualities[quality].scale.or_labels(scale) if qualities else scale or Scale())
            for quality in qualities or quality_names]


def _votes_of_card(file: str, profiles: Mapping[str, Profile], qualities: Mapping[str, StatedQuality],
                   annotator: str) -> Iterator[Votes]:
    """Yield the columns of votes that a card states; a quality without stated columns may have no votes."""
    parsed = parsed_names(column for stated in qualities.values() for column in stated.columns)
    for quality, stated in qualities.items():
        columns = [column for column in stated.columns if column in profiles or stated.columns != (quality,)]
        if missing := next((column for column in columns if column not in profiles), None):
            raise BadRecord(file, None, missing, f"is missing, but the card states it for {quality!r}; "
                                                 f"{nearest(missing, profiles)}")
        if annotator and len(columns) > 1:
            raise BadRecord(file, None, annotator, f"names raters, as do the columns of {quality!r} in the card; to "
                                                   f'omit it: columns = {{ignore = "{annotator}"}}')
        raters = [rater if (certain and not annotator) or (rater and len(columns) > 1) else ""
                  for _, rater, certain in map(parsed.__getitem__, columns)]
        if len(columns) > 1:
            raters = [rater or FIRST_RATER for rater in raters]
            raters = raters if len(set(raters)) == len(columns) else columns
        for column, rater in zip(columns, raters, strict=True):
            yield Votes(column, quality, stated.scale.or_labels(scale_of(profiles[column].values)), rater)


def _check_scales(file: str, columns: Iterable[str], profiles: Mapping[str, Profile],
                  scales: Sequence[tuple[str, ...]]) -> None:
    """Raise BadRecord for a column that shares labels with a user's scale but also has others."""
    for name, scale in itertools.product(columns, scales):
        labels = set(map(label, profiles[name].values)) - MISSING
        missing = sorted(labels - set(scale))
        if missing and len(labels & set(scale)) > 1 and len(labels) <= MAX_DISTINCT // 10:
            raise BadRecord(file, None, name, f"contains {', '.join(map(repr, missing))}, missing in --scale "
                                              f"\"{' < '.join(scale)}\"")


def _check_used(file: str, votes: Iterable[Votes], scales: Sequence[tuple[str, ...]]) -> None:
    used_labels = {vote.scale.labels for vote in votes}
    if unused := next((scale for scale in scales if scale not in used_labels), None):
        raise BadRecord(file, None, "", f"no column of ratings has the labels of --scale \"{' < '.join(unused)}\"; "
                                        "correct or omit it")


def _votes(columns: Sequence[str], profiles: Mapping[str, Profile], scales: Sequence[tuple[str, ...]],
           stated: Sequence[str], annotator: str, remarks: list[str]) -> tuple[list[Votes], dict[str, str]]:
    """Return the columns of votes among those without a role, and the reasons for ignoring the others.

    Columns in `stated` are taken to hold votes; Scale.vote later reports their other cells with the line.
    """
    scale_of_column: dict[str, Scale] = {}
    ignored: dict[str, str] = {}
    for name in columns:
        profile = profiles[name]
        scale = scale_of(profile.values, scales) or (Scale() if name in stated else None)
        if scale is None:
            has_labels = (1 < len(profile.values) <= min(10, profile.filled / 2) and not _is_not_rating(name)
                          and all(len(value) <= MAX_LABEL for value in profile.values))
            ignored[name] = _unordered(profile.values) if has_labels else "text without a role"
        elif name not in stated and _is_not_rating(name):
            ignored[name] = NO_RATING
        elif len(profile.values) > MAX_DISTINCT:
            ignored[name] = f"more than {MAX_DISTINCT} distinct values"
        else:
            scale_of_column[name] = scale
    votes = list(_votes_by_column(scale_of_column))
    if annotator and (of_raters := [vote.column for vote in votes if vote.rater]):
        votes = [replace(vote, quality=_quality_part(vote.column), rater="") if vote.rater else vote for vote in votes]
        remarks.append(f"{annotator!r} names the raters, so each of {listed(of_raters)} is a quality (--columns ignore="
                       f"{annotator} makes them raters)")
    values: defaultdict[str, set[str]] = defaultdict(set)
    for vote in votes:
        values[vote.quality] |= set(map(label, profiles[vote.column].values)) - MISSING
    ignored |= {vote.column: CONSTANT for vote in votes if len(values[vote.quality]) < 2 and vote.column not in stated
                and normal_name(vote.quality) not in DIMENSIONS}
    return [vote for vote in votes if vote.column not in ignored], ignored


def _is_not_rating(name: str) -> bool:
    """Return True if a name does not suggest a rating: `turn`, `What is your age?`, not `Is the last turn natural?`."""
    asks = "?" in name and not re.search(r"\byour?\b", normal_name(name))
    return bool(NON_RATING_NAME.search(normal_name(name))) and not asks


def _quality_part(column: str) -> str:
    """Return the part of `ratings.fun` that names the quality."""
    quality = column.rpartition(".")[2]
    return quality if quality and not quality.isdigit() else column


def _unordered(values: Iterable[str]) -> str:
    if order := likely_order(value for value in values if value.casefold() not in MISSING):
        return f"labels of an unknown scale; if this is their order, state it: --scale \"{' < '.join(order)}\""
    return ("labels of an unknown order; state it, lowest first, for example --scale "
            f"\"{' < '.join(sorted(values))}\"")


def _votes_by_column(scales: Mapping[str, Scale]) -> Iterable[Votes]:
    parsed = parsed_names(scales)
    columns_of = Counter(quality for quality, _, _ in parsed.values())
    raters = {rater for quality, rater, certain in parsed.values() if certain or (rater and columns_of[quality] > 1)}
    for column, scale in scales.items():
        quality, rater, _ = parsed[column]
        if rater in raters or columns_of[quality] > 1:
            yield Votes(column, quality, scale, rater or FIRST_RATER)
        else:
            yield Votes(column, _quality_part(column), scale)


def _assign_texts(sheet: Sheet, roles: dict[str, str], ignored: Mapping[str, str], profiles: Mapping[str, Profile],
                  remarks: list[str], *, of_card: bool) -> None:
    """Take the last column of long texts as the response, and the second last as the context."""
    texts = [name for name in sheet.columns if ignored.get(name) == "text without a role"
             and profiles[name].length / profiles[name].filled >= MIN_TEXT_LENGTH
             and (profiles[name].objects & MESSAGE_FIELDS or not profiles[name].objects)]
    if not texts:
        setting = 'columns = {response = "COLUMN"}' if of_card else "--columns response=COLUMN (or dialogue=COLUMN)"
        raise BadRecord(sheet.file, None, "", f"no column holds responses; the columns are {listed(sheet.columns)}. "
                                              f"Name one with {setting}")
    roles["response"] = texts[-1]
    if "context" not in roles and len(texts) > 1:
        roles["context"] = texts[-2]
    remarks.append(f"no column has a usual name for the response; {texts[-1]!r} is used, the last column of long texts")
