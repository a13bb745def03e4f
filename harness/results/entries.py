"""Records of the datasets, metrics and trained weights of a run, and the boards that they form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from metrics.metric import line
from metrics.models.checkpoint import Evaluation


@dataclass(frozen=True, slots=True)
class QualityEntry:
    """A quality of a dataset: its scale if known, a warning if nearly all votes are equal.

    `rated` counts the items with votes, `votes` all votes, 0 if unknown.
    """

    name: str
    dimension: str
    low: float | None
    high: float | None
    rated: int
    warning: str = ""
    votes: int = 0


@dataclass(frozen=True, slots=True)
class BoardId:
    """A board: a split, perhaps limited to its datasets with references or in a language, or to one dimension."""

    split: str
    part: str = ""
    dimension: str = ""

    @classmethod
    def parse(cls, name: str) -> BoardId:
        """Read a name such as dev, test-references, more-zh or dev:fluency."""
        group, _, dimension = name.partition(":")
        split, _, part = group.partition("-")
        return cls(split, part, dimension)

    @property
    def group(self) -> str:
        """The name without the dimension."""
        return f"{self.split}-{self.part}" if self.part else self.split

    @property
    def rule(self) -> str:
        """The rule that ranks the board; the others are shown beside it."""
        return "test" if self.split == "test" and not self.dimension else "dev"

    def __str__(self) -> str:
        return f"{self.group}:{self.dimension}" if self.dimension else self.group


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A dataset as the run used it; `has` names the optional fields of its items: references, context, facts.

    `ratings` counts pairs of an item and a quality with a vote, `votes` all votes, 0 if unknown. `fingerprint` is the
    SHA-256 of the items, `ratings_fingerprint` of the votes. `contexts` counts different contexts, where all contexts
    of a conversation count as one; with fewer contexts than items, the items are not independent.
    """

    KEY: ClassVar = ("name",)
    name: str
    title: str
    split: str
    level: str
    origin: str
    fingerprint: str
    items: int
    ratings: int
    qualities: tuple[QualityEntry, ...]
    licence: str
    citation: str
    notes: str = ""
    has: tuple[str, ...] = ()
    contexts: int = 0
    ratings_fingerprint: str = ""
    language: str = "en"
    votes: int = 0

    @property
    def kind(self) -> Literal["real", "sample"]:
        """`sample` or `real`, which never share a board."""
        return "sample" if self.origin == "sample" else "real"

    def on(self, board: str) -> bool:
        """Return True if the dataset is on the named board, or if the name is empty."""
        board_id = BoardId.parse(board)
        return board_id.split in ("", self.split) and board_id.part in ("", self.language, *self.has)


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """A metric as the run used it; `signature` identifies everything its scores depend on.

    `system` compares it to its paper's system, `departures` lists differences, `fitted_on` is "", dialogues or ratings.
    `models` names the models that it uses, `pretrained_on` their corpora as far as known, `parameters` counts the
    parameters of all its networks. `learned_on` names the datasets on whose ratings its weights were fitted. `source`
    names the bundle that its scores come from; it is empty if this run computed them. `named` is the title requested
    for the run. `notes` are its card's.
    """

    KEY: ClassVar = ("name",)
    name: str
    title: str
    family: str
    columns: tuple[str, ...]
    levels: tuple[str, ...]
    signature: Mapping[str, str]
    needs: tuple[str, ...] = ()
    paper: str = ""
    scope: str = "item"
    trained_on: str = ""
    models: tuple[str, ...] = ()
    learned_on: tuple[str, ...] = ()
    system: str = ""
    departures: tuple[str, ...] = ()
    fitted_on: str = ""
    parameters: int = 0
    pretrained_on: tuple[str, ...] = ()
    source: str = ""
    named: str = ""
    notes: str = ""

    @property
    def signed(self) -> str:
        return line(self.signature)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of a composite's inputs, without options."""
        return tuple(dict.fromkeys(value for name, value in self.signature.items() if name.endswith(": metric")))

    @property
    def badge(self) -> str:
        """The relation to its paper's system, and whether it was fitted on ratings or its scores are from a bundle."""
        return "; ".join(filter(None, (self.system, "fitted on ratings" if self.fitted_on == "ratings" else "",
                                       f"scores from {self.source}" if self.source else "")))


def fitted(metrics: Iterable[MetricEntry], datasets: Iterable[DatasetEntry]) -> set[tuple[str, str]]:
    """Return pairs of a metric and a real dataset on whose ratings it was fitted: correlations there do not count."""
    real = {entry.name for entry in datasets if entry.kind == "real"}
    return {(entry.name, name) for entry in metrics for name in entry.learned_on if name in real}


@dataclass(frozen=True, slots=True)
class TrainingEntry:
    """Trained weights that metrics of the run use, and their training; `kept` is the step at which they were saved."""

    KEY: ClassVar = ("name", "encoder", "digest")
    name: str
    metrics: tuple[str, ...]
    encoder: str
    digest: str
    corpora: tuple[str, ...]
    seed: int
    steps: int
    kept: int
    device: str
    seconds: float
    command: str
    commit: str | None
    curve: tuple[Evaluation, ...]
