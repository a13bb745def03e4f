"""One-hot choice columns of a table, such as Mechanical Turk's radio buttons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.tables.sheet import Sheet
from benchmarks.tables.votes import MISSING, STRAY, label

NUMBERED = re.compile(r"(.*[^\W\d_])[\W_]+(\d+)")
"""A name and number, such as `Answer.fluency.1`."""


def joined_choices(sheet: Sheet, kept: Iterable[str]) -> Sheet:
    """Join one-hot columns such as `fluency.1` to `fluency.5` into one column with the number of the chosen one.

    The chosen column holds true or its own number. At most `STRAY` of the rows may choose none. Columns in `kept` are
    not joined.
    """
    groups: dict[str, dict[int, str]] = {}
    for index, name in enumerate(sheet.columns):
        if (matched := NUMBERED.fullmatch(name)) and name not in kept and matched[1] not in sheet.columns:
            groups.setdefault(matched[1], {})[index] = matched[2]
    groups = {name: numbers for name, numbers in groups.items() if len(numbers) > 1}
    counts: Counter[tuple[str, bool]] = Counter()
    for _, row in sheet.rows() if groups else ():
        choices = {name: _choice(row, numbers) for name, numbers in groups.items()}
        counts.update((name, bool(choice)) for name, choice in choices.items())
        if not (groups := {name: numbers for name, numbers in groups.items() if choices[name] is not None}):
            break
    joined = {min(numbers): name for name, numbers in groups.items()
              if counts[name, False] <= STRAY * (counts[name, False] + counts[name, True])}
    indices = [index for index in range(len(sheet.columns))
            if index in joined or not any(index in groups[name] for name in joined.values())]
    return sheet if not joined else replace(
        sheet, columns=tuple(joined.get(index, sheet.columns[index]) for index in indices),
        rows=lambda: ((number, [_choice(row, groups[joined[index]]) if index in joined else row[index]
                                for index in indices]) for number, row in sheet.rows()),
        remarks=(*sheet.remarks, *(f"the columns {name} 1, 2, ... are choices; {name!r} is the number of the "
                                    "chosen one" for name in joined.values())))


def _choice(row: Sequence[Any], numbers: Mapping[int, str]) -> str | None:
    """Return the number of the chosen column, "" if none is chosen, or None if the cells are not a single choice."""
    cells = {number: label("" if row[index] is None else row[index]) for index, number in numbers.items()}
    chosen = [number for number, cell in cells.items() if cell in ("true", number)]
    unchosen = [cell for cell in cells.values() if cell == "false" or cell in MISSING]
    return "".join(chosen) if len(chosen) < 2 and len(chosen) + len(unchosen) == len(cells) else None
