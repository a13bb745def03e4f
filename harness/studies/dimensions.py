"""How the qualities that people rate hang together, on every dataset with several: FineD-Eval's choice of its own.

Zhang et al. (2022) correlate the eleven qualities of FED's dialogues with each other, group them (Table 1) and select
three that a metric should have. The same is done here with every dataset of three qualities or more; no metric takes
part. Beside the numbers on fed-dial stand those in print. `_dim_groups` says how each step is done.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.dataset import Dataset
from harness.errors import BadConfig
from harness.run.correlate import Judged, judged
from harness.studies import Findings
from harness.studies._dim_groups import Pair, Verdict, groups, pair, verdicts
from harness.studies._dim_page import findings

TITLE = "How the qualities that people rate hang together"
FEWEST = 3
"""Qualities that a dataset must have."""


@dataclass(frozen=True, slots=True)
class Related:
    """The qualities of a dataset: their correlations, groups, and what the selection rule says."""

    dataset: Dataset
    rated: tuple[Judged, ...]
    pairs: tuple[Pair, ...]
    groups: dict[str, tuple[str, ...]]
    verdicts: tuple[Verdict, ...]


def study_ratings(datasets: Sequence[Dataset], qualities: Sequence[str], seed: int, draws: int) -> Findings:
    """Relate the qualities of each dataset to each other; `qualities` names those to look at, none for all."""
    found = [one for dataset in datasets if (one := related(dataset, qualities, seed, draws)) is not None]
    if not found:
        raise BadConfig(f"no dataset that was asked for has {FEWEST} qualities or more whose ratings differ; "
                        "fed-dial has eleven")
    return findings(TITLE, found, seed, draws)


def related(dataset: Dataset, qualities: Sequence[str], seed: int, draws: int) -> Related | None:
    """What is found on a dataset; None where fewer than three of its qualities have ratings that differ."""
    wanted = {name.casefold() for name in qualities}
    rated = tuple(one for one in judged(dataset, dataset.card.qualities) if one.usable and (
        not wanted or {one.quality.name.casefold(), one.quality.dimension} & wanted))
    if len(rated) < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    pairs = tuple(pair(one, other, rng, draws) for one, other in itertools.combinations(rated, 2))
    overall = {({one.first, one.second} - {"overall"}).pop(): one.value for one in pairs
               if "overall" in (one.first, one.second)}
    names = [one.quality.dimension for one in rated if one.quality.dimension != "overall"]
    grouped = groups(names, pairs, overall)
    return Related(dataset, rated, pairs, grouped, tuple(verdicts(rated, overall, grouped)))
