"""The page that compares the means of metrics on chatbots up to 2021 with those on today's models."""

from __future__ import annotations

import math

from harness.results.rows import Results
from leaderboard.blocks.cells import MISSING, column_cell, interval, number_cell
from leaderboard.blocks.tables import Cell, Dot, Dots, Heading, Page, Prose, Row, Section, Table
from leaderboard.model.eras import CHALLENGE, RECENT, parts
from leaderboard.model.holds_up import Mean, means, sources
from leaderboard.model.index import Column, make_index, plural
from leaderboard.model.sentences import is_control
from leaderboard.texts import TEXTS

TEXT = TEXTS["holds_up"]
MEANS = 12
"""Columns drawn: the best of each era, and the controls."""
CAPTION = "Mean Spearman correlation, with its 95 % interval over sources; a mark without one is of a single source."
PATH, FILE = "holds-up.html", "holds-up.csv"


def build(results: Results) -> tuple[Page, ...]:
    compared = means(results)
    if not compared:
        return ()
    index, by_era = make_index(results), {part.era: part for part in parts(results)}
    first = {metric: (metric, column) for metric, column in reversed(compared)}
    shown = {column: pair for column, pair in compared.items() if first[column[0]] == column}
    groups = [(number, source, entries) for number, era in enumerate((CHALLENGE, RECENT))
              for source, entries in sources(by_era[era]).items()]

    def row(column: Column, pair: tuple[Mean, Mean]) -> Row:
        values = (pair[number].sources.get(source) for number, source, _ in groups)
        return (column_cell(index, column), *(
            number_cell(mean.value)._replace(small=interval(mean.low, mean.high)) for mean in pair), *(
            Cell(MISSING, title="no value") if value is None else number_cell(value, shaded=True) for value in values))

    headings = (Heading("Metric", "stub"), Heading("Until 2021", "number", "95 % interval"),
                Heading("From 2022 on", "number", "95 % interval"), *(
                    Heading(source, "number", ("until 2021", "from 2022 on")[number],
                            ", ".join(entry.name for entry in entries)) for number, source, entries in groups))
    table = Table.of("means", "Mean Spearman correlation with human ratings, by source", headings,
                     (row(*pair) for pair in shown.items()), index.data())
    both = [pair for column, pair in shown.items() if not is_control(index, column)
            and all(len(mean.sources) > 1 for mean in pair)]
    then = [now for then, now in both if then.positive]
    lead = (f"Of {plural(len(both), 'metric')} with values on several sources of each era, {len(then) or 'none'} agree "
            "with people on chatbots up to 2021: the 95 % interval of the mean lies above 0. On today’s models, "
            f"{sum(now.positive for now in then) or 'none'} of these do.")
    known = {column: pair for column, pair in shown.items() if all(math.isfinite(mean.value) for mean in pair)}
    best = {column for era in (0, 1) for column in sorted(known, key=lambda name: -known[name][era].value)[:MEANS]}
    dots = [Dot(column_cell(index, column), then.value, then.low, then.high, now.value, now.low, now.high)
            for column, (then, now) in known.items() if column in best or is_control(index, column)]
    return (Page(PATH, "What holds up on recent ratings", "Then and now", (
        Section("picture", "", (Dots(dots, CAPTION, {"dot": CHALLENGE.title, "other": RECENT.title}),)),
        Section("sources", "By source", (Prose(TEXT["rule"]), table, Prose(f"Every column: {FILE}", link=FILE)))),
        lead=lead, order=2),)
