"""The columns of a table by name and content: their roles, and the quality and rater in the name of a rating column."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchmarks.errors import BadRecord, nearest
from benchmarks.tables.cells import NAMED, elements, fields, scale_of
from benchmarks.tables.sheet import Sheet

ROLE_NAMES: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in NAMED["roles"].items()}
"""Usual column names for each role, the most specific first."""
DIMENSIONS: dict[str, str] = {name: dimension for dimension, names in NAMED["qualities"].items() for name in names}
"""The dimension of each usual name of a quality, "" for none."""
COMMON_WORDS = frozenset(" ".join(itertools.chain(DIMENSIONS, *ROLE_NAMES.values())).split())  # never a rater's name
ColumnName: TypeAlias = tuple[str, str, bool]  # quality, rater, and True if the name mentions the rater
ANSWERS = re.compile(rf"\b({'|'.join(NAMED['answers'])})\b")  # names of columns or objects in which raters answer
TEXT_ROLES = ("response", "context", "dialogue", "reference", "fact")
MESSAGE_FIELDS = frozenset(("content", "role", "text", "value"))  # fields of a message or passage
STATED_ROLES = ("ignore", "metric")  # roles that only the user gives: left out, scores of a metric
STATED = "as stated"  # reason for leaving out a column that the user told to ignore
MAX_DISTINCT = 101  # maximum number of distinct values in a rating column: 0 to 100
MAX_LABEL = 40  # maximum characters of a label
MAX_LISTED = 12  # maximum number of names in a line of a report or message


def normal_name(column: str) -> str:
    return " ".join(words(column))


def words(column: str) -> list[str]:
    """Return the lower-case words of a name; `HITId`, `hit_id` and `hit.id` have the same words."""
    return re.sub(r"[_.:-]", " ", re.sub(r"(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", " ", column).casefold()).split()


def dimensions(qualities: Sequence[str], dataset: str) -> list[str]:
    """Return the dimensions of a user's qualities; a common dimension goes to the first quality with such a name."""
    common = [DIMENSIONS.get(normal_name(quality), "") for quality in qualities]
    return [f"{quality} of {dataset}" if dimension in ("", *common[:index]) else dimension
            for index, (quality, dimension) in enumerate(zip(qualities, common, strict=True))]


def parsed_names(columns: Iterable[str]) -> dict[str, ColumnName]:
    """Return the quality and rater in the name of each column of votes, and True if the name mentions the rater."""
    parsed = {column: _quality_and_rater(column) for column in columns}
    columns_of = Counter(quality for quality, _, _ in parsed.values())
    names = Counter(rater for _, rater, _ in parsed.values())
    parsed |= {column: _quality_and_rater(column, longest=True) for column, (quality, rater, certain) in parsed.items()
               if certain and columns_of[quality] == names[rater] == 1}  # such as rater_anna_smith
    without_rater = [column for column, (_, rater, _) in parsed.items() if not rater]
    return parsed | _raters_without_marker(without_rater, len(parsed))


def _raters_without_marker(columns: Sequence[str], total: int) -> dict[str, ColumnName]:
    """Return quality and rater of columns such as `fluency_anna` and `fluency_ben`, without a word such as rater.

    Several names next to a usual quality are raters if another quality has the same names, or if the table has no other
    columns of votes. Thus `relevance_topic` and `relevance_persona` remain qualities.
    """
    for order in (1, -1):
        split, names = {}, defaultdict(set)
        for column, (quality, *name) in ((column, words(column)[::order] or [""]) for column in columns):
            if name and quality in DIMENSIONS and not COMMON_WORDS.intersection(name):
                split[column] = quality, " ".join(name[::order])
                names[quality].add(split[column][1])
        same_names = Counter(map(frozenset, names.values()))
        raters = {quality for quality, rater_names in names.items()
                  if len(rater_names) > 1 and (same_names[frozenset(rater_names)] > 1 or len(rater_names) == total)}
        if raters:
            return {column: (quality, name, True) for column, (quality, name) in split.items() if quality in raters}
    return {}


