"""The items of a dataset on which people and metrics disagree most, with the texts and both places."""

from __future__ import annotations

from collections.abc import Sequence

from harness.results.rows import DatasetEntry, Example
from leaderboard.blocks.pictures import places
from leaderboard.blocks.tables import Block, Cell, Facts, Picture, Prose, Section
from leaderboard.model.index import Index, origin_of

EXPLAINED = ("Places run from 0, the lowest of the dataset, to 1, the highest. Square: people. Dot: the median of "
             "the metrics. Strokes: the named metrics. Of longer dialogues the last utterances are shown.")


def sections(index: Index, entry: DatasetEntry) -> tuple[Section, ...]:
    """Show the examples of a dataset: first those that people place higher than the metrics do, then the others."""
    examples = sorted((row for row in index.results.examples if row.dataset == entry.name),
                      key=lambda row: (-abs(row.people - row.metrics), row.item, row.quality))
    if not examples:
        return ()
    text = Prose(f"{EXPLAINED} Data: {index.data(origin_of(entry))}.")
    return (Section("examples", "Where people and metrics disagree most", (text,)),
            *_side("high-for-people", "High for people, low for the metrics",
                   [row for row in examples if row.people > row.metrics]),
            *_side("high-for-metrics", "High for the metrics, low for people",
                   [row for row in examples if row.people <= row.metrics]))


def _side(anchor: str, title: str, rows: Sequence[Example]) -> tuple[Section, ...]:
    if not rows:
        return ()
    return (Section(anchor, title, (), level=3), *(
        Section(f"{anchor}-{number}", f"People {row.people:.2f}, metrics {row.metrics:.2f}", _example(row), level=4)
        for number, row in enumerate(rows, start=1)))


def _example(row: Example) -> tuple[Block, ...]:
    kind = "Context" if row.response else "Utterance"  # of a whole dialogue
    context = ((f"{kind} {number}", Cell(text)) for number, text in enumerate(row.context, start=1))
    named = ", ".join(f"{column} {place:.2f}" for column, place in row.columns)
    pairs = (*context, ("Response", Cell(row.response)), ("System", Cell(row.system)),
             ("People", Cell(f"{row.quality} {row.rating:.2f}, place {row.people:.2f}")),
             ("Metrics", Cell(f"median place {row.metrics:.2f}" + (f"; {named}" if named else ""))),
             ("Item", Cell(row.item, code=True)))
    text = f"{row.item}: place {row.people:.2f} for people, {row.metrics:.2f} for the metrics."
    drawn = places.svg(row.people, row.metrics, [place for _, place in row.columns], text)
    return (Picture(drawn, text), Facts(tuple(pair for pair in pairs if pair[1].text)))
