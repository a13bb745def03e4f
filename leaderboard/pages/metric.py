"""A page per metric: what it is and where it departs from its paper, how it agrees with people, what it gets wrong."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from harness.results.rows import Example, MetricEntry, RankingRow, Results
from leaderboard.blocks.boards import CONTROL
from leaderboard.blocks.cells import (
    MISSING,
    correlation_cell,
    count_cell,
    fitted_cell,
    marked,
    missing,
    number,
    number_cell,
    p_value,
    value_cell,
)
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.items import example_blocks
from leaderboard.blocks.tables import Block, Cell, Facts, Heading, Page, Prose, Row, Section
from leaderboard.blocks.weights import training_sections
from leaderboard.model import sentences
from leaderboard.model.boards import rank_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import ONE_RATER, Column, Index, has_value, make_index
from leaderboard.model.items import DatasetItems, dataset_items, length_profile
from leaderboard.model.questions import LEAST, LIMIT, Question, default, questions

SCOPES = {"item": "item: the score of an item depends on that item alone",
          "dataset": "dataset: the score of an item depends on the others of its dataset"}
SENT = "submission"
"""The family of score files: what one was made from is not known, and nothing can be run."""
MOST, SHOWN = 5, 8
"""Items on each side that are shown, and questions that its columns are compared on."""

READ = ("Below a value: its 95 % interval. Grey italics: p ≥ 0.05, not significantly different from no correlation. "
        "One rater: one rater’s agreement with the others; not an upper bound. Corrected: for rater noise, divided by "
        "the root of the raters’ reliability; it may exceed 1 by chance.")
SHARED = "Interval and p take items as independent: where several share a context they are too favourable. See methods."
LENGTH = ("Spearman with the number of words of the reply, or of the whole dialogue where that is judged: of the "
          "scores, and of people’s ratings. Of each dataset its overall quality, else its first. Length held constant: "
          "what is left of the agreement between replies of one length.")
ITEMS = ("Of each dataset the item that it places furthest above people, and the one furthest below; of these the "
         f"first {MOST}. Places run from 0, the lowest of the dataset, to 1, the highest.")


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per metric of the run."""
    index = make_index(results)
    items = dataset_items(index)
    return tuple(_page(index, items, entry) for entry in sorted(results.metrics, key=lambda entry: entry.name))


def _page(index: Index, items: Mapping[str, DatasetItems], entry: MetricEntry) -> Page:
    promised = [(entry.name, column) for column in entry.columns]
    columns = [*promised, *sorted(column for column in index.labels
                                  if column[0] == entry.name and column not in promised)]
    asked = questions(index.results)
    first = default(asked)
    best = max((column for column in columns if first and first.row(column)),
               key=lambda column: first.board.ranked[column].value if first else 0.0, default=None) or (
        columns[0] if columns else None)
    sections = [Section("card", "What it is", _card(index, entry, first, best))]
    if best is not None:
        own = f": {index.labels[best]}" if len(columns) > 1 else ""
        of_print, printed = _printed(index, columns)
        sections += [Section(anchor, title, blocks) for anchor, title, blocks in (
            ("columns", "Its columns", _columns(index, asked, columns) if len(columns) > 1 else ()),
            ("paper", f"Ours against its paper: {of_print}", printed),
            ("targets", f"Every dataset and quality{own}", _targets(index, best)),
            ("items", "What it gets most wrong", _items(index, entry)),
            ("length", f"How much of it is length{own}", _lengths(index, items, best))) if blocks]
    return Page(path=index.metric_paths[entry.name], title=entry.title or entry.name, label=entry.name,
                lead="", sections=(*sections, *training_sections(index.results, entry.name)),
                group="Metrics", order=3, markdown=False)


