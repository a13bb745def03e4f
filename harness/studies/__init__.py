"""Studies: questions about how metrics are compared, asked of the data on this machine.

A study is one module or package of this folder, found by its name, with

    TITLE                               what it is about, in a line
    FLAGS                               which of --metric, --dataset, --quality, --split and --from it takes
    study(request) -> Findings          ask and answer; the first paragraph of its docstring leads its page

A `StudyRequest` has what the command line says, and makes what a study needs when it is first used: the datasets, the
scored targets of a run, or the models and stores of a run for a study with data of its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.results import exhibits, heat_maps
from harness.results.rows import Exhibit, Grid, HeatMap

if TYPE_CHECKING:
    from benchmarks.dataset import Dataset
    from harness.results.rows import DatasetEntry
    from harness.run.correlate import TargetData
    from harness.run.plan import Plan, Selection
    from harness.run.workspace import Workspace
    from metrics.models.service import Choice

ORIGINS = {"real": "real data", "sample": "the bundled sample (made by a script, simulated raters)"}


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """The targets of one kind of data, which alone are compared with one another."""

    name: str
    title: str
    targets: tuple[TargetData, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """The answer of a study: tables and remarks to read, objects for a program by their kind, and heat maps."""

    tables: tuple[Grid, ...]
    remarks: tuple[str, ...]
    objects: Mapping[str, Sequence[Mapping[str, object]]]
    maps: tuple[HeatMap, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyRequest:
    """What the command line asks of a study; `folder` is the value of --from."""

    selection: Selection
    home: Path
    out: Path
    draws: int = 400
    folder: Path | None = None
    choice: Choice | None = field(default=None)

    @property
    def seed(self) -> int:
        """The seed of everything random."""
        return self.selection.seed

    @cached_property
    def plan(self) -> Plan:
        """The chosen metrics and datasets."""
        from harness.run import plan

        return plan.make(self.selection, plan.Draws(self.seed, ranks=0))

    @cached_property
    def workspace(self) -> Workspace:
        """Models, score store and cache, as for a run."""
        from harness.run.workspace import open_workspace

        return open_workspace(self.plan, self.home, self.out, choice=self.choice)

    @property
    def broken(self) -> tuple[str, ...]:
        """The plug-ins that cannot be loaded, with the reason."""
        return tuple(f"{name}: {reason}" for name, reason in self.plan.broken)

    def datasets(self) -> list[Dataset]:
        """The chosen datasets, without metrics."""
        from harness.run import plan

        loaded = (plan.load(card, self.home, self.selection) for card in self.plan.cards)
        return [dataset for dataset in loaded if dataset is not None]

    def targets(self, command: str) -> tuple[list[TargetGroup], tuple[str, ...]]:
        """Score what has no score yet, as a run does; the targets by kind of data, and what failed."""
        from harness.run.run import run_with_data

        report, targets = run_with_data(dataclasses.replace(self.plan, command=command), self.workspace)
        failures = tuple(f"{failure.metric} on {failure.dataset}: {failure.error}" for failure in report.failures)
        return list(target_groups(targets, report.datasets)), failures


class Study(Protocol):
    """A module or package of this folder."""

    TITLE: str
    FLAGS: tuple[str, ...]

    def study(self, request: StudyRequest) -> Findings:
        """Ask and answer the question."""


def names() -> tuple[str, ...]:
    """Every study, by name."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> Study:
    """The study of that name; an error names the nearest."""
    if name not in names():
        raise BadConfig(f"no study {name!r}; {nearest(name, names())}")
    return cast("Study", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def files(name: str, command: str, findings: Findings) -> dict[str, bytes]:
    """What is kept of a study: a page, a CSV file for each kind of object, its picture and the exhibit of the site."""
    study = load(name)
    failed = tuple(f"Failed, and not in the study: {line}." for line in findings.failures)
    exhibit = Exhibit(name, "study", study.TITLE, " ".join((study.__doc__ or "").partition("\n\n")[0].split()), command,
                      findings.tables, findings.maps, (*findings.remarks, *failed))
    return {
        f"{name}.md": exhibits.markdown(exhibit), exhibits.FILE: exhibits.encoded(exhibit),
        **{f"{kind}.csv": exhibits.csv_of([entries[0], *(map(_cell, entry.values()) for entry in entries)])
           for kind, entries in findings.objects.items() if entries},
        **({f"{name}.svg": heat_maps.drawn(study.TITLE, findings.maps).encode()} if findings.maps else {})}


def _cell(value: object) -> object:
    """A value as a cell, a list as JSON."""
    plain = _plain(value)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, list) else plain


def _plain(value: object) -> object:
    """Numbers to nine figures, and None for what is missing."""
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if not isinstance(value, float):
        return value
    return float(f"{value + 0:.9g}") if math.isfinite(value) else None


def target_groups(targets: Iterable[TargetData], datasets: Iterable[DatasetEntry]) -> Iterator[TargetGroup]:
    """The targets by kind of data."""
    kinds = {entry.name: entry.kind for entry in datasets}
    usable = [target for target in targets if target.judged.usable]
    for origin, title in ORIGINS.items():
        if own := tuple(target for target in usable if kinds[target.dataset] == origin):
            yield TargetGroup(origin, title, own)
