"""Skip a run whose inputs and outputs have not changed since its results were written.

    OUT/state.json    the digest of all inputs, the digest of every file written, and the printed text

Inputs are the code with its data, the datasets, the signatures of the metrics, the options, the environment and the
studies shown on the pages. Contents are compared, never times, and results that were edited are computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.errors import BadStore
from benchmarks.storage import store as datasets
from benchmarks.storage.files import write_atomically
from harness.run.environment import facts
from harness.run.plan import Plan
from harness.run.workspace import Workspace
from harness.scoring import composites
from metrics.errors import MissingResource
from metrics.metric import signature
from metrics.registry import Chosen

FILE = "state.json"
PACKAGES = ("benchmarks", "metrics", "harness", "leaderboard")
OUTPUTS = ("report", "site", "scores", "statistics")
PASSING = {".pyc", ".part"}
"""Suffixes of temporary files."""


def inputs(plan: Plan, work: Workspace, options: Mapping[str, Any], out: Path) -> str:
    """Return the digest of everything that decides the results of a plan."""
    root = Path(__file__).resolve().parents[2]
    stored = {card.name: _dataset(work.home, card.name) for card in plan.cards}
    parts = {
        "code": dict(_digests(root, *PACKAGES)), "datasets": stored,
        "metrics": [[one.label, *map(str, _signed(one, work))] for one in plan.chosen],
        "options": {name: str(value) for name, value in options.items()}, "installed": _installed(),
        "environment": str(facts(plan.selection.seed, str(work.models.machine), {}, plan.command)),
        "reused": plan.reused.digest,
        "ratings": _digest(plan.ratings.read_bytes()) if plan.ratings else "",
        "studies": dict(_digests(out, "studies"))}
    return _digest(json.dumps(parts, sort_keys=True).encode())


def printed(out: Path, state: str) -> str | None:
    """Return the text printed by the run that made these results; None if inputs or outputs differ."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        noted = json.loads((out / FILE).read_bytes())
        if noted["inputs"] == state and noted["outputs"].items() <= _outputs(out).items():  # others may score there too
            return str(noted["printed"])
    return None


def note(out: Path, state: str, text: str) -> None:
    """Record inputs, outputs and printed text of the results in a folder."""
    content = {"inputs": state, "outputs": _outputs(out), "printed": text}
    write_atomically(out / FILE, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def forget(out: Path) -> None:
    """Delete the record, since the results are about to change."""
    (out / FILE).unlink(missing_ok=True)


def _outputs(out: Path) -> dict[str, str]:
    return dict(_digests(out, *OUTPUTS))


def _digests(root: Path, *folders: str) -> Iterator[tuple[str, str]]:
    """Yield the files below some folders with the digests of their contents."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in PASSING and path.is_file():
                with path.open("rb") as stream:
                    yield str(path.relative_to(root)), hashlib.file_digest(stream, "sha256").hexdigest()


def _dataset(home: Path, name: str) -> dict[str, str]:
    """Return the record and the files of a dataset in the home; empty for the bundled sample, which is code."""
    try:
        stored = datasets.note(home, name)
    except BadStore as error:
        return {name: str(error)}
    return {} if stored is None else {name: str(stored), **dict(_digests(home / "datasets", stored.folder))}


def is_signed(chosen: Chosen, work: Workspace) -> bool:
    """Return True if no model or resource of a metric is known to be missing before scoring."""
    return not any(isinstance(one, MissingResource) for one in _signed(chosen, work))


def _signed(chosen: Chosen, work: Workspace) -> Iterator[str | MissingResource]:
    """Yield the signatures of a metric and its inputs, or what they lack on this machine."""
    for one in (chosen, *composites.parts([chosen])):
        try:
            yield signature(one.metric, work.models)
        except MissingResource as error:
            yield error


def _installed() -> list[str]:
    """List the installed packages with their versions: a missing one may have been added."""
    folders = [path for path in map(Path, sys.path) if path.is_dir()]
    return sorted({entry.name for folder in folders for entry in folder.iterdir() if entry.suffix == ".dist-info"})


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
