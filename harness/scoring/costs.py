"""Measured times, kept in the home by machine, metric and models to estimate the time of later runs.

The cost of a metric is in seconds per character of the responses; a character of a context counts a quarter. If the
home has no costs, a run starts from costs.json beside this module, which `harness run --all --sample 60` measured with
the default models on two cores and 25 datasets.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.dataset import Dataset
from benchmarks.storage.files import write_atomically
from harness.scoring.pairs import models_key, without_composites
from metrics.models.service import Models
from metrics.registry import Chosen

FILE = "costs.json"
MAX_SAMPLED_ITEMS = 1000
"""Maximum number of items read to estimate the size of a dataset."""


def read(home: Path, chosen: Iterable[Chosen], models: Models, *, shipped: bool = True) -> dict[str, float]:
    """Return the costs of metrics and of their inputs by label, from the home or else from the shipped file."""
    stored = (_read_file(Path(__file__).parent) if shipped else {}) | _read_file(home)
    return {label: stored[key] for label, key in _keys(chosen, models).items() if key in stored}


def save(home: Path, chosen: Iterable[Chosen], models: Models, measured: Mapping[str, float]) -> None:
    """Save the costs of a run by label; do nothing if the home is not writable."""
    keys = _keys(chosen, models)
    stored = _read_file(home) | {keys[label]: cost for label, cost in measured.items() if label in keys}
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(f" {json.dumps(key)}: {cost:.3g}" for key, cost in sorted(stored.items()))
        write_atomically(home / FILE, f"{{\n{lines}\n}}\n".encode())


def size(dataset: Dataset) -> float:
    """Return the mean size of an item; a dialogue is one long response."""
    weight = 1.0 if dataset.card.level == "dialogue" else 0.25
    items = dataset.items[:MAX_SAMPLED_ITEMS]
    total = sum(weight * sum(len(turn.text) for turn in item.context)
                + (len(item.response.text) if item.response else 0) for item in items)
    return total / max(1, len(items)) + 1


def _read_file(home: Path) -> dict[str, float]:
    """Return the valid entries of the file; none if it is missing or damaged."""
    try:
        return {key: cost for key, cost in json.loads((home / FILE).read_bytes()).items()
                if type(cost) in (int, float) and 0 < cost < math.inf}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _keys(chosen: Iterable[Chosen], models: Models) -> dict[str, str]:
    return {part.label: f"{models.machine}|{part.label}|{models_key(part.metric, models)}"
            for part in without_composites(chosen)}
