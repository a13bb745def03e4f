"""The ranking as boards, and the eras of datasets by the rated systems; nothing is averaged over two eras.

There is a board per split or dimension and statistic, with an average under each rule; a column with a missing value
has no average and no rank. Each era has its own front page, board and costs, drawn from its part of the results.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from harness.results.entries import BoardId
from harness.results.rows import RankingRow, Results
from harness.statistics import statistic_title
from leaderboard.model.index import ColumnKey, cached_by_results, select_datasets, sorted_statistics, split_order

SPLITS = {"dev": "Development", "test": "Test", "recent": "Recent", "own": "Your own", "more": "Further"}
NORMAL = 1.959964
"""Standard errors on each side of a 95 % interval."""
RULES = {"dev": "Mean of datasets", "test": "Mean of qualities"}
"""dev: mean over the qualities of each dataset, then over datasets; test: mean over all qualities of all datasets."""


@dataclass(frozen=True)
class Board:
    """The ranking of one split or dimension and one statistic, by rule; the first rule ranks the columns."""

    name: str
    statistic: str
    ranking: dict[str, dict[ColumnKey, RankingRow]]

    @property
    def id(self) -> BoardId:
        return BoardId.parse(self.name)

    @property
    def rule(self) -> str:
        return next(iter(self.ranking))

    @property
    def caption(self) -> str:
        return f"{title(self.name)}: {statistic_title(self.statistic)}"

    @cached_property
    def columns(self) -> list[ColumnKey]:
        """The ranked columns by rank, then the others, the most complete first."""
        rows = self.ranking[self.rule]
        return sorted(rows, key=lambda column: (
            rows[column].rank or math.inf if rows[column].complete else math.inf, -rows[column].covered, column))

    @cached_property
    def ranked(self) -> dict[ColumnKey, RankingRow]:
        """The complete rows by column, the best first."""
        return {column: row for column in self.columns if (row := self.ranking[self.rule][column]).complete}


def title(board: str) -> str:
    """Return the title of a board; for a board of one dimension, its name."""
    name = BoardId.parse(board)
    if name.dimension or name.split not in SPLITS:
        return board
    suffix = " with references" if name.part == "references" else f" in {name.part}" if name.part else ""
    return f"{SPLITS[name.split]} datasets{suffix}"


@cached_by_results
def all_boards(results: Results) -> tuple[Board, ...]:
    """Collect all boards by name, including those of single dimensions, Spearman first."""
    rows: dict[tuple[str, str], list[RankingRow]] = defaultdict(list)
    for row in results.ranking:
        rows[row.board, row.statistic].append(row)
    statistics = sorted_statistics(statistic for _, statistic in rows)
    boards = []
    for name, statistic in sorted(rows, key=lambda key: (key[0], statistics.index(key[1]))):
        ranking: dict[str, dict[ColumnKey, RankingRow]] = {}
        rule = BoardId.parse(name).rule
        for row in sorted(rows[name, statistic], key=lambda row: (row.rule != rule, row.rule)):
            ranking.setdefault(row.rule, {})[row.metric, row.column] = row
        boards.append(Board(name, statistic, ranking))
    return tuple(boards)


def overall_boards(results: Results) -> dict[str, list[Board]]:
    """Return the boards of all qualities by name, development first, each with a board per statistic."""
    boards: dict[str, list[Board]] = defaultdict(list)
    for board in sorted(all_boards(results), key=lambda board: split_order(board.name)):
        if not board.id.dimension:
            boards[board.name].append(board)
    return boards


def why_no_board(results: Results) -> str:
    """Explain why nothing is ranked."""
    if (results.skips or results.failures) and not results.timings:
        return ("No board: nothing could be scored on the data shown. The reasons are listed below; results on the "
                "bundled sample are not shown beside real data or your own.")
    counts = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
              f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs at least three rated items with different ratings. " + "; ".join(counts) + "."


def rank_interval(row: RankingRow) -> str:
    """Format the 95 % interval of a rank; "" if there is none."""
    return f"{row.low:.0f}–{row.high:.0f}" if math.isfinite(row.low) and math.isfinite(row.high) else ""


def half_width(row: RankingRow) -> float:
    """Return the half-width of a value's 95 % interval; 0 if its standard error is unknown."""
    return NORMAL * row.error if math.isfinite(row.error) else 0.0


def plus_minus(row: RankingRow) -> str:
    """Format the half-width of a value's 95 % interval; "" if unknown or 0."""
    return f" ± {half_width(row):.2f}" if row.error > 1e-9 else ""


def above_zero(value: float, low: float) -> bool:
    """Return True if the 95 % interval of a score, or the score itself if `low` is NaN, is above 0."""
    return (value if math.isnan(low) else low) > 0


@dataclass(frozen=True, slots=True)
class Era:
    """The datasets of some splits."""

    name: str
    splits: tuple[str, ...]
    title: str

    @property
    def systems(self) -> str:
        """The title for use within a sentence."""
        return self.title[:1].lower() + self.title[1:]


CHALLENGE = Era("challenge", ("dev", "test"), "Chatbots up to 2021")
RECENT = Era("recent", ("recent",), "Today’s models (2022 on)")
ERAS = (CHALLENGE, RECENT, Era("own", ("own",), "Your own data"), Era("more", ("more",), "Further datasets"))


@dataclass(frozen=True, slots=True)
class Part:
    """The results of an era; the names of its files contain `suffix`."""

    era: Era
    results: Results
    suffix: str

    @property
    def path(self) -> str:
        """The path of its front page."""
        return f"index{self.suffix}.html"


def era_of(split: str) -> Era:
    return next((era for era in ERAS if split in era.splits), CHALLENGE)


@cached_by_results
def parts(results: Results) -> tuple[Part, ...]:
    """Return the parts of the eras that have datasets; the front page of the first is the entry page."""
    splits = sorted({entry.split for entry in results.datasets}, key=split_order)
    eras = list(dict.fromkeys(map(era_of, splits))) or [CHALLENGE]
    return tuple(Part(era, results if len(eras) == 1 else select_datasets(results, {
        entry.name for entry in results.datasets if era_of(entry.split) == era}), f"-{era.name}" if position else "")
                 for position, era in enumerate(eras))