def _quality_and_rater(column: str, *, longest: bool = False) -> ColumnName:
    """Split a name into quality and rater; the third value is True if the name mentions a rater explicitly.

    With `longest`, all words after that mention are the rater's name, unless the last one names a quality.
    """
    if matched := re.fullmatch(r"(.+?)\s*[(\[](.+)[)\]]", column):
        return matched[1], matched[2], False
    name_words = words(column)
    for position, word in enumerate(name_words):
        if (stem := re.fullmatch(r"([a-z]+?)(\d*)", word)) and stem[1] in NAMED["raters"]:
            following = name_words[position + 1:]
            if following and following[0] in DIMENSIONS and not stem[2]:
                break
            if longest and len(following) > 1 and following[-1] not in DIMENSIONS and not stem[2]:
                following = [" ".join(following)]
            rater, following = (stem[2], following) if stem[2] else (following[0] if following else "", following[1:])
            return " ".join((*name_words[:position], *following)) or "rating", rater, bool(rater)
    if len(name_words) > 1 and re.fullmatch(r"[a-z]?\d+", name_words[-1]):
        return " ".join(name_words[:-1]), name_words[-1], False
    return column, "", False


@dataclass(slots=True)
class Profile:
    """Statistics of the cells of a column that are not empty."""

    values: Counter[str] = field(default_factory=Counter)  # at most MAX_DISTINCT + 1 distinct values
    filled: int = 0
    length: int = 0  # characters of all cells
    turns: int = 0  # cells that are lists
    fields: set[str] = field(default_factory=set)  # of values that are objects
    non_objects: int = 0  # values that are not objects

    @property
    def objects(self) -> set[str]:  # the fields, if all values are objects
        return set() if self.non_objects else self.fields

    def add(self, cell: Any) -> None:
        """Add a cell; if it lists several votes, count each."""
        if cell is None or not str(cell).strip():
            return
        self.filled += 1
        self.length += len(str(cell))
        self.turns += isinstance(cell, list)
        for value in elements(cell):
            self.fields.update(value_fields := fields(value))
            self.non_objects += not value_fields
            text = str(value).strip()
            if len(self.values) <= MAX_DISTINCT or text in self.values:
                self.values[text] += 1


