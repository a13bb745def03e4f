"""`harness doctor`: Show the environment, available data and models, and metrics that would be skipped.

    harness doctor
    harness doctor --home data
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import harness
from benchmarks import registry as datasets
from benchmarks.errors import BenchmarkError, plural
from benchmarks.storage import store
from harness.run.entries import metric_entry
from harness.run.environment import PACKAGES, packages
from harness.scoring.score import unmet
from metrics import registry
from metrics.errors import BrokenPlugin, MissingResource
from metrics.metric import signature
from metrics.models.service import Models


def configure(_parser: argparse.ArgumentParser) -> None:
    """Add no flags beyond the common ones."""


def run(args: argparse.Namespace) -> int:
    for title, section in (("environment", _environment), ("home", _home), ("data", _data), ("metrics", _metrics)):
        print(title)
        for line in section(args.home):
            print(f"  {line}", flush=True)
    return 0


def _environment(home: Path) -> Iterator[str]:
    root = Path(harness.__file__).resolve().parent.parent
    yield f"harness {harness.__version__} in {root}, Python {platform.python_version()}, {platform.platform()}"
    for copy in importlib.metadata.distributions(name="dialogue-harness"):
        folder = Path(str(copy.locate_file(""))).resolve()
        if folder != root and (folder / "harness").is_dir():
            yield f"shadowed: harness {copy.version} in {folder}"
    versions = packages()
    yield ", ".join(f"{name} {version}" for name, version in versions.items())
    if missing := [name for name in PACKAGES if name not in versions]:
        yield f"not installed: {', '.join(missing)} (not needed by lexical metrics, statistics and pages)"
    torch = "" if "torch" in versions else " (torch is not installed; install the extra [neural])"
    yield f"device: {Models(home).machine}{torch}"


def _home(home: Path) -> Iterator[str]:
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    writable = "writable" if os.access(existing, os.W_OK) else "not writable"
    yield f"{home} ({writable}{'' if home.exists() else ', not created yet'})"


def _data(home: Path) -> Iterator[str]:
    for name, card in datasets.cards().items():
        try:
            stored = store.read(home, card)
            state = (f"{stored.origin}, {plural(len(stored.items), 'item')}" if stored else
                     f"not fetched; `harness fetch {name}`" if card.split == "recent" else
                     "bundled sample; import or fetch the real data")
        except BenchmarkError as error:
            state = str(error)
        yield f"{name:<18} {card.split:<5} {state}"


def _metrics(home: Path) -> Iterator[str]:
    models, installed = Models(home), []
    for name in datasets.names():
        with contextlib.suppress(BenchmarkError):  # reported with the dataset
            installed.append(datasets.load(name, home))
    for name in registry.names():
        try:
            chosen = registry.choose(name)
            signature(chosen.metric, models)
        except (BrokenPlugin, MissingResource) as error:
            yield f"{name:<18} unavailable: {error}"
            continue
        missing_needs = {dataset.card.name: need for dataset in installed if (need := unmet(chosen.metric, dataset))}
        models_used = ", ".join(metric_entry(chosen, models).models)
        skipped_on = (f"; skipped on {', '.join(missing_needs)}: {', '.join(sorted({*missing_needs.values()}))} missing"
                      if missing_needs else "")
        yield f"{name:<18} ready{f' with {models_used}' if models_used else ''}{skipped_on}"
    yield from registry.ignored_plugins()
