"""Recognition of the columns of a table of ratings by their names and contents.

A column with a usual name has a role (roles.py). Other columns that hold votes are ratings: a column per quality, or
several per quality, one for each rater (`rater_anna`, `rater_ben`; `fluency_1`, `fluency_2`; `fluency_anna`), unless a
column names the rater. A long table names the quality in a column. All other columns are left out and reported. A card
can state the columns of each quality instead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.dataset import Level
from benchmarks.errors import BadRecord, nearest
from benchmarks.tables.cells import MAX_LABELS, MISSING, NAMED, Scale, label, scale_of
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
    statement,
    usual_name,
)
from benchmarks.tables.sheet import Sheet

NON_RATING_NAME = re.compile(rf"\b({'|'.join(NAMED['unrated'])})\b")  # names of numeric columns without ratings
NO_RATING = "its name does not suggest a rating (if it is one, name every rating with --columns rating=COLUMN)"
CONSTANT = "the same vote in every row"
TEXT = "text without a role"
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
    table = _Table(sheet, scales, qualities or {}, stated_columns(sheet, stated))
    table.find_votes()
    table.find_texts()
    table.check()
    left_out = {name: reason if reason == NO_RATING else reason + misspelled(name, table.roles, of_card=table.of_card)
                for name, reason in table.ignored.items() if name not in table.roles.values()}
    context = next((name for name in stated if name != "context" and role_of(name) == "context"), "")
    single = usual_name(context or table.roles.get("context", "")) in NAMED["single"]
    return Recognised(table.roles, tuple(table.votes), single, table.of_card, table.metrics,
                      table.left_out | left_out, tuple(table.remarks))


class _Table:
    """A table while its columns are recognised; columns in `ignored` may still turn out to be texts."""

    def __init__(self, sheet: Sheet, scales: Sequence[tuple[str, ...]], qualities: Mapping[str, StatedQuality],
                 stated: Mapping[str, tuple[str, ...]]) -> None:
        self.file, self.columns, self.scales, self.qualities = sheet.file, sheet.columns, scales, qualities
        self.of_card = bool(qualities)
        self.card_columns = {column for quality in qualities.values() for column in quality.columns}
        self.stated_ratings = stated.get("rating", ())
        self.metrics = metrics_of(sheet.file, stated.get("metric", ()))
        self.stated_roles = {role: columns for role, columns in stated.items()
                             if role != "metric" and (role != "rating" or len(columns) == 1)}
        self.profiles = {name: Profile() for name in sheet.columns}
        for _, row in sheet.rows():
            for profile, cell in zip(self.profiles.values(), row, strict=True):
                profile.add(cell)
        named = {*self.card_columns, *self.metrics.values()}
        self.roles, self.left_out = roles_of([name for name in sheet.columns if name not in named], self.profiles,
                                             self.stated_roles)
        self.votes: list[Votes] = []
        self.ignored: dict[str, str] = {}
        self.remarks: list[str] = []

    def find_votes(self) -> None:
        """Find the columns of votes, and the reasons for ignoring the other columns without a role."""
        is_long = {"quality", "rating"} <= self.roles.keys() and not self.card_columns & self.profiles.keys()
        certain = set(self.stated_ratings)
        if not is_long:  # then `quality` and `rating` are ordinary columns
            certain |= {self.roles.pop(role) for role in ("quality", "rating") if role in self.roles}
        used = {*self.roles.values(), *self.left_out, *self.card_columns, *self.metrics.values()}
        free = [name for name in self.columns if name not in used
                and (self.profiles[name].filled or name in self.stated_ratings)]
        if self.of_card:
            self.ignored = dict.fromkeys(free, "not named in the card")
            self.votes = self._votes_of_long_table() if is_long else list(self._votes_of_card())
            return
        self.votes = self._votes_by_content(free, certain)
        if is_long:
            self.left_out |= {vote.column: f"the rating is in {self.roles['rating']!r}" for vote in self.votes}
            self.votes = self._votes_of_long_table()
        elif len(self.stated_ratings) > 1:
            self.ignored |= {vote.column: "not stated as a rating" for vote in self.votes
                             if vote.column not in self.stated_ratings}
            self.votes = [vote for vote in self.votes if vote.column in self.stated_ratings]

    def _votes_of_long_table(self) -> list[Votes]:
        column, qualities = self.roles["rating"], self.qualities
        quality_names, values = self.profiles[self.roles["quality"]].values, self.profiles[column].values
        if qualities and (unknown := next((name for name in quality_names if name not in qualities), None)):
            raise self._bad(self.roles["quality"], f"{unknown!r:.60} is not a quality of the card; "
                                                   f"{nearest(unknown, qualities)}")
        if (scale := scale_of(values, self.scales)) is None and not qualities:
            examples = ", ".join(repr(value)[:30] for value in list(values)[:3])
            raise self._bad(column, f"holds no ratings ({examples}, ...)")
        return [Votes(column, quality, qualities[quality].scale.or_labels(scale) if qualities else scale or Scale())
                for quality in qualities or quality_names]

    def _votes_of_card(self) -> Iterator[Votes]:
        """Yield the columns of votes that a card states; a quality without stated columns may have no votes."""
        parsed, annotator = parsed_names(self.card_columns), self.roles.get("annotator", "")
        for quality, stated in self.qualities.items():
            columns = [column for column in stated.columns if column in self.profiles or stated.columns != (quality,)]
            if missing := next((column for column in columns if column not in self.profiles), None):
                raise self._bad(missing, f"is missing, but the card states it for {quality!r}; "
                                         f"{nearest(missing, self.profiles)}")
            if annotator and len(columns) > 1:
                raise self._bad(annotator, f"names raters, as do the columns of {quality!r} in the card; to omit it: "
                                           + statement("ignore", annotator, of_card=True))
            raters = [rater if (certain and not annotator) or (rater and len(columns) > 1) else ""
                      for _, rater, certain in map(parsed.__getitem__, columns)]
            if len(columns) > 1:
                raters = [rater or FIRST_RATER for rater in raters]
                raters = raters if len(set(raters)) == len(columns) else columns
            for column, rater in zip(columns, raters, strict=True):
                yield Votes(column, quality, stated.scale.or_labels(scale_of(self.profiles[column].values)), rater)

    def _votes_by_content(self, names: Iterable[str], certain: Collection[str]) -> list[Votes]:
        """Return the columns that hold votes; those in `certain` need not have the name of a rating, or few values.

        Stated ratings are taken to hold votes; Scale.vote later reports their other cells with the line.
        """
        scales: dict[str, Scale] = {}
        for name in names:
            profile = self.profiles[name]
            scale = scale_of(profile.values, self.scales) or (Scale() if name in self.stated_ratings else None)
            if scale is None:
                self.ignored[name] = _without_scale(name, profile)
            elif name not in certain and _is_not_rating(name):
                self.ignored[name] = NO_RATING
            elif name not in certain and len(profile.values) > MAX_DISTINCT:
                self.ignored[name] = f"more than {MAX_DISTINCT} distinct values"
            else:
                scales[name] = scale
        votes = list(_votes_by_column(scales))
        annotator = self.roles.get("annotator", "")
        if annotator and (of_raters := [vote.column for vote in votes if vote.rater]):
            votes = [replace(vote, quality=_quality_part(vote.column), rater="") if vote.rater else vote
                     for vote in votes]
            self.remarks.append(f"{annotator!r} names the raters, so each of {listed(of_raters)} is a quality "
                                f"(--columns ignore={annotator} makes them raters)")
        values: defaultdict[str, set[str]] = defaultdict(set)
        for vote in votes:
            values[vote.quality] |= set(map(label, self.profiles[vote.column].values)) - MISSING
        self.ignored |= {vote.column: CONSTANT for vote in votes if len(values[vote.quality]) < 2
                         and vote.column not in certain and normal_name(vote.quality) not in DIMENSIONS}
        return [vote for vote in votes if vote.column not in self.ignored]

    def find_texts(self) -> None:
        """Without a usual name, take the last column of long texts as the response, and the one before as the context.

        Raise BadRecord for columns of objects, which hold texts or votes in another form, and for pairs of responses.
        """
        answers = [name for name in self.ignored if ANSWERS.search(normal_name(name)) and not self.of_card]
        check_objects(self.file, self.profiles, [*self.stated_ratings, *answers], [
            self.roles[role] for role in TEXT_ROLES if role in self.roles.keys() - self.stated_roles.keys()])
        check_pairs(self.file, {} if "response" in self.roles or "dialogue" in self.stated_roles else self.ignored)
        if {"response", "dialogue"} & self.roles.keys():
            return
        texts = [name for name in self.columns if self.ignored.get(name) == TEXT
                 and self.profiles[name].length / self.profiles[name].filled >= MIN_TEXT_LENGTH
                 and (self.profiles[name].objects & MESSAGE_FIELDS or not self.profiles[name].objects)]
        if not texts:
            setting = statement("response", "COLUMN", of_card=self.of_card)
            raise self._bad("", f"no column holds responses or dialogues; the columns are {listed(self.columns)}. "
                                f"Name one with {setting}")
        self.roles["response"] = texts[-1]
        if "context" not in self.roles and len(texts) > 1:
            self.roles["context"] = texts[-2]
        self.remarks.append(f"no column has a usual name for the response; {texts[-1]!r} is used, the last column of "
                            "long texts")

    def check(self) -> None:
        """Raise BadRecord if the table has no votes, or if a scale of the user is not used."""
        if not (self.votes or self.of_card):
            labels = "".join(f"; {name!r} holds {reason}" for name, reason in self.ignored.items()
                             if "--scale" in reason or CONSTANT in reason)
            raise self._bad("", f"no column holds ratings; the columns are {listed(self.columns)}{labels}. Name one "
                                "with --columns rating=COLUMN")
        used_labels = {vote.scale.labels for vote in self.votes}
        if unused := next((scale for scale in self.scales if scale not in used_labels), None):
            raise self._bad("", f"no column of ratings has the labels of --scale \"{' < '.join(unused)}\"; correct or "
                                "omit it")

    def _bad(self, column: str, problem: str) -> BadRecord:
        return BadRecord(self.file, None, column, problem)


def _without_scale(name: str, profile: Profile) -> str:
    """Return the reason why a column without a known scale is ignored: labels in an unknown order, or text."""
    has_labels = (1 < len(profile.values) <= min(MAX_LABELS, profile.filled / 2) and not _is_not_rating(name)
                  and all(len(value) <= MAX_LABEL for value in profile.values))
    if not has_labels:
        return TEXT
    labels = " < ".join(sorted(value for value in profile.values if value.casefold() not in MISSING))
    return f'labels of an unknown order; state it, lowest first, for example --scale "{labels}"'


def _is_not_rating(name: str) -> bool:
    """Return True if a name does not suggest a rating: `turn`, `What is your age?`, not `Is the last turn natural?`."""
    asks = "?" in name and not re.search(r"\byour?\b", normal_name(name))
    return bool(NON_RATING_NAME.search(normal_name(name))) and not asks


def _quality_part(column: str) -> str:
    """Return the part of `ratings.fun` that names the quality."""
    quality = column.rpartition(".")[2]
    return quality if quality and not quality.isdigit() else column


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
