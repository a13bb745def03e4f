"""The page of what moved since an earlier report, and why; the terminal prints the same tables."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from harness.results.rows import Results, Run
from leaderboard.blocks import changes_picture
from leaderboard.blocks.cells import number
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Row, Section, Table
from leaderboard.model.boards import RULES
from leaderboard.model.causes import KINDS, Cause, Causes, told
from leaderboard.model.changes import Changes, Gap, Move, Ranking, Shift, changes
from leaderboard.model.index import DATA, Index, Key, make_index, origin_of, statistic_title
from leaderboard.model.slugs import slug

MOST = 400
"""As many cells stand on the page; changes.csv has every one."""

NOTHING = "none"
COMMIT = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28}\b")

FIRST = 10
"""As many cells are called out above everything else; all are among those that moved."""

ORIGINS = ("real", "sample")
TITLES = {"real": "real data", "sample": "bundled sample"}
BOTH = "{data}; this run beside the earlier one"
SAME_INPUTS = "Same inputs, other number"
EVERYTHING = "both runs, whatever the origin of their datasets"


def compare(before: Results, results: Results) -> Page:
    """Build the page about an earlier report and the one that is published."""
    found = changes(before, results)
    index = make_index(results)
    origins = {origin_of(entry) for one in (before, results) for entry in one.datasets}
    sections = (
        *_loud(index, found),
        Section("short", "In short", (_short(found),)),
        Section("why", "What differs between the two runs", _differences(found.causes)),
        *(_ranking(index, ranking) for ranking in found.rankings),
        *(_moves(index, found, origin) for origin in ORIGINS if any(move.origin == origin for move in found.moves)),
        Section("new", "New", _gaps(index, found.appeared, found, new=True)),
        Section("gone", "Gone", _gaps(index, found.gone, found, new=False)),
        Section("commands", "The two runs", (Facts((("Earlier", Cell(before.run.command, code=True)),
                                                    ("Now", Cell(results.run.command, code=True)))),)))
    return Page(path="changes.html", title="What moved since the earlier run", label="Changes", sections=sections,
                lead=f"Every correlation of this run ({statistic_title(found.statistic)}) beside that of an earlier "
                     f"one, {_named(before.run)}: how far it moved, and what differs that may be why.",
                order=7, tested=False, markdown=False, sample="sample" in origins, mixed=len(origins) > 1)


def _named(run: Run) -> str:
    return f"version {run.version}, " + (f"commit {run.commit[:12]}" if run.commit else "commit not known")


def _loud(index: Index, found: Changes) -> tuple[Section, ...]:
    """Call out cells with the same inputs and another number, above everything else."""
    moves = found.unexplained
    if not moves:
        return ()
    doubt = (" Both ran from a checkout whose state no commit names, so the code may differ."
             if found.causes.unsure else
             " This must not happen: the same inputs give the same numbers. Look at the machine, then at the harness.")
    words = (f"{_count(len(moves), 'cell')} differ, by up to {number(abs(moves[0].difference))}, though data, code, "
             f"weights, options and environment are the same in both reports.{doubt}")
    tables = tuple(_table(index, [move for move in moves if move.origin == origin][:FIRST], origin, "unexplained",
                          f"{SAME_INPUTS}, the {FIRST} largest: {TITLES[origin]}")
                   for origin in ORIGINS if any(move.origin == origin for move in moves))
    return (Section("unexplained", SAME_INPUTS, (Prose(words), *tables)),)


def _short(found: Changes) -> Facts:
    shown = [move for move in found.moves if move.shown]
    beyond = sum(move.beyond is True for move in shown)
    causes = Counter(kind for move in shown for kind in {cause.kind for cause in move.own})
    own = ", ".join(f"{kind} {causes[kind]}" for kind in KINDS if causes[kind])
    none = sum(not move.own for move in shown)
    facts = (
        ("Cells in both", Cell(str(found.common))),
        ("Moved", Cell(f"{len(shown)}, of them {beyond} beyond the earlier 95 % interval")),
        ("The same", Cell(f"{found.common - len(found.moves)} to the last digit, and {len(found.moves) - len(shown)} "
                          "in three decimals")),
        ("Why", Cell(f"of the cell itself: {own or 'none'}; only of the run as a whole, or not known: {none}")),
        (SAME_INPUTS, Cell(str(len(found.unexplained)))),
        ("New and gone", Cell(f"{_count(len(found.appeared), 'cell')} new, {len(found.gone)} gone")),
        ("Metrics new", Cell(_listed(found.metrics[0]))), ("Metrics gone", Cell(_listed(found.metrics[1]))),
        ("Datasets new", Cell(_listed(found.datasets[0]))), ("Datasets gone", Cell(_listed(found.datasets[1]))))
    return Facts(tuple((term, cell) for term, cell in facts if cell.text != NOTHING))


def _differences(found: Causes) -> tuple[Block, ...]:
    """List every difference with what it touches; equal ones of several metrics or datasets share a row."""
    where: dict[Cause, list[str]] = defaultdict(list)
    for name, causes in (*sorted(found.datasets.items()), *sorted(found.metrics.items())):
        for cause in causes:
            where[cause].append(name)
    rows = [(cause, ", ".join(names)) for cause, names in where.items()]
    rows += [(cause, "every score") for cause in found.every]
    rows += [(cause, "no score, only what was chosen or drawn" if cause.kind == "options" else "perhaps any number")
             for cause in found.run]
    if not rows:
        return (Prose("Nothing: data, code, weights, options and environment are the same in both reports."),)
    rows.sort(key=lambda row: (KINDS.index(row[0].kind), row[0].name, row[1]))
    detailed = any(cause.detail for cause, _ in rows)
    lines = tuple((Cell(_what(cause)), Cell(cause.kind), Cell(_brief(cause, cause.old)), Cell(_brief(cause, cause.new)),
                   Cell(touched), *((Cell(cause.detail),) if detailed else ())) for cause, touched in rows)
    headings = (Heading("What", "stub"), Heading("Kind"), Heading("Earlier", "code"), Heading("Now", "code"),
                Heading("Touches"), *((Heading("How it came"),) if detailed else ()))
    return (Table("differences", "Data, code, weights, options, environment", headings, (Group(lines),),
                  data=EVERYTHING),)


def _ranking(index: Index, ranking: Ranking) -> Section:
    board, (old, new) = ranking.board, ranking.cells
    blocks: list[Block] = []
    if old != new:
        blocks.append(Prose(f"The board had {_count(old, 'cell')} and has {new} now: its averages are over others."))
    moved = [shift for shift in ranking.shifts if shift.moved]
    if moved:
        blocks.append(_ranks(index, ranking, moved))
    still = len(ranking.shifts) - len(moved)
    blocks.append(Prose(f"{_count(still, 'column')} of metrics kept their place among each other, and their average."
                        if moved else f"All {still} columns that have a rank in both kept place and average."))
    for words, rows in (("New on the board, with their rank", ranking.entered),
                        ("No longer on it, with the rank they had", ranking.left)):
        if rows:
            named = [f"{index.labels.get(key, key[1])} ({row.rank})" for key, row in rows]
            blocks.append(Prose(f"{words}: {_listed(named, 30)}."))
    return Section(f"ranks-{slug(board.name)}-{slug(board.origin)}", f"Ranks: {board.title}, {TITLES[board.origin]}",
                   tuple(blocks))


def _ranks(index: Index, ranking: Ranking, moved: Sequence[Shift]) -> Table:
    board = ranking.board
    rule = RULES.get(board.rules[0], (board.rules[0], ""))[0]
    headings = (Heading("Rank", "rank", "now"), Heading("Metric", "stub"), Heading("Rank", "number", "earlier"),
                Heading("Places up", "number", "among those in both"), Heading(rule, "number", "earlier"),
                Heading(rule, "number", "now"), Heading("Difference", "number"))
    rows = tuple((Cell(str(one.new.rank), value=one.new.rank), _metric(index, one.key),
                  Cell(str(one.old.rank), value=one.old.rank), Cell(_places(one.up), value=one.up),
                  Cell(number(one.old.value), value=one.old.value), Cell(number(one.new.value), value=one.new.value),
                  _signed(one.new.value - one.old.value)) for one in moved)
    return Table(f"ranks-{slug(board.name)}-{slug(board.origin)}-table", f"{board.caption}, then and now", headings,
                 (Group(rows),), data=BOTH.format(data=index.data(board.origin, board.name)),
                 sample=board.origin == "sample")


def _places(up: int) -> str:
    return f"{up:+d}".replace("-", "−") if up else "0"


def _moves(index: Index, found: Changes, origin: str) -> Section:
    moves = [move for move in found.moves if move.origin == origin]
    shown = [move for move in moves if move.shown]
    blocks: list[Block] = [changes_picture.picture(moves, found.common, DATA[origin])]
    if len(shown) > MOST:
        blocks.append(Prose(f"The {MOST} that moved farthest; changes.csv has all {len(shown)}.", link="changes.csv"))
    if shown:
        blocks.append(_table(index, shown[:MOST], origin, "moved", f"Cells that moved: {TITLES[origin]}"))
    else:
        blocks.append(Prose("No cell moved in a shown decimal."))
    return Section(f"moved-{origin}", f"Cells that moved, {TITLES[origin]}", tuple(blocks))


def _table(index: Index, moves: Sequence[Move], origin: str, anchor: str, caption: str) -> Table:
    headings = (Heading("Metric", "stub"), Heading("Dataset", "words"), Heading("Quality", "words"),
                Heading("Earlier", "number"), Heading("Now", "number"), Heading("Difference", "number"),
                Heading("Beyond", "words", "the earlier interval"), Heading("Why"))
    return Table(f"{anchor}-{origin}-cells", caption, headings, (Group(tuple(_line(index, move) for move in moves)),),
                 data=BOTH.format(data=index.data(origin)), sample=origin == "sample")


def _line(index: Index, move: Move) -> Row:
    beyond = {True: "yes", False: "no", None: "not known"}[move.beyond]
    low, high = number(move.old.low), number(move.old.high)
    return (_metric(index, move.key), Cell(move.new.dataset, link=index.dataset_paths.get(move.new.dataset, "")),
            Cell(move.new.quality), Cell(number(move.old.value), value=move.old.value,
                                         title=f"95 % interval {low} to {high}"),
            Cell(number(move.new.value), value=move.new.value), _signed(move.difference), Cell(beyond),
            Cell(why(move)))


def why(move: Move) -> str:
    """Say in a few words why a cell moved."""
    if move.own:
        return told(move.own)
    if move.unexplained:
        return SAME_INPUTS.lower()
    return f"nothing of its own; the whole run: {', '.join(move.kinds)}"


def _gaps(index: Index, gaps: Iterable[Gap], found: Changes, *, new: bool) -> tuple[Block, ...]:
    """Group cells that only one of the runs has by the reason why the other has none."""
    there: dict[tuple[str, str, str], list[Gap]] = defaultdict(list)
    metrics, datasets = (found.metrics[0], found.datasets[0]) if new else (found.metrics[1], found.datasets[1])
    for gap in gaps:
        what = gap.row.metric if gap.row.metric in metrics else gap.row.dataset
        there[gap.origin, gap.why, what].append(gap)
    if not there:
        names = _listed((*metrics, *datasets)) if metrics or datasets else ""
        return (Prose(f"No cell; by name: {names}." if names else "None."),)
    tables = []
    for origin in ORIGINS:
        rows = tuple((Cell(what), Cell(str(len(gone)), value=len(gone)), Cell(reason), Cell(_cells(index, gone)))
                     for (kind, reason, what), gone in sorted(there.items()) if kind == origin)
        if rows:
            state = "new" if new else "gone"
            tables.append(Table(f"{state}-{origin}", f"Cells that are {state}: {TITLES[origin]}", (
                Heading("Metric or dataset", "stub"), Heading("Cells", "number"),
                Heading("Why the earlier run has none" if new else "Why this run has none"), Heading("Which")),
                (Group(rows),), data=BOTH.format(data=DATA[origin]), sample=origin == "sample"))
    return tuple(tables)


def _cells(index: Index, gaps: Sequence[Gap]) -> str:
    """Name a few cells, and count more."""
    columns = dict.fromkeys(index.labels.get((gap.row.metric, gap.row.column), gap.row.column) for gap in gaps)
    places = dict.fromkeys(f"{gap.row.quality} of {gap.row.dataset}" for gap in gaps)
    return f"{_listed(tuple(columns), 6)}, on {_listed(tuple(places), 3)}"


def _metric(index: Index, key: Key) -> Cell:
    return Cell(index.labels.get(key, key[1]), link=index.cards.get(key[0], ""))


def _signed(value: float) -> Cell:
    text = number(value)
    return Cell(f"+{text}" if value > 0 else text, value=value)


def _what(cause: Cause) -> str:
    return cause.name.replace("weights ", "")


def _brief(cause: Cause, value: str) -> str:
    """Write a value: of a commit twelve digits, of weights the digest."""
    text = COMMIT.sub(r"\1", value).removeprefix(f"{_what(cause).rpartition(': ')[2]}@")
    return text if len(text) <= 160 else text[:159] + "…"


def _listed(names: Sequence[str], most: int = 12) -> str:
    rest = len(names) - most
    return (", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")) or NOTHING


def _count(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
