"""Measured times, kept in the home for the estimates of later runs: seconds by metric with its models, and machine.

Scoring is measured per character of reply, without the dialogues that an earlier dataset of the run has too, since
their texts are found in memory. All other stages are measured per metric and quality. For a home without times,
costs.json beside this module has those of the default models on two cores; a run scales them by its pace.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.dataset import Dataset
from benchmarks.storage.files import write_atomically
from harness.scoring import composites
from harness.scoring.pairs import shared
from metrics.models.service import Models
from metrics.registry import Chosen

FILE = "costs.json"
OTHERS = ""
"""The name of all stages but scoring."""
SAMPLED = 1000
"""Items by which the size of a dataset is judged."""
REPEATED = 0.02
"""Share of the time that a dialogue takes again."""


def read(home: Path, chosen: Iterable[Chosen], models: Models, *, shipped: bool = True) -> dict[str, float]:
    """Return the seconds of metrics and of their inputs by label, measured in the home or else those shipped."""
    stored = (_stored(Path(__file__).parent) if shipped else {}) | _stored(home)
    return {label: stored[key] for label, key in _keys(chosen, models).items() if key in stored}


def note(home: Path, chosen: Iterable[Chosen], models: Models, seconds: Mapping[str, float]) -> None:
    """Keep the seconds of a run by label; a home that cannot be written to keeps none."""
    keys = _keys(chosen, models)
    stored = _stored(home) | {keys[label]: float(f"{value:.4g}") for label, value in seconds.items() if label in keys}
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        write_atomically(home / FILE, json.dumps(stored, indent=1, sort_keys=True).encode())


def size(dataset: Dataset, seen: set[int]) -> float:
    """Return the characters of reply per item to be read; `seen` gains the dialogues."""
    texts = [tuple(turn.text for turn in (*item.context, *filter(None, (item.response,))))
             for item in dataset.items[:SAMPLED]]
    lengths = [len(text[-1]) * (REPEATED if hash(text) in seen else 1) for text in texts if text]
    seen.update(map(hash, texts))
    return sum(lengths) / max(1, len(texts))


def _stored(home: Path) -> dict[str, float]:
    """Return the valid entries of the file; none if it is missing or damaged."""
    try:
        return {key: value for key, value in json.loads((home / FILE).read_bytes()).items()
                if type(value) is float and 0 < value < math.inf}
    except (OSError, ValueError, AttributeError):
        return {}


def _keys(chosen: Iterable[Chosen], models: Models) -> dict[str, str]:
    groups = {part.label: shared(part.metric, models) for part in composites.parts(chosen)} | {OTHERS: ""}
    return {label: f"{models.machine}|{label}|{group}" for label, group in groups.items()}
