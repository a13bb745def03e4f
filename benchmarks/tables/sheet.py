"""A table in a file: its columns, and its rows below the header, which can be read repeatedly.

Title rows above the header and blank lines are skipped; a header of two lines, from merged cells, becomes names such as
`fluency (Anna)`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.errors import BadRecord
from benchmarks.formats import official
from benchmarks.tables.cells import MAX_NON_NUMERIC, MISSING, label
from benchmarks.tables.rows import HEAD_ROWS, OpenRows, Row, cell_text, json_objects, parquet, text_table, workbook

ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
MAX_LABEL_LENGTH = 40  # maximum characters of a name in a second header line
CODES_START = '{"ImportId"'  # beginning of the line of codes that Qualtrics writes below the header
MAX_PROBLEMS = 10  # maximum number of problems in a message
NUMBERED = re.compile(r"(.*[^\W\d_])[\W_]+(\d+)")  # a name and number, such as `Answer.fluency.1`


@dataclass(frozen=True, slots=True)
class Sheet:
    """Column names, and a function that reads the rows, which have the numbers of their lines if `numbered_by_line`."""

    file: str
    columns: tuple[str, ...]
    rows: OpenRows
    remarks: tuple[str, ...] = ()
    numbered_by_line: bool = True

    def where(self, number: int) -> str:
        return f"{self.file}, {'line' if self.numbered_by_line else 'row'} {number}"


def read(path: Path) -> Sheet:
    """Open a table; raise BadRecord if the file does not contain a table."""
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix.casefold() != ".gz"), "").casefold()
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic[:2] == b"\xd0\xcf":
        raise BadRecord(path.name, None, "", "is an old Excel workbook (.xls); save it as .xlsx or .csv")
    kind = {b"PK\3\4": ".xlsx", b"PAR1": ".parquet"}.get(magic, kind)
    if kind in (".json", ".jsonl", ".ndjson"):
        return of_objects(path.name, lambda: json_objects(path, kind != ".json"))
    if kind == ".parquet":
        return of_objects(path.name, lambda: parquet(path))
    if kind == ".xlsx":
        rows = workbook(path)
        return _with_header(path.name, lambda: iter(rows), [], numbered_by_line=False)
    return _with_header(path.name, *text_table(path), numbered_by_line=True)


def of_objects(file: str, objects: Callable[[], Iterable[Any]]) -> Sheet:
    """Return a table for a list of objects; nested objects become columns such as `ratings.overall`."""
    columns = tuple(dict.fromkeys(name for row in _flat(file, objects()) for name in row))
    if not columns:
        raise BadRecord(file, None, "", "holds no rows")
    return Sheet(file, columns, lambda: (
        (number, [row.get(name) for name in columns]) for number, row in enumerate(_flat(file, objects()), 1)),
                 numbered_by_line=False)


def _flat(file: str, objects: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(objects, 1):
        if not isinstance(row, dict):
            raise BadRecord(f"{file}, row {number}", None, "", f"should be an object, not {type(row).__name__}")
        flat: dict[str, Any] = {}
        for name, value in row.items():
            if isinstance(value, dict) and not {"text", "content"} & value.keys():
                flat |= {f"{name}.{key}": inner for key, inner in value.items()}
            else:  # pandas writes a missing value as NaN
                flat[str(name)] = None if isinstance(value, float) and math.isnan(value) else value
        yield flat


def _with_header(file: str, rows: OpenRows, remarks: Sequence[str], *, numbered_by_line: bool) -> Sheet:
    header_line, columns, header_remarks = _header(file, list(itertools.islice(rows(), HEAD_ROWS)))
    if len(columns) < 2:
        raise BadRecord(file, None, "", f"has only one column, {columns[0] if columns else ''!r}; expected a column of "
                                        "responses and a column of ratings")

    def body() -> Iterator[Row]:
        problems: list[str] = []
        for number, row in rows():
            if number > header_line and any(map(cell_text, row)):
                if any(map(cell_text, row[len(columns):])):
                    problems.append(f"line {number} has {len(row)} cells")
                    if len(problems) == MAX_PROBLEMS:
                        break
                    continue
                yield number, [*row[:len(columns)], *[None] * (len(columns) - len(row))]
        if problems:
            raise BadRecord(file, None, "", f"{'; '.join(problems)}; the header has {len(columns)}. A cell with the "
                                            "separator or a line break must be quoted")

    return Sheet(file, columns, body, (*remarks, *header_remarks), numbered_by_line)


def _header(file: str, head: Sequence[Row]) -> tuple[int, tuple[str, ...], list[str]]:
    filled = [(number, [cell_text(cell) for cell in row]) for number, row in head if any(map(cell_text, row))]
    if not filled:
        raise BadRecord(file, None, "", "holds no rows")
    width = Counter(sum(map(bool, row)) for _, row in filled).most_common(1)[0][0]
    start = next((index for index, (_, row) in enumerate(filled) if sum(map(bool, row)) >= max(2, width / 2)), 0)
    codes_row = next((index for index, (_, row) in enumerate(filled) if row[0].startswith(CODES_START)), 0)
    start = codes_row - 1 if codes_row else start
    line, names = filled[start]
    remarks = [f"line {number} is above the header and was skipped" for number, _ in filled[:start]]
    line = filled[codes_row][0] if codes_row else line
    body_rows = [row for _, row in filled[max(start, codes_row) + 1:]]
    if _is_second_header(names, body_rows):
        line, names = filled[start + 1][0], _merged(names, body_rows[0])
        remarks.append("the header has two lines")
    while names and not names[-1] and all(len(row) < len(names) or not row[len(names) - 1] for row in body_rows):
        names = names[:-1]
    remarks += [f"{name!r} is the name of {count} columns, which are numbered from the left"
                for name, count in Counter(filter(None, names)).items() if count > 1]
    return line, _distinct(names), remarks


def _is_second_header(names: Sequence[str], body_rows: Sequence[Sequence[str]]) -> bool:
    if len(body_rows) < 2 or (all(names) and len(set(names)) == len(names)):
        return False
    labels = [cell for cell in body_rows[0] if cell]
    labelled = [cell for label, cell in zip(body_rows[0], body_rows[1], strict=False) if label]
    return (len(labels) >= 2 and any(map(_is_number, labelled))
            and all(len(cell) <= MAX_LABEL_LENGTH and not _is_number(cell) for cell in labels))


def _is_number(text: str) -> bool:
    return official.parsed_number(text.replace(",", ".")) is not None


def _merged(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """Join two header lines; an empty cell of the first takes the name to its left."""
    names, left = [], ""
    for top, name in itertools.zip_longest(above, below, fillvalue=""):
        left = top or (left if name else "")
        names.append(f"{left} ({name})" if left and name not in ("", left) else left or name)
    return names


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    full_names = [" ".join(name.split()) or f"column {number}" for number, name in enumerate(names, 1)]
    counts = Counter(full_names)
    return tuple(f"{name} {full_names[:index + 1].count(name)}" if counts[name] > 1 else name
                 for index, name in enumerate(full_names))


def joined_choices(sheet: Sheet, unjoined: Iterable[str]) -> Sheet:
    """Join one-hot columns such as `fluency.1` to `fluency.5` into one column with the number of the chosen column.

    Mechanical Turk writes radio buttons in this way. The chosen column holds true or its own number. At most a share of
    MAX_NON_NUMERIC of the rows may choose none. Columns in `unjoined` are left as they are.
    """
    groups: dict[str, dict[int, str]] = {}
    for index, name in enumerate(sheet.columns):
        if (matched := NUMBERED.fullmatch(name)) and name not in unjoined and matched[1] not in sheet.columns:
            groups.setdefault(matched[1], {})[index] = matched[2]
    groups = {name: numbers for name, numbers in groups.items() if len(numbers) > 1}
    counts: Counter[tuple[str, bool]] = Counter()
    for _, row in sheet.rows() if groups else ():
        choices = {name: _choice(row, numbers) for name, numbers in groups.items()}
        counts.update((name, bool(choice)) for name, choice in choices.items())
        if not (groups := {name: numbers for name, numbers in groups.items() if choices[name] is not None}):
            break
    joined_names = {min(numbers): name for name, numbers in groups.items()
                    if counts[name, False] <= MAX_NON_NUMERIC * (counts[name, False] + counts[name, True])}
    indices = [index for index in range(len(sheet.columns))
               if index in joined_names or not any(index in groups[name] for name in joined_names.values())]
    return sheet if not joined_names else replace(
        sheet, columns=tuple(joined_names.get(index, sheet.columns[index]) for index in indices),
        rows=lambda: ((number, [_choice(row, groups[joined_names[index]]) if index in joined_names else row[index]
                                for index in indices]) for number, row in sheet.rows()),
        remarks=(*sheet.remarks, *(f"the columns {name} 1, 2, ... are choices; {name!r} is the number of the "
                                   "chosen one" for name in joined_names.values())))


def _choice(row: Sequence[Any], numbers: Mapping[int, str]) -> str | None:
    """Return the number of the chosen column, "" if none is chosen, or None if the cells are not a single choice."""
    cells = {number: label("" if row[index] is None else row[index]) for index, number in numbers.items()}
    chosen_numbers = [number for number, cell in cells.items() if cell in ("true", number)]
    unchosen = [cell for cell in cells.values() if cell == "false" or cell in MISSING]
    is_choice = len(chosen_numbers) < 2 and len(chosen_numbers) + len(unchosen) == len(cells)
    return "".join(chosen_numbers) if is_choice else None
