"""The cards of the corpora, from cards.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """What is known of a corpus, called as its file; `training` are the splits that may be trained on."""

    name: str
    title: str
    training: tuple[str, ...]
    licence: str
    citation: str
    notes: str = ""


def _cards() -> dict[str, CorpusCard]:
    tables = tomllib.loads((files(__package__) / "cards.toml").read_text(encoding="utf-8"))
    return {name: CorpusCard(**{**table, "name": name, "training": tuple(table["training"])})
            for name, table in tables.items()}


CARDS = _cards()
"""The card of each corpus."""
