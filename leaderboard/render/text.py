"""Results as plain text for a terminal: answers, the overall boards, then skipped and failed pairs by reason.

If known, the averages are followed by the letters (`Group`; columns that share a letter do not differ significantly)
and the seconds per 1,000 items.
"""

from __future__ import annotations

import math
import shutil
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.results.rows import Results, Skip
from harness.statistics import statistic_title
from leaderboard.blocks.boards import average_cells, averages, board_table, cost_cell, dataset_board, letters
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model import sentences, titles
from leaderboard.model.boards import Board, overall_boards, parts, why_no_board
from leaderboard.model.cost import cost_of
from leaderboard.model.index import Index, by_reason, drop_sample, make_index, plural, without_value
from leaderboard.model.questions import default_question, questions
from leaderboard.render.templates import BANNER

WIDTH, MIN_WIDTH = 110, 60
"""Maximum and minimum width of a line, which otherwise fills the terminal."""
ROWS, STATISTICS = 20, 3
"""Maximum number of rows per table, and number of statistics that fit on a line."""
SHORT_HEADINGS = {"dev": "by dataset", "test": "by quality"}
"""Short headings of the averages."""
SAMPLE_HIDDEN = ("Not shown: {} of the bundled sample, which is never shown beside real data or your own; "
                 "`harness run --all --data sample --out DIR` shows it by itself.")
MAX_LETTERS, MIN_NAME_WIDTH, INDENT = 12, 24, 4
"""Letters shown; the width to which names may be shortened; the indentation of columns that continue on a new line."""
FEW_DATASETS, FEW_QUALITIES = 3, 5
"""Maximum numbers of datasets, and of qualities per dataset, for all their columns to be printed."""


def summary(results: Results) -> str:
    """Format results for the width of the terminal; the sample is shown only if there is no real data."""
    sampled = [entry for entry in results.datasets if entry.kind == "sample"]
    results = drop_sample(results)
    index = make_index(results)
    eras = [part.results for part in parts(results)]
    answers = [wrapped(sentences.recommendation(make_index(era), question)) for era in eras
               if (question := default_question(questions(era)))]
    tables = [_first_rows(_board_table(make_index(era), boards[:STATISTICS if width() == WIDTH else 1]))
              + _first_places(make_index(era), boards[0]) for era in eras for boards in overall_boards(era).values()]
    if tables and sampled:
        answers.insert(0, wrapped(BANNER if sampled[0] in results.datasets else SAMPLE_HIDDEN.format(
            plural(len(sampled), "dataset"))))
    in_full = index.correlations and len(index.datasets) <= FEW_DATASETS and all(
        len(entry.qualities) <= FEW_QUALITIES for entry in index.datasets)
    dataset_boards = [_first_rows(dataset_board(index, entry, index.statistics[0]))
                      for entry in (index.datasets if in_full else ())]
    failures = by_reason(Skip(row.dataset, row.metric, row.error) for row in results.failures)
    warnings = [wrapped(f"Warning: {dataset}, {quality}: {warning}")
                for (dataset, quality), warning in index.warnings.items()]
    warnings += [wrapped(f"No value: {missing.where}: {missing.reason}") for missing in without_value(results)]
    warnings += [wrapped(f"{verb} {plural(missing.pairs, 'pair')} of metric and dataset: {missing.reason} "
                         f"({missing.where})")
                 for verb, grouped in (("Skipped", by_reason(results.skips)), ("Failed", failures))
                 for missing in grouped]
    tables = tables or ["No ranking.\n" + wrapped(why_no_board(results))]
    return "\n".join([*answers, *dataset_boards, *tables, *warnings])


def width(widest: int = WIDTH) -> int:
    """Return the width of the terminal, at most `widest`; for files and pipes, `widest`."""
    return min(widest, max(MIN_WIDTH, shutil.get_terminal_size((widest, 24)).columns))


def _first_rows(table: Table) -> str:
    hidden = len(table.rows) - ROWS
    return text(replace(table, groups={"": table.rows[:ROWS]})) + (
        wrapped(f"{plural(hidden, 'more row')} on the page and in `harness report --json`.") if hidden > 0 else "")


def text(table: Table, widest: int = WIDTH) -> str:
    """Render a table for the terminal; names are shortened in the middle, columns that do not fit continue below."""
    rows = [tuple(Cell(heading.text) for heading in table.headings), *table.rows]
    texts = [list(map(_text, row)) for row in rows]
    sizes = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    stub = next((position for position, heading in enumerate(table.headings) if heading.kind == "stub"), 0)
    names = [stub, *(position for position, heading in enumerate(table.headings) if heading.kind == "words")]
    while sum(sizes) + 2 * (len(sizes) - 1) > width(widest) and max(sizes[name] for name in names) > MIN_NAME_WIDTH:
        sizes[max(names, key=lambda name: sizes[name])] -= 1
    head, *lines = ["\n".join(_lines(row, cells, sizes, table.headings, stub, width(widest)))
                    for row, cells in zip(rows, texts, strict=True)]
    rule = "-" * max(len(line) for row in (head, *lines) for line in row.splitlines())
    title = plain(f"{table.caption}. {f'Data: {table.data}.' if table.data else ''}")
    return "\n".join([wrapped(title, widest, ""), head, rule, *lines, ""])


