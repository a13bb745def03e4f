"""Studies: questions about how metrics are compared, asked of all the data that is here.

A study is one file of this package, found by its name, with `TITLE` and `study(materials, seed, draws) -> Findings`; a
file whose name begins with `_` is what a study shares or is made of. A study is handed the cells of a run, one
`Material` per kind of data, and gives tables, objects and files; `harness study NAME` prints and keeps them.

A study of other data than the rated datasets has `study_alone(bench) -> Findings` instead, and scores for itself. One
of ratings alone, in which no metric takes part, has `study_ratings(datasets, qualities, seed, draws) -> Findings`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from benchmarks.errors import nearest
from harness.errors import BadConfig

if TYPE_CHECKING:
    from benchmarks.dataset import Dataset
    from harness.results.rows import DatasetEntry
    from harness.run.cache import Memo
    from harness.run.correlate import TargetData
    from harness.scoring.store import ScoreStore
    from metrics.models.service import Models
    from metrics.registry import Chosen

KINDS = {"real": "real data", "sample": "the bundled sample (made by a script, simulated raters)"}


@dataclass(frozen=True, slots=True)
class Material:
    """The cells of one kind of data, which alone are looked at together."""

    name: str
    title: str
    cells: tuple[TargetData, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts, with the name and the title of the data it is on."""

    name: str
    caption: str
    data: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a study found: tables and remarks to be read, objects for a program, and files by their names."""

    tables: tuple[Table, ...]
    remarks: tuple[str, ...]
    objects: tuple[Mapping[str, object], ...]
    files: Mapping[str, bytes]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """What a study that scores for itself is given; `folder` is where its data was said to be."""

    chosen: tuple[Chosen, ...]
    home: Path
    folder: Path | None
    store: ScoreStore
    memo: Memo
    models: Models
    seed: int
    limit: int | None


@runtime_checkable
class Study(Protocol):
    """A module of this package that asks about the cells of a run."""

    TITLE: str

    def study(self, materials: Sequence[Material], seed: int, draws: int) -> Findings:
        """Ask the question; `draws` is the number of resamples."""


@runtime_checkable
class LoneStudy(Protocol):
    """A module of this package that has data of its own."""

    TITLE: str

    def study_alone(self, bench: Bench) -> Findings:
        """Ask the question."""


@runtime_checkable
class RatingsStudy(Protocol):
    """A module of this package that asks about ratings, and scores nothing."""

    TITLE: str

    def study_ratings(self, datasets: Sequence[Dataset], qualities: Sequence[str], seed: int, draws: int) -> Findings:
        """Ask the question; `draws` is the number of resamples."""


def names() -> tuple[str, ...]:
    """Every study, by name."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def load(name: str) -> Study | LoneStudy | RatingsStudy:
    """The study of that name; an unknown one is answered with the nearest."""
    if name not in names():
        raise BadConfig(f"no study {name!r}; {nearest(name, names())}")
    return cast("Study | LoneStudy | RatingsStudy", importlib.import_module(f"{__name__}.{name}"))


def materials(cells: Iterable[TargetData], datasets: Iterable[DatasetEntry]) -> Iterator[Material]:
    """The cells apart by kind of data; those with references once more by themselves, where all metrics take part."""
    entries = {entry.name: entry for entry in datasets}
    usable = [cell for cell in cells if cell.judged.usable]
    for kind, title in KINDS.items():
        own = tuple(cell for cell in usable if (entries[cell.dataset].origin == "sample") == (kind == "sample"))
        some = tuple(cell for cell in own if "references" in entries[cell.dataset].has)
        if own:
            yield Material(kind, title, own)
        if some and len(some) < len(own):
            yield Material(f"{kind}-references", f"{title}, datasets with references", some)
