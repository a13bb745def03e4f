"""Eras of datasets, by the rated systems; nothing is averaged over two eras.

Each era has its own front page, board and costs, drawn from the part of the results with its datasets.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.results.rows import Results
from leaderboard.model.index import once, only, split_order


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


@once
def parts(results: Results) -> tuple[Part, ...]:
    """Return the parts of the eras that have datasets; the front page of the first is the entry page."""
    splits = sorted({entry.split for entry in results.datasets}, key=split_order)
    present = list(dict.fromkeys(map(era_of, splits))) or [CHALLENGE]
    return tuple(Part(era, results if len(present) == 1 else only(results, {
        entry.name for entry in results.datasets if era_of(entry.split) == era}), f"-{era.name}" if number else "")
        for number, era in enumerate(present))
