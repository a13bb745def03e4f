"""The front page: the overall boards, each with the mean of every dataset beside the averages.

The averages and ranks are the report's standings; the means per dataset are drawn from its agreements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.results import DatasetEntry, Report
from leaderboard.cells import leaders, learned_cell, missing, number, value_cell
from leaderboard.grid import groups, marked
from leaderboard.lookup import Key, Lookup, look, there
from leaderboard.slugs import slug
from leaderboard.standings import BOARDS, Board, boards, headings, heads, names
from leaderboard.tables import Heading, Page, Prose, Row, Section, Table

LEAD = ("How well automatic metrics agree with people about open-domain dialogue. "
        "Each number is a correlation of a metric's scores with human ratings; higher is better.")
WORDS = {"sample": "bundled sample", "real": "real data"}


def build(report: Report) -> tuple[Page, ...]:
    """Build the front page."""
    found = look(report)
    pairs = names(report)
    origins = {origin for _, origin in pairs}
    sections = tuple(_section(found, name, origin) for name, origin in pairs)
    nothing = Section("nothing", "No standings", (Prose(why_nothing(report)),))
    return (Page(path="index.html", title="Which metric best agrees with people?", label="Overall", lead=LEAD,
                 sections=sections or (nothing,), order=0, legend=True, tested=False,
                 sample="sample" in origins, mixed=len(origins) > 1),)


def why_nothing(report: Report) -> str:
    """Say why there is no board: what was rated, and what was scored."""
    if (report.skips or report.failures) and not report.timings:
        return "No board: nothing could be scored; below stands what was skipped or crashed, and why."
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in report.datasets)
    return "No board: a quality needs three rated items that differ. " + "; ".join(rated) + "."


def _section(found: Lookup, name: str, origin: str) -> Section:
    tables = tuple(_table(found, board, folded=position > 0)
                   for position, board in enumerate(boards(found.report, name, origin)))
    return Section(f"{slug(name)}-{slug(origin)}", f"{BOARDS.get(name, name)}, {WORDS.get(origin, origin)}", tables)


def _table(found: Lookup, board: Board, *, folded: bool) -> Table:
    datasets = found.on(board.origin, board.name)
    means = {key: [_mean(found, entry, key, board.statistic) for entry in datasets] for key in board.keys}
    lead = [leaders(row[column] for key, row in means.items() if (key[0], entry.name) not in found.learned)
            for column, entry in enumerate(datasets)]
    rows = {key: (*head, *_cells(found, datasets, key, board.statistic, means[key], lead))
            for key, head in heads(found, board).items()}
    return Table(
        anchor="-".join(map(slug, (board.name, board.origin, board.statistic))),
        caption=board.caption,
        headings=(*headings(board), *(
            Heading(entry.name, "number", title=entry.title, link=found.dataset_paths[entry.name])
            for entry in datasets)),
        groups=groups((row for key, row in rows.items() if board.ranked(key)),
                      (row for key, row in rows.items() if not board.ranked(key))),
        data=marked(found.data(board.origin, board.name), any((key[0], entry.name) in found.learned
                                                              for key in means for entry in datasets)),
        sample=board.origin == "sample",
        folded=board.caption if folded else "",
    )


def _mean(found: Lookup, entry: DatasetEntry, key: Key, statistic: str) -> float:
    """Average a dataset's qualities; NaN unless every one that was rated has a value."""
    values = [row.value if (row := found.agreement(entry.name, quality.name, key, statistic)) else math.nan
              for quality in entry.qualities if quality.rated]
    return math.fsum(values) / len(values) if values and all(map(math.isfinite, values)) else math.nan


def _cells(found: Lookup, datasets: Sequence[DatasetEntry], key: Key, statistic: str,
           means: Sequence[float], lead: Sequence[tuple[float, float]]) -> Row:
    shown = (value_cell(mean, best, shaded=True, title=_parts(found, entry, key, statistic))
             if math.isfinite(mean) else missing(_why(found, entry, key, statistic))
             for entry, mean, best in zip(datasets, means, lead, strict=True))
    return tuple(learned_cell(cell) if cell.value is not None and (key[0], entry.name) in found.learned else cell
                 for cell, entry in zip(shown, datasets, strict=True))


def _parts(found: Lookup, entry: DatasetEntry, key: Key, statistic: str) -> str:
    rows = ((quality.name, found.agreement(entry.name, quality.name, key, statistic))
            for quality in entry.qualities)
    return ", ".join(f"{name} {number(row.value)}" for name, row in rows if row is not None and there(row))


def _why(found: Lookup, entry: DatasetEntry, key: Key, statistic: str) -> str:
    """Give the reasons of the qualities without a value; one for all is said once."""
    gone = {quality.name: found.why(entry.name, quality.name, key, statistic) for quality in entry.qualities
            if quality.rated and not there(found.agreement(entry.name, quality.name, key, statistic))}
    if not gone:
        return "nobody rated this dataset"
    if len(set(gone.values())) == 1:
        return next(iter(gone.values()))
    return "; ".join(f"{name}: {reason}" for name, reason in gone.items())
