"""The measured figures beside published ones, for the terminal and as Markdown."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from harness.published.counterparts import Counterpart
from harness.published.figures import CONTROLS, RELEVANCE, TURNS, Beaten, Figure, Figures, Row
from leaderboard.blocks.cells import number
from leaderboard.blocks.tables import Cell, Group, Heading, Table
from leaderboard.render import html

SHORT = {
    "convai2-grade": "convai2", "dailydialog-grade": "daily", "empathetic-grade": "empath",
    "dailydialog-gupta": "gupta", "dailydialog-zhao": "zhao-d", "persona-zhao": "zhao-p", "persona-usr": "usr-p",
    "topical-usr": "usr-t", "fed-turn": "fed", "fed-dial": "fed-d",
}
"""Headings that fit a terminal."""
MOST = 16
"""So many columns fit a screen beside what is printed of them."""
NOTE = "*: of another quality, or of fewer replies, than what is measured. All columns, or several runs: harness table"


def short(figures: Figures) -> str:
    """A screenful: the best columns, those that papers print figures of, and the controls; empty without any."""
    rows = _chosen(figures)
    return text(figures, rows) if rows else ""


def text(figures: Figures, rows: Iterable[Row]) -> str:
    """The table for the terminal, with what the challenge prints of the highest, of its winner and of the baseline."""
    lines = [line for row in rows for line in _pair(row, figures)]
    ahead = tuple(_printed(f"challenge: {one.name}", one, figures) for one in _landmarks(figures))
    headings = (Heading("Column", "stub"), Heading(_mean_title(figures), "number"),
                *(Heading(SHORT[name], "number") for name in figures.datasets))
    caption = ("Spearman, mean over the qualities of a dataset, then over the turn-level ones; "
               "below a column and below the rest: published figures")
    groups = (Group(tuple(lines)), Group(ahead))
    return html.text(Table("", caption, headings, groups, "real human judgements")) + NOTE + "\n"


def _chosen(figures: Figures) -> list[Row]:
    complete = [row for row in figures.rows if row.complete]
    firm = [row for row in complete if row.published or row.column in CONTROLS]
    others = [row for row in complete if row not in firm]
    kept = {row.column for row in (*firm, *others[:max(0, MOST - len(firm))])}
    return [row for row in complete if row.column in kept]


def _landmarks(figures: Figures) -> list[Counterpart]:
    return [one for place, one in enumerate(figures.challenge)
            if place == 0 or one.name in {"MME-CRS", "Deep AM-FM"}]


def _pair(row: Row, figures: Figures) -> Iterator[tuple[Cell, ...]]:
    yield (Cell(row.column), Cell(number(row.mean.mean)),
           *(Cell(number(row.sets[name].mean)) for name in figures.datasets))
    if row.published:
        yield _printed("(published)", row.published, figures)


def _printed(title: str, one: Counterpart, figures: Figures) -> tuple[Cell, ...]:
    return (Cell(title), Cell(number(one.mean(figures.turns))), *(Cell(_value(one, name)) for name in figures.datasets))


def _value(one: Counterpart, dataset: str) -> str:
    found = one.sets.get(dataset)
    return number(math.nan) if found is None else number(found.value) + ("" if found.same else "*")


def _mean_title(figures: Figures) -> str:
    return "nine" if figures.turns == TURNS else f"of {len(figures.turns)}"


def markdown(figures: Figures) -> str:
    """Every column with its spread over the sets of weights, what it beats, and what is published of it."""
    head = ["", "column", _mean_title(figures) if figures.turns != TURNS else "nine sets", "relevance", "beats",
            "seeds", *figures.datasets]
    lines = [_line(head), _line(["---:", "---", "---:", "---:", "---", *["---:"] * (1 + len(figures.datasets))])]
    places = iter(range(1, len(figures.rows) + 1))
    for row in figures.rows:
        lines.append(_line(_measured(row, str(next(places)) if row.complete else "", figures)))
        if row.published:
            lines.append(_line(_published(f"*published: {row.published.name}*", row.published, figures)))
    lines += [_line(_published(f"*challenge: {one.name}*", one, figures)) for one in figures.challenge]
    return "\n".join([textwrap.fill(_legend(figures), 120), "", *lines, ""])


def _measured(row: Row, place: str, figures: Figures) -> list[str]:
    models = f"<br><sub>{_escaped(', '.join(row.models))}</sub>" if row.models else ""
    return [place, f"`{_escaped(row.column)}`{models}", _figure(row.mean), _figure(row.relevance), _beaten(row.beats),
            str(len(row.mean.values)), *(_figure(row.sets[name]) for name in figures.datasets)]


def _published(title: str, one: Counterpart, figures: Figures) -> list[str]:
    return ["", title, number(one.mean(figures.turns)), "", "", "",
            *(_value(one, name).replace("*", "\\*") for name in figures.datasets)]


def _figure(figure: Figure) -> str:
    below = f"<br><sub>{' to '.join(map(number, figure.spread))}</sub>" if figure.spread else ""
    return number(figure.mean) + below


def _beaten(beats: Mapping[str, Beaten]) -> str:
    return "<br>".join(f"{'>' if one.whole else 'not'} {name} ({one.sets} of {one.of})" for name, one in beats.items())


def _legend(figures: Figures) -> str:
    sets = "the nine turn-level datasets" if figures.turns == TURNS else f"{len(figures.turns)} turn-level datasets"
    return (f"Spearman, mean over the qualities of each dataset, then over {sets}; – where a cell is missing. "
            f"*relevance*: over the qualities {' and '.join(sorted(RELEVANCE))} alone. *beats*: whether the mean of a "
            "control is passed, and in how many datasets it is: `length` over all qualities, `cosine` over those of "
            "relevance. *seeds*: of how many trainings a figure is the mean; below it the lowest to the highest. "
            "\\*: published of another quality, or of fewer replies, than what is measured.")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(name: str) -> str:
    return name.replace("|", "\\|")
