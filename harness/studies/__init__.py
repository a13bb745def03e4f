"""Studies of how metrics are compared, on the data at hand.

A study is one module or package of this folder, found by its name, with

    TITLE                               its subject, in a line
    FLAGS                               which of --metric, --dataset, --quality, --split and --from it accepts
    study(request) -> Findings          the study itself

The first paragraph of the module's docstring introduces the study's page.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from types import ModuleType

from benchmarks.dataset import Dataset
from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.results import exhibits
from harness.results.exhibits import Exhibit, Grid
from harness.results.rows import Results
from harness.run import plan
from harness.run.correlate import TargetData
from harness.run.plan import Plan
from harness.run.prepare import Workspace, open_workspace
from harness.run.run import run_with_data
from harness.run.settings import Settings


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of a study: tables and remarks to read, and objects by kind for programs."""

    tables: tuple[Grid, ...]
    remarks: tuple[str, ...]
    objects: Mapping[str, Sequence[Mapping[str, object]]]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyRequest:
    """The command line of a study, with data and models loaded on first use; `folder` is the value of --from."""

    settings: Settings
    home: Path
    out: Path
    draws: int = 400
    folder: Path | None = None

    @cached_property
    def plan(self) -> Plan:
        return plan.make(dataclasses.replace(self.settings, draws=0, examples=0))

    @cached_property
    def workspace(self) -> Workspace:
        return open_workspace(self.plan, self.home, self.out)

    @property
    def broken(self) -> tuple[str, ...]:
        """The plug-ins that cannot be loaded, with reasons."""
        return tuple(f"{name}: {reason}" for name, reason in self.plan.broken)

    def datasets(self) -> list[Dataset]:
        loaded = (plan.load(card, self.home, self.settings) for card in self.plan.cards)
        return [dataset for dataset in loaded if dataset is not None]

    def scored(self, study: str) -> tuple[Results, list[TargetData], tuple[str, ...]]:
        """Compute missing scores, as a run does; return results, targets with non-constant ratings, and failures."""
        results, targets = run_with_data(dataclasses.replace(self.plan, command=f"harness study {study}"),
                                         self.workspace)
        failures = tuple(f"{failure.metric} on {failure.dataset}: {failure.error}" for failure in results.failures)
        return results, [target for target in targets if target.judged.usable], failures


def names() -> tuple[str, ...]:
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> ModuleType:
    if name not in names():
        raise BadConfig(f"unknown study {name!r}; {nearest(name, names())}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def files(name: str, command: str, findings: Findings) -> dict[str, bytes]:
    """Return the files of a study: page, a CSV file for each kind of object, and exhibit for the site."""
    study = load(name)
    failed = tuple(f"Failed and left out: {line}." for line in findings.failures)
    exhibit = Exhibit(name, "study", study.TITLE, " ".join((study.__doc__ or "").partition("\n\n")[0].split()), command,
                      findings.tables, (*findings.remarks, *failed))
    tables = {f"{kind}.csv": exhibits.csv_of([entries[0], *(map(_cell, entry.values()) for entry in entries)])
              for kind, entries in findings.objects.items() if entries}
    return {f"{name}.md": exhibits.markdown(exhibit), exhibits.FILE: exhibits.encoded(exhibit), **tables}


def _cell(value: object) -> object:
    """Round numbers to nine significant digits; return missing numbers as None and lists as JSON."""
    if isinstance(value, list | tuple):
        return json.dumps(list(map(_cell, value)), ensure_ascii=False)
    if not isinstance(value, float | Decimal):
        return value
    return float(f"{float(value) + 0:.9g}") if math.isfinite(value) else None
