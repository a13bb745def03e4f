"""Skip a run whose inputs and outputs have not changed since its results were written.

    OUT/state.json    the digest of all inputs, and the digest of every file written

Inputs are the code with its data, the datasets, the signatures of the metrics, the options, the environment and the
studies shown on the pages. File contents are compared, not modification times, so edited results are recomputed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.errors import BadStore
from benchmarks.storage import store as datasets
from benchmarks.storage.files import write_atomically
from harness.run.environment import facts
from harness.run.plan import Plan
from harness.run.prepare import OMITTED, Workspace
from harness.scoring import pairs
from metrics.errors import MissingResource
from metrics.metric import line, signature
from metrics.models import resources
from metrics.registry import Chosen

FILE = "state.json"
PACKAGES = ("benchmarks", "metrics", "harness", "leaderboard")
OUTPUTS = ("report", "site", "scores", "statistics")
TEMPORARY = {".pyc", ".part"}
"""Suffixes of temporary files."""


def inputs(plan: Plan, work: Workspace, out: Path) -> str:
    """Return the digest of everything that determines the results of a plan, and of where its scores are stored."""
    settings = dataclasses.asdict(plan.settings)
    ratings = plan.settings.ratings
    parts = {
        "code": _digests(Path(__file__).resolve().parents[2], *PACKAGES),
        "datasets": {card.name: [str(card), _installed_dataset(work.home, card.name)] for card in plan.cards},
        "metrics": [[chosen.label, *map(str, _signatures(chosen, work))] for chosen in plan.chosen],
        "options": {name: str(value) for name, value in settings.items() if name not in OMITTED or name == "store"},
        "installed": _installed_packages(),
        "environment": str(facts(plan.settings.seed, str(work.models.machine), {}, plan.command)),
        "reused": plan.reused.digest,
        "ratings": hashlib.sha256(ratings.read_bytes()).hexdigest() if ratings else "",
        "studies": _digests(out, "studies")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def holds(out: Path, state: str) -> bool:
    """Return True if the results in a folder are from the same inputs and no file has changed."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        recorded = json.loads((out / FILE).read_bytes())
        outputs = _digests(out, *OUTPUTS)  # other runs may have added files to the same store
        return bool(recorded["inputs"] == state and recorded["outputs"].items() <= outputs.items())
    return False


def record(out: Path, state: str) -> None:
    """Record inputs and outputs of the results in a folder."""
    content = {"inputs": state, "outputs": _digests(out, *OUTPUTS)}
    write_atomically(out / FILE, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def forget(out: Path) -> None:
    (out / FILE).unlink(missing_ok=True)


def _digests(root: Path, *folders: str) -> dict[str, str]:
    return {str(path.relative_to(root)): resources.sha256(path) for folder in folders
            for path in (root / folder).rglob("*") if path.suffix not in TEMPORARY and path.is_file()}


def _installed_dataset(home: Path, name: str) -> object:
    """Return the record of an installed dataset and its files; empty for the bundled sample, which counts as code."""
    try:
        stored = datasets.stored_record(home, name)
    except BadStore as error:
        return str(error)
    return [str(stored), _digests(home / "datasets", stored.folder)] if stored else ""


def is_signed(chosen: Chosen, work: Workspace) -> bool:
    """Return True unless a model or resource of the metric is already known to be missing."""
    return not any(isinstance(part, MissingResource) for part in _signatures(chosen, work))


def _signatures(chosen: Chosen, work: Workspace) -> Iterator[str | MissingResource]:
    """Yield the signature of a metric and of each of its inputs, or the error if it lacks a model or resource."""
    for part in (chosen, *pairs.without_composites([chosen])):
        try:
            yield line(signature(part.metric, work.models))
        except MissingResource as error:
            yield error


def _installed_packages() -> list[str]:
    """List the installed packages with their versions, since a missing package may have been installed."""
    folders = [path for path in map(Path, sys.path) if path.is_dir()]
    return sorted({entry.name for folder in folders for entry in folder.iterdir() if entry.suffix == ".dist-info"})
