"""The page of what changed since an earlier run, and why."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from harness.results.rows import Results
from leaderboard.blocks.cells import count_cell, metric_cell, number, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Section, Table
from leaderboard.model.boards import RULES
from leaderboard.model.causes import KINDS, Cause, Causes, summary
from leaderboard.model.changes import BoardChange, Change, Changes, OneSided, changes
from leaderboard.model.index import Column, Index, make_index, plural, slug
from leaderboard.model.index import statistic_title as title_of

MOST = 400
"""As many correlations are listed on the page; changes.csv has every one."""

FIRST = 10
"""As many unexplained changes are listed above everything else; all are listed below."""

NONE = "none"
COMMIT = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28}\b")
UNEXPLAINED = "Same inputs, other number"


def compare(before: Results, results: Results) -> Page:
    """Build the page about earlier results and those that are published."""
    compared, index = changes(before, results), make_index(results)
    run = before.run
    commit = f"commit {run.commit[:12]}" if run.commit else "commit not known"
    sections = (
        *_unexplained(index, compared),
        Section("short", "In short", (_short(compared),)),
        Section("why", "What differs between the two runs", _differences(compared.causes)),
        *(_board(index, board) for board in compared.boards),
        *((_changed(index, compared),) if compared.changed else ()),
        Section("new", "New", _one_sided(index, compared.new, compared, new=True)),
        Section("gone", "Gone", _one_sided(index, compared.gone, compared, new=False)),
        Section("commands", "The two runs", (Facts((("Earlier", Cell(before.run.command, code=True)),
                                                    ("Now", Cell(results.run.command, code=True)))),)))
    return Page(path="changes.html", title="What changed since the earlier run", label="Changes", sections=sections,
                lead=f"Every correlation of this run ({title_of(compared.statistic)}) beside that of an earlier run, "
                     f"version {run.version}, {commit}: how far it changed, and what differs that may be why.",
                order=7, markdown=False)


def why(change: Change) -> str:
    """Say in a few words why a correlation changed."""
    if change.own:
        return summary(change.own)
    if change.unexplained:
        return UNEXPLAINED.lower()
    return f"no cause of its own; the whole run: {', '.join(change.kinds)}"


def _unexplained(index: Index, compared: Changes) -> tuple[Section, ...]:
    """List correlations with the same inputs and another number above everything else."""
    changed = compared.unexplained
    if not changed:
        return ()
    doubt = (" Both ran from a checkout whose state no commit names, so the code may differ."
             if compared.causes.unsure else
             " This must not happen: the same inputs give the same numbers. Look at the machine, then at the harness.")
    words = (f"{plural(len(changed), 'correlation')} differ, by up to {number(abs(changed[0].difference))}, though "
             f"data, code, weights, options and environment are the same in both reports.{doubt}")
    table = _table(index, changed[:FIRST], "unexplained", f"{UNEXPLAINED}, the {FIRST} largest")
    return (Section("unexplained", UNEXPLAINED, (Prose(words), table)),)


def _short(compared: Changes) -> Facts:
    visible = [change for change in compared.changed if change.visible]
    beyond = sum(change.beyond is True for change in visible)
    counts = Counter(kind for change in visible for kind in {cause.kind for cause in change.own})
    own = ", ".join(f"{kind} {counts[kind]}" for kind in KINDS if counts[kind])
    none = sum(not change.own for change in visible)
    facts = (
        ("Correlations in both", str(compared.common)),
        ("Changed", f"{len(visible)}, of them {beyond} beyond the earlier 95 % interval"),
        ("The same", (f"{compared.common - len(compared.changed)} to the last digit, and "
                      f"{len(compared.changed) - len(visible)} in three decimals")),
        ("Why", f"a cause of its own: {own or 'none'}; only of the run as a whole, or not known: {none}"),
        (UNEXPLAINED, str(len(compared.unexplained))),
        ("New and gone", f"{plural(len(compared.new), 'correlation')} new, {len(compared.gone)} gone"),
        ("Metrics new", _listed(compared.metrics[0])), ("Metrics gone", _listed(compared.metrics[1])),
        ("Datasets new", _listed(compared.datasets[0])), ("Datasets gone", _listed(compared.datasets[1])))
    return Facts(tuple((term, Cell(text)) for term, text in facts if text != NONE))


def _differences(differ: Causes) -> tuple[Block, ...]:
    """List every difference with what it affects; equal ones of several metrics or datasets share a row."""
    where: dict[Cause, list[str]] = defaultdict(list)
    for name, own in (*sorted(differ.datasets.items()), *sorted(differ.metrics.items())):
        for cause in own:
            where[cause].append(name)
    rows = [(cause, ", ".join(names)) for cause, names in where.items()]
    rows += [(cause, "every score") for cause in differ.every]
    rows += [(cause, "no score, only what was chosen or drawn" if cause.kind == "options" else "perhaps any number")
             for cause in differ.run]
    if not rows:
        return (Prose("Nothing: data, code, weights, options and environment are the same in both reports."),)
    rows.sort(key=lambda row: (KINDS.index(row[0].kind), row[0].name, row[1]))
    lines = tuple((Cell(cause.name.replace("weights ", "")), Cell(cause.kind), *(
        Cell(_brief(cause, value)) for value in (cause.old, cause.new)), Cell(affected)) for cause, affected in rows)
    headings = (Heading("What", "stub"), Heading("Kind"), Heading("Earlier", "code"), Heading("Now", "code"),
                Heading("Affects"))
    return (Table("differences", "Data, code, weights, options, environment", headings, (Group(lines),)),)


def _board(index: Index, change: BoardChange) -> Section:
    board, (old, new) = change.board, change.targets
    anchor = f"ranks-{slug(board.name)}"
    blocks: list[Block] = []
    if old != new:
        blocks.append(Prose(f"The board had {plural(old, 'target')} and has {new} now, so its averages are over other "
                            "targets."))
    visible = [row for row in change.rows if row.visible]
    if visible:
        rule = RULES.get(board.rules[0], board.rules[0])
        headings = (Heading("Rank", "rank", "now"), Heading("Metric", "stub"), Heading("Rank", "number", "earlier"),
                    Heading("Places up", "number", "among those in both"), Heading(rule, "number", "earlier"),
                    Heading(rule, "number", "now"), Heading("Difference", "number"))
        lines = ((count_cell(row.new.rank or 0), _metric(index, row.column), count_cell(row.old.rank or 0),
                  Cell(f"{row.up:+d}".replace("-", "−") if row.up else "0", value=row.up), number_cell(row.old.value),
                  number_cell(row.new.value), _signed(row.new.value - row.old.value)) for row in visible)
        blocks.append(table_of(index, f"{anchor}-table", f"{board.caption}, earlier and now", headings, lines))
    same = len(change.rows) - len(visible)
    blocks.append(Prose(f"{plural(same, 'column')} of metrics kept their place among each other, and their average."
                        if visible else f"All {same} columns that have a rank in both kept place and average."))
    for words, rows in (("New on the board, with their rank", change.entered),
                        ("No longer on it, with the rank they had", change.left)):
        if rows:
            named = [f"{index.labels.get(column, column[1])} ({row.rank})" for column, row in rows]
            blocks.append(Prose(f"{words}: {_listed(named, 30)}."))
    return Section(anchor, f"Ranks: {board.title}", tuple(blocks))


def _changed(index: Index, compared: Changes) -> Section:
    visible = [change for change in compared.changed if change.visible]
    blocks: list[Block] = []
    if len(visible) > MOST:
        blocks.append(Prose(f"The {MOST} that changed most; changes.csv has all {len(visible)}.", link="changes.csv"))
    if visible:
        blocks.append(_table(index, visible[:MOST], "changed", "Correlations that changed"))
    else:
        blocks.append(Prose("No correlation changed in a decimal that is shown."))
    return Section("changed", "Correlations that changed", tuple(blocks))


def _table(index: Index, changed: Sequence[Change], anchor: str, caption: str) -> Table:
    headings = (Heading("Metric", "stub"), Heading("Dataset", "words"), Heading("Quality", "words"),
                Heading("Earlier", "number"), Heading("Now", "number"), Heading("Difference", "number"),
                Heading("Beyond", "words", "the earlier interval"), Heading("Why"))
    rows = []
    for change in changed:
        old, new = change.old, change.new
        interval = f"95 % interval {number(old.low)} to {number(old.high)}"
        rows.append((_metric(index, change.column), Cell(new.dataset, link=index.dataset_paths.get(new.dataset, "")),
                     Cell(new.quality), number_cell(old.value)._replace(title=interval), number_cell(new.value),
                     _signed(change.difference), Cell({True: "yes", False: "no", None: "not known"}[change.beyond]),
                     Cell(why(change))))
    return table_of(index, f"{anchor}-table", caption, headings, rows)


def _one_sided(index: Index, rows: Iterable[OneSided], compared: Changes, *, new: bool) -> tuple[Block, ...]:
    """Group correlations that only one of the runs has by the reason why the other lacks them."""
    by_reason: dict[tuple[str, str], list[OneSided]] = defaultdict(list)
    side = 0 if new else 1
    metrics, datasets = compared.metrics[side], compared.datasets[side]
    for row in rows:
        what = row.row.metric if row.row.metric in metrics else row.row.dataset
        by_reason[row.why, what].append(row)
    if not by_reason:
        names = (*metrics, *datasets)
        return (Prose(f"No correlation; by name: {_listed(names)}." if names else "None."),)
    state, other = ("new", "the earlier run") if new else ("gone", "this run")
    headings = (Heading("Metric or dataset", "stub"), Heading("Correlations", "number"),
                Heading(f"Why {other} has none"), Heading("Which"))
    lines = [(Cell(what), count_cell(len(own)), Cell(reason), Cell(_which(index, own)))
             for (reason, what), own in sorted(by_reason.items())]
    return (table_of(index, f"{state}-table", f"Correlations that are {state}", headings, lines),)


def _which(index: Index, rows: Sequence[OneSided]) -> str:
    """Name a few correlations, and count more."""
    columns = dict.fromkeys(index.labels.get((one.row.metric, one.row.column), one.row.column) for one in rows)
    targets = dict.fromkeys(f"{one.row.quality} of {one.row.dataset}" for one in rows)
    return f"{_listed(tuple(columns), 6)}, on {_listed(tuple(targets), 3)}"


def _metric(index: Index, column: Column) -> Cell:
    return metric_cell(index, column)._replace(model="")


def _signed(value: float) -> Cell:
    text = number(value)
    return Cell(f"+{text}" if value > 0 else text, value=value)


def _brief(cause: Cause, value: str) -> str:
    """Write a value: of a commit twelve digits, of weights the digest."""
    name = cause.name.replace("weights ", "").rpartition(": ")[2]
    text = COMMIT.sub(r"\1", value).removeprefix(f"{name}@")
    return text if len(text) <= 160 else text[:159] + "…"


def _listed(names: Sequence[str], most: int = 12) -> str:
    rest = len(names) - most
    return (", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")) or NONE