def _card(index: Index, entry: MetricEntry, first: Question | None, best: Column | None) -> tuple[Block, ...]:
    """Say what the metric is, where it departs from its paper, what it needs and costs, and how to run it."""
    row = first.row(best) if first and best else None
    weak, rank = _standing(index, first, row, len(entry.columns)) if first and row else ((), "")
    facts = (("In short", Cell(sentences.about(index, (entry.name, "")))), ("Rank", Cell(rank)), *_facts(index, entry))
    own = "|code=" in entry.signature  # of a file or another package, and requested as in the run
    again = index.results.run.command if own else f"harness run --metric {shlex.quote(entry.name)} --all"
    return (*weak, Facts(tuple(fact for fact in facts if fact[1].text)),
            *(() if entry.family == SENT else (Prose(again, code=True),)))


def _standing(index: Index, first: Question, row: RankingRow, columns: int) -> tuple[tuple[Block, ...], str]:
    """Say where its best column is no better than counting words, and which place it has."""
    control = next((own.value for column, own in first.board.ranked.items() if column[0] == CONTROL), math.nan)
    weak = (Prose(f"For {first.title} it is no better than counting words: {number(row.value)} against "
                  f"{number(control)}."),) if row.value <= control and row.metric != CONTROL else ()
    of = f"{index.labels[row.metric, row.column]}: " if columns > 1 else ""
    return weak, (f"{of}{row.rank} of {len(first.board.ranked)} ({rank_interval(row) or 'no interval'}) for "
                  f"{first.title}: Spearman {row.value:.3f}{sentences.error(row.error)}")


def _facts(index: Index, entry: MetricEntry) -> Iterable[tuple[str, Cell]]:
    """How it differs from its paper, what it reads, is made of and costs, and what was learned from."""
    is_link = entry.paper.startswith(("https://", "http://")) and not any(sign.isspace() for sign in entry.paper)
    yield from (("Differences from the paper", Cell(line)) for line in entry.departures)
    yield "Paper", Cell(entry.paper, link=entry.paper if is_link else "")
    yield "Family", Cell(entry.family)
    yield "Needs", Cell(", ".join(entry.needs) or ("" if entry.family == SENT else "nothing but the dialogue"))
    yield "Levels", Cell(", ".join(entry.levels))
    cost = costs(index.results).get((entry.name, entry.columns[0])) if entry.columns else None
    seconds, fitted = sentences.seconds(cost) if cost else "", ", ".join(sorted(entry.learned_on))
    yield "Models", Cell(", ".join(entry.models))
    yield from (("Pretrained on", Cell(line)) for line in entry.pretrained_on)
    yield "Trained on", Cell(entry.trained_on)
    yield "Made of", Cell(", ".join(cost.inputs) if cost else "")
    yield "Cost", Cell(f"{seconds} s per 1,000 items, by itself, models loaded, with its inputs" if seconds else "")
    yield "Fitted on", Cell(f"ratings of {fitted}: its values there are shown and do not count" if fitted else "")
    yield "Scope", Cell(SCOPES.get(entry.scope, entry.scope))
    yield "Signature", Cell(entry.signature, code=True)


def _printed(index: Index, columns: Sequence[Column]) -> tuple[str, tuple[Block, ...]]:
    """Set beside this run what papers print of the metric on the same datasets, and name the columns that it is of."""
    grid = next((grid for exhibit in index.results.exhibits if exhibit.kind == "challenge" for grid in exhibit.grids
                 if grid.name == "beside-print"), None)
    names = {name for _, name in columns}
    rows = [row for row in grid.rows if row[0] in names] if grid else []
    if grid is None or not rows:
        return "", ()
    heads = (Heading(grid.head[1].capitalize(), "stub"), *(
        Heading(text.capitalize(), "number" if text in ("printed", "this run") else "words") for text in grid.head[2:]))
    drawn = table_of(index, "paper-table", "Printed and in this run, Spearman", heads, (
        (Cell(row[1], link=index.dataset_paths.get(row[1], "")), *map(Cell, row[2:])) for row in rows))
    return ", ".join(dict.fromkeys(row[0] for row in rows)), (drawn,)