def stated_columns(sheet: Sheet, stated: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the columns that the user stated for each role; raise BadRecord for unknown roles and columns."""
    columns: dict[str, tuple[str, ...]] = {}
    for name, text in stated.items():
        if (role := role_of(name)) is None:
            suggestion = nearest(name, (*ROLE_NAMES, *STATED_ROLES))
            raise BadRecord(sheet.file, None, "", f"columns: {name!r} is not a role; {suggestion}")
        columns[role] = (*columns.get(role, ()), *([text] if text in sheet.columns else text.split("+")))
        if len(columns[role]) > 1 and role not in ("rating", *STATED_ROLES):
            raise BadRecord(sheet.file, None, "", f"columns: {role} should be one column, not {len(columns[role])}")
        if unknown := next((column for column in columns[role] if column not in sheet.columns), None):
            raise BadRecord(sheet.file, None, "", f"has no column {unknown!r}; {nearest(unknown, sheet.columns)}")
    return columns


def metrics_of(file: str, columns: Iterable[str]) -> dict[str, str]:
    """Return columns of scores by the names of their metrics."""
    metrics: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^a-z0-9_]+", "-", column.casefold()).strip("-")
        if not name or metrics.setdefault(name, column) != column:
            problem = f"another column gives a metric {name!r}" if name else "has no Latin letters or digits"
            raise BadRecord(file, None, column, f"{problem}; rename the column")
    return metrics


def misspelled(column: str, roles: Collection[str], *, of_card: bool) -> str:
    """Suggest a role that no column has, if the column's name is almost a usual name for it."""
    names = {name: role for role, usual in ROLE_NAMES.items() if role not in roles for name in usual}
    text = normal_name(column)
    similar = [] if text.endswith(" id") or text in names else difflib.get_close_matches(text, names, n=1, cutoff=0.85)
    return (f" (a misspelt {similar[0]!r}? rename it, or add {statement(names[similar[0]], column, of_card=of_card)})"
            if similar else "")


def statement(role: str, column: str, *, of_card: bool) -> str:
    """Return what the user adds to the command, or to the card, to state the role of a column."""
    return f'columns = {{{role} = "{column}"}}' if of_card else f"--columns {role}={column}"


def role_of(name: str) -> str | None:
    """Return the role of that name, or the role for which it is a usual column name."""
    return name if name in (*ROLE_NAMES, *STATED_ROLES) else next(
        (role for role, names in ROLE_NAMES.items() if normal_name(name) in names), None)


def usual_name(column: str) -> str:
    """Return the name by which a column's role is looked up.

    `Input.response` is a `response`, `gold.answer` is `gold`, `What is your worker ID?` a `worker id`; an object of
    answers has no roles.
    """
    full_name, (prefix, _, last_part) = normal_name(column), column.rpartition(".")
    end = " ".join(full_name.rstrip(" ?:").split()[-2:])
    if end in ROLE_NAMES["annotator"]:
        return end
    answers = ANSWERS.search(normal_name(prefix)) or role_of(normal_name(last_part)) in ("quality", "rating")
    if not prefix or answers or role_of(full_name):
        return full_name
    return normal_name(prefix if normal_name(prefix) in ROLE_NAMES["reference"] else last_part)


def roles_of(columns: Sequence[str], profiles: Mapping[str, Profile], stated: Mapping[str, tuple[str, ...]],
           ) -> tuple[dict[str, str], dict[str, str]]:
    """Return the column of each role, and the ignored columns whose names match a role that another column has."""
    ignored = stated.get("ignore", ())
    roles = {role: column for role, (column, *_) in stated.items() if role != "ignore"}
    left_out = {name: STATED for name in columns if name in ignored}
    spelling = {column: usual_name(column) for column in columns}
    for role, names in ROLE_NAMES.items():
        candidates = sorted((column for column in columns if spelling[column] in names and profiles[column].filled
                             and column not in (*roles.values(), *ignored)),
                            key=lambda column: (spelling[column] != normal_name(column), names.index(spelling[column])))
        candidates = [column for column in candidates if _fits(role, spelling[column], profiles[column])]
        if candidates and role not in roles:
            roles[role] = candidates[0]
            left_out |= {column: f"{roles[role]!r} is used as {role}" for column in candidates[1:]
                         if role not in ("rating", "context", "dialogue")}
    if {"response", "dialogue"} <= roles.keys():
        if "context" in roles:
            left_out[roles.pop("dialogue")] = f"{roles['context']!r} is used as context"
        else:
            roles["context"] = roles.pop("dialogue")
    if "response" not in roles and "dialogue" not in roles and "context" in roles and profiles[roles["context"]].turns:
        roles["dialogue"] = roles.pop("context")  # messages without a response form a whole dialogue
    return roles, left_out


def _fits(role: str, name: str, profile: Profile) -> bool:
    """Return False for a column named like a text that holds votes, such as `answer` with values 1 to 5.

    A column `user` of single words that recur names raters; otherwise it holds messages.
    """
    if name in ROLE_NAMES["context"] and name in ROLE_NAMES["annotator"]:
        one_word = not any(re.search(r"\s", value) for value in profile.values)
        return (one_word and len(profile.values) < profile.filled) == (role == "annotator")
    if role in TEXT_ROLES:
        return scale_of(profile.values) is None or profile.length / profile.filled > MAX_LABEL
    return role != "quality" or len(profile.values) <= MAX_DISTINCT


def check_objects(file: str, profiles: Mapping[str, Profile], votes: Iterable[str],
                  texts: Collection[str]) -> None:
    """Raise BadRecord for columns in which all cells are objects or lists of objects, except for messages."""
    remedies = dict.fromkeys(texts, "the text in a column of its own")
    remedies |= dict.fromkeys(votes, "a row per vote, with a column for the rater and one per quality (in Label "
                                     "Studio: JSON-MIN or CSV)")
    for name, remedy in remedies.items():
        if (keys := profiles[name].objects) and not (name in texts and keys & MESSAGE_FIELDS):
            raise BadRecord(file, None, name, f"holds objects ({listed(sorted(keys))}); write {remedy}, or leave the "
                                              "column out with --columns ignore=COLUMN")


def check_pairs(file: str, texts: Iterable[str]) -> None:
    """Raise BadRecord if there are two responses in a row, such as `response_a` and `response_b`."""
    pair = [name for name in texts if (matched := re.fullmatch("(chosen|rejected)|(.+) [ab12]", normal_name(name)))
            and (matched[1] or role_of(matched[2]) in ("response", "dialogue"))]
    if len(pair) > 1:
        raise BadRecord(file, None, "", f"holds several responses in a row ({listed(pair)}); write a row per response, "
                                        "with its rating, or name the only rated one with --columns response=COLUMN")


def listed(names: Sequence[str]) -> str:
    """Join names; of a long list, only the first, with the number of the others."""
    return ", ".join(names[:MAX_LISTED]) + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
