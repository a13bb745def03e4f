"""Measured times, kept in the home by machine, metric and models to estimate the time of later runs.

A size has three numbers: items, characters of their responses, and characters of their contexts. A cost has the seconds
for one of each, so `cost @ size` is a time. All stages other than scoring share a single cost, in seconds per metric
and target. If the home has no times, a run starts from costs.json beside this module, which
`harness run --all --sample 60` measured with the default models on two cores and 25 datasets, and scales these times by
its own speed.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Dataset
from benchmarks.storage.files import write_atomically
from harness.scoring.pairs import models_key, without_composites
from metrics.models.service import Models
from metrics.registry import Chosen

FILE = "costs.json"
OTHERS = ""
"""The label of all stages other than scoring, whose cost does not depend on the device."""
MAX_SAMPLED_ITEMS = 1000
"""Maximum number of items read to estimate the size of a dataset."""
REPEATED_SHARE = 0.02
"""Time to score a repeated text, as a share of the time for its first occurrence."""
MIN_DATASETS = 5
"""Minimum number of datasets to fit a cost; with fewer, the earlier or default cost is scaled."""
Cost: TypeAlias = npt.NDArray[np.float64]
Size: TypeAlias = npt.NDArray[np.float64]
DEFAULT_COST: Cost = np.array([0.0, 1.0, 0.25])
"""The relative cost of a metric that has not been measured."""


def read(home: Path, chosen: Iterable[Chosen], models: Models, *, shipped: bool = True) -> dict[str, Cost]:
    """Return the costs of metrics and of their inputs by label, from the home or else from the shipped file."""
    stored = (_read_file(Path(__file__).parent) if shipped else {}) | _read_file(home)
    return {label: stored[key] for label, key in _keys(chosen, models).items() if key in stored}


def save(home: Path, chosen: Iterable[Chosen], models: Models, measured: Mapping[str, Cost]) -> None:
    """Save the costs of a run by label; do nothing if the home is not writable."""
    keys = _keys(chosen, models)
    stored = _read_file(home) | {keys[label]: cost for label, cost in measured.items() if label in keys}
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(f" {json.dumps(key)}: {[float(f'{part:.3g}') for part in cost]}"
                          for key, cost in sorted(stored.items()))
        write_atomically(home / FILE, f"{{\n{lines}\n}}\n".encode())


def size(dataset: Dataset, seen_texts: set[int]) -> Size:
    """Return the mean size of an item, counting a whole dialogue as a response.

    Texts in `seen_texts` are discounted; new texts are added to it.
    """
    whole, total = dataset.card.level == "dialogue", np.zeros(3)
    items = dataset.items[:MAX_SAMPLED_ITEMS]
    for item in items:
        context, reply = [turn.text for turn in item.context], item.response.text if item.response else ""
        text = hash((*context, reply))
        context_length = sum(map(len, context))
        weight = REPEATED_SHARE if text in seen_texts else 1
        total += weight * np.array([1, len(reply) + whole * context_length, context_length * (not whole)])
        seen_texts.add(text)
    return np.asarray(total / max(1, len(items)))


def estimate(measurements: Collection[tuple[float, Size]], earlier: Cost | None) -> Cost:
    """Estimate the cost of a metric from the seconds and sizes of datasets, and from its cost in earlier runs."""
    seconds, sizes = np.array([seconds for seconds, _ in measurements]), np.array([size for _, size in measurements])
    if len(measurements) < MIN_DATASETS or not seconds.all():
        return scale(measurements, earlier)
    from scipy.optimize import nnls

    return np.asarray(nnls(sizes / seconds[:, None], np.ones(len(measurements)))[0])


def scale(measurements: Collection[tuple[float, Size]], earlier: Cost | None) -> Cost:
    """Return the earlier cost, or else the default one, scaled to the total time of the measurements."""
    cost = DEFAULT_COST if earlier is None else earlier
    expected = sum(cost @ size for _, size in measurements)
    return cost * (sum(seconds for seconds, _ in measurements) / max(1e-9, expected))


def _read_file(home: Path) -> dict[str, Cost]:
    """Return the valid entries of the file; none if it is missing or damaged."""
    try:
        return {key: np.array(cost) for key, cost in json.loads((home / FILE).read_bytes()).items()
                if type(cost) is list and len(cost) == len(DEFAULT_COST)
                and 0 < sum(cost) < math.inf and min(cost) >= 0}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _keys(chosen: Iterable[Chosen], models: Models) -> dict[str, str]:
    return {part.label: f"{models.machine}|{part.label}|{models_key(part.metric, models)}"
            for part in without_composites(chosen)} | {OTHERS: OTHERS}
