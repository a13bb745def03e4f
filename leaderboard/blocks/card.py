"""The card of a metric: what it is, what it needs, what its scores are made of, and how to run it."""

from __future__ import annotations

import shlex

from harness.results.rows import MetricEntry
from leaderboard.blocks.tables import Block, Cell, Facts, Prose
from leaderboard.model.index import Index

SCOPES = {"item": "item: the score of an item depends on that item alone",
          "dataset": "dataset: the score of an item depends on the others of its dataset"}


def card(index: Index, entry: MetricEntry) -> tuple[Block, ...]:
    """Say everything a report knows of a metric."""
    pairs = (
        ("Name", Cell(entry.name)), ("Family", Cell(entry.family)), ("Columns", Cell(", ".join(entry.columns))),
        ("Paper", Cell(entry.paper, link=entry.paper if _web(entry.paper) else "")),
        ("Needs", Cell(needs(entry))), ("Levels", Cell(", ".join(entry.levels))),
        ("Models", Cell(", ".join(entry.models))), ("Trained on", Cell(entry.trained_on)),
        ("Weights", _weights(index, entry)), ("Learned on", _learned(entry)),
        ("Scope", Cell(SCOPES.get(entry.scope, entry.scope))),
        ("Signature", Cell(entry.signature, code=True)))
    return (Facts(tuple(pair for pair in pairs if pair[1].text)),
            Prose(f"harness run --metric {shlex.quote(entry.name)} --all", code=True))


def needs(entry: MetricEntry) -> str:
    """Say in a few words what a metric cannot do without."""
    return ", ".join(entry.needs) or "nothing but the dialogue"


def _web(paper: str) -> bool:
    return paper.startswith(("https://", "http://")) and not any(sign.isspace() for sign in paper)


def _weights(index: Index, entry: MetricEntry) -> Cell:
    trained = sorted({training.name for training in index.results.trainings if entry.name in training.metrics})
    return Cell(", ".join(trained), link="training.html" if trained else "")


def _learned(entry: MetricEntry) -> Cell:
    names = ", ".join(sorted(entry.learned_on))
    return Cell(f"ratings of {names}: its values there are shown and do not count" if names else "")