def _columns(index: Index, asked: Sequence[Question], columns: Sequence[Column]) -> tuple[Block, ...]:
    shown = asked[:SHOWN]

    def cell(question: Question, column: Column) -> Cell:
        row = question.row(column)
        return Cell(MISSING, title="a value is missing") if row is None else value_cell(
            row.value, (math.nan, math.nan), shaded=True)._replace(small=f"rank {row.rank}")

    headings = (Heading("Column", "stub"), *(Heading(one.title, "number") for one in shown))
    rows = ((Cell(index.labels[column]), *(cell(one, column) for one in shown)) for column in columns)
    return (table_of(index, "columns-table", "Mean Spearman of each column", headings, rows),)


def _targets(index: Index, column: Column) -> tuple[Block, ...]:
    """Draw every rated target with what people reach there."""
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Spearman", "number", small="95 % interval"),
                Heading("p", "number"), Heading("Corrected", "number", small="for rater noise"),
                Heading("One rater", "number", small="against the others"), Heading("Items", "number"))
    rows = [_target(index, column, entry.name, quality.name) for entry in index.datasets
            for quality in entry.qualities if quality.rated]
    caption = f"{index.labels[column]} on every quality of every dataset"
    found = table_of(index, "targets-table", caption, headings, rows)
    any_fitted = any(index.is_fitted(column, entry.name) for entry in index.datasets)
    shared = (Prose(SHARED, link="methods.html#statistics"),) if any(
        0 < entry.contexts < entry.items for entry in index.datasets) else ()
    return (Prose(READ), *shared, replace(found, data=marked(found.data, any_fitted))) if rows else ()


def _target(index: Index, column: Column, dataset: str, quality: str) -> Row:
    row = index.correlation((dataset, quality), column)
    first = (Cell(dataset, link=index.dataset_paths[dataset]), Cell(quality))
    if row is None or not has_value(row):
        return (*first, missing(index.why((dataset, quality), column)), *(Cell(""),) * 4)
    value = correlation_cell(row)
    corrected, one_rater = (number_cell(one) if math.isfinite(one) else Cell("", title="not known")
                            for one in (row.corrected, index.reliability.get((dataset, quality, ONE_RATER), math.nan)))
    if index.reliability.get((dataset, quality, LIMIT), math.nan) < LEAST:
        corrected = Cell(MISSING, title=f"the raters’ reliability is below {LEAST}")
    return (*first, fitted_cell(value) if index.is_fitted(column, dataset) else value,
            Cell(p_value(row.p), value=row.p if math.isfinite(row.p) else None), corrected, one_rater,
            count_cell(row.n))


def _items(index: Index, entry: MetricEntry) -> tuple[Block, ...]:
    """Show the items that it overrates and underrates most."""
    own = [row for row in index.results.examples if row.metric == entry.name]

    def side(title: str, rows: Iterable[Example]) -> Iterable[Block]:
        listed = list(rows)[:MOST]
        if listed:
            yield Prose(title)
        for row in listed:
            yield from example_blocks(row)

    ordered = sorted(own, key=lambda row: (-abs(row.people - row.metrics), row.item))
    over, under = ([row for row in ordered if (row.metrics > row.people) == high] for high in (True, False))
    return (Prose(ITEMS), *side("It rates these too high", over), *side("It rates these too low", under)) if own else ()


def _lengths(index: Index, items: Mapping[str, DatasetItems], column: Column) -> tuple[Block, ...]:
    """Show how far scores, and people's ratings, correlate with length, dataset by dataset."""
    rows = []
    for entry in index.datasets:
        profile = length_profile(items[entry.name], column) if entry.name in items else None
        if profile is not None and math.isfinite(profile[0]):
            name = Cell(entry.name, link=index.dataset_paths[entry.name])
            rows.append((name, Cell(items[entry.name].quality.name), *(
                number_cell(value, shaded=True) if math.isfinite(value) else missing("all values are equal")
                for value in profile)))
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Scores with length", "number"),
                Heading("Ratings with length", "number"), Heading("Scores with ratings", "number"),
                Heading("Scores with ratings", "number", small="length held constant"))
    drawn = table_of(index, "length-table", "Scores, ratings and length", headings, rows)
    return (Prose(LENGTH), drawn) if rows else ()
