"""The names of columns: their words, their usual roles, and the quality and rater in the name of a rating column."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from benchmarks.tables.votes import NAMED

ROLE_NAMES: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in NAMED["roles"].items()}
"""Usual column names for each role, the most specific first."""
DIMENSIONS: dict[str, str] = {name: dimension for dimension, names in NAMED["qualities"].items() for name in names}
"""The dimension of each usual name of a quality, "" for none."""
COMMON_WORDS = frozenset(" ".join((*DIMENSIONS, *(name for names in ROLE_NAMES.values() for name in names))).split())
"""Words that do not name a rater."""
ColumnName: TypeAlias = tuple[str, str, bool]
"""Quality, rater, and True if the name mentions the rater."""


def spelled(column: str) -> str:
    return " ".join(words(column))


def words(column: str) -> list[str]:
    """Return the lower-case words of a name; `HITId`, `hit_id` and `hit.id` have the same words."""
    return re.sub(r"[_.:-]", " ", re.sub(r"(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", " ", column).casefold()).split()


def dimensions(qualities: Sequence[str], dataset: str) -> list[str]:
    """Return the dimensions of a user's qualities; a common dimension goes to the first quality with such a name."""
    common = [DIMENSIONS.get(spelled(quality), "") for quality in qualities]
    return [f"{quality} of {dataset}" if dimension in ("", *common[:index]) else dimension
            for index, (quality, dimension) in enumerate(zip(qualities, common, strict=True))]


def parsed_names(columns: Iterable[str]) -> dict[str, ColumnName]:
    """Return the quality and rater of each column of votes by its name, and True if the name mentions the rater."""
    parsed = {column: _quality_and_rater(column) for column in columns}
    columns_of = Counter(quality for quality, _, _ in parsed.values())
    names = Counter(rater for _, rater, _ in parsed.values())
    parsed |= {column: _quality_and_rater(column, longest=True) for column, (quality, rater, certain) in parsed.items()
               if certain and columns_of[quality] == names[rater] == 1}  # rater_anna_smith
    return parsed | _unmarked([column for column, (_, rater, _) in parsed.items() if not rater], len(parsed))


def _unmarked(columns: Sequence[str], total: int) -> dict[str, ColumnName]:
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
        raters = {quality for quality, known in names.items()
                  if len(known) > 1 and (same_names[frozenset(known)] > 1 or len(known) == total)}
        if raters:
            return {column: (quality, name, True) for column, (quality, name) in split.items() if quality in raters}
    return {}


def _quality_and_rater(column: str, *, longest: bool = False) -> ColumnName:
    """Split a name into quality and rater; the third value is True if the name mentions a rater explicitly.

    With `longest`, all words after that mention are the rater's name, unless the last one names a quality.
    """
    if matched := re.fullmatch(r"(.+?)\s*[(\[](.+)[)\]]", column):
        return matched[1], matched[2], False
    parts = words(column)
    for position, word in enumerate(parts):
        if (stem := re.fullmatch(r"([a-z]+?)(\d*)", word)) and stem[1] in NAMED["raters"]:
            rest = parts[position + 1:]
            if rest and rest[0] in DIMENSIONS and not stem[2]:
                break
            if longest and len(rest) > 1 and rest[-1] not in DIMENSIONS and not stem[2]:
                rest = [" ".join(rest)]
            rater, rest = (stem[2], rest) if stem[2] else (rest[0] if rest else "", rest[1:])
            return " ".join((*parts[:position], *rest)) or "rating", rater, bool(rater)
    if len(parts) > 1 and re.fullmatch(r"[a-z]?\d+", parts[-1]):
        return " ".join(parts[:-1]), parts[-1], False
    return column, "", False