def _folds(sizes: Sequence[int], widest: int) -> list[slice]:
    """Distribute columns over lines, of which all but the first are indented."""
    starts, end = [0], 0
    for position, size in enumerate(sizes):
        end += size + 2
        if end - 2 > widest and position > starts[-1]:
            starts.append(position)
            end = INDENT + size + 2
    return list(map(slice, starts, [*starts[1:], None]))


def plain(value: str) -> str:
    """Return text on one line, without unprintable characters and with an ASCII minus sign."""
    printable = value if value.isprintable() else "".join(char if char.isprintable() else " " for char in value)
    return " ".join(printable.replace("−", "-").split())


def wrapped(value: str, widest: int = WIDTH, indent: str = "  ", start: str = "") -> str:
    """Fill a paragraph to the width of the terminal: `start` and the first line, then `indent` and each other line."""
    return textwrap.fill(plain(value), width(widest), initial_indent=start, subsequent_indent=indent,
                         break_on_hyphens=False, break_long_words=False) + "\n"


def _board_table(index: Index, statistics: Sequence[Board]) -> Table:
    """Show the averages of the first statistic under all rules, and the averages of the others under the first rule.

    In a narrow terminal, only the average by which columns are ranked is shown.
    """
    main_board, *other_boards = statistics
    extra = averages(main_board)[:None if width() == WIDTH else 1]
    extra += [(Heading(statistic_title(board.statistic), "number"), {
        column: cell._replace(small="") for column, cell in average_cells(board, board.rule).items()})
              for board in other_boards]
    extra += [(heading, {column: cell._replace(text=shortened(cell.text)) for column, cell in cells.items()})
              for heading, cells in letters(main_board)]
    if any(math.isfinite(cost_of(index, column).seconds) for column in main_board.columns):
        extra.append((Heading("s/1,000", "number"), {
            column: cost_cell(cost_of(index, column)) for column in main_board.columns}))
    table = board_table(index, main_board, extra, index.describe_data(main_board.name))
    return replace(table, caption=f"{main_board.caption}, averages", headings=tuple(
        replace(heading, text=SHORT_HEADINGS.get(heading.key, heading.text)) for heading in table.headings))


def _first_places(index: Index, board: Board) -> str:
    """State the firmness of the first place, and of that among metrics not fitted on ratings if another holds it."""
    text = ""
    for among, of_metrics in (("all", ""), ("unfitted", " of the metrics not fitted on ratings")):
        rows = index.firmness[board.name, board.rule, among]
        if rows and (among == "all" or (rows[0].metric, rows[0].column) != board.columns[0]):
            name = index.labels[rows[0].metric, rows[0].column]
            text += wrapped(f"First{of_metrics}: {name}. {sentences.firmness(rows)}")
    return text


def shortened(letters: str) -> str:
    return letters if len(letters) <= MAX_LETTERS else letters[:MAX_LETTERS - 1].rstrip("'") + "…"


def _width(value: str) -> int:
    """Count terminal columns: two for a wide character, none for a combining one."""
    return len(value) if value.isascii() else sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in value)


def _cut(value: str, width: int) -> str:
    """Truncate text wider than `width`, with an ellipsis."""
    return value if _width(value) <= width else next(
        value[:size] + "…" for size in range(len(value), -1, -1) if _width(value[:size]) < width)


def _text(cell: Cell) -> str:
    """Format a cell on one line: its text, the models in parentheses, and the small text."""
    model = f"({cell.model})" if cell.model else ""
    return plain(" ".join(filter(None, (cell.text, model, cell.small))))


def _lines(row: Row, texts: list[str], sizes: Sequence[int], headings: Sequence[Heading], stub: int,
           widest: int) -> Iterator[str]:
    """Format a row; models that do not fit beside its name are on a line below."""
    name, model_lines = row[stub], list[str]()
    if name.model and _width(texts[stub]) > sizes[stub]:
        space = " " * (sum(sizes[:stub]) + 2 * stub + 2)
        model_lines = textwrap.wrap(plain(f"({name.model})"), widest, initial_indent=space,
                                    subsequent_indent=space + " ")
        texts = [*texts[:stub], _text(name._replace(model="")), *texts[stub + 1:]]
    columns = []
    for value, size, heading in zip(texts, sizes, headings, strict=True):
        fitting = titles.cut(value, size) if heading.kind == "stub" and value.isascii() else _cut(value, size)
        space = " " * (size - _width(fitting))
        columns.append(space + fitting if heading.kind in ("number", "rank") else fitting + space)
    first_line, *continuations = ("  ".join(columns[fold]).rstrip() for fold in _folds(sizes, widest))
    yield from (first_line, *model_lines, *(" " * INDENT + line for line in continuations))
