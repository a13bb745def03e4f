"""The entries of a report name the models that scores come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from harness.run.entries import metric_entry, untrained
from metrics import registry
from metrics.metric import Columns, MetricCard
from metrics.models.service import Choice, Models
from metrics.registry import Chosen


@dataclass(frozen=True, slots=True)
class Likeness:
    """A metric over every kind of model."""

    card: ClassVar[MetricCard] = MetricCard(
        name="likeness", title="Likeness", columns=("likeness",), family="toy", models=("encoder", "lm", "vectors"))
    encoder: str = ""
    lm: str = ""
    vectors: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        return {"likeness": np.zeros(len(items))}


def test_the_model_an_option_names_goes_before_what_the_run_was_told(
        tiny_encoder: Path, tiny_lm: Path, tmp_path: Path, home: Path) -> None:
    vectors = tmp_path / "glove.txt"
    vectors.write_text("tea 1 2\n")
    models = Models(home, Choice(encoder=str(tiny_encoder), lm=str(tiny_lm)))
    chosen = Chosen(Likeness(vectors=str(vectors)))
    assert metric_entry(chosen, models).models == ("tiny-encoder", "tiny-lm", "glove.txt")
    named = Chosen(Likeness(encoder=str(tiny_lm), lm=str(tiny_lm)))
    assert metric_entry(named, models).models == ("tiny-lm", "input embeddings of tiny-encoder")


def test_a_model_that_is_not_here_has_no_name_to_show(home: Path) -> None:
    """The metric is not run; the signature says why."""
    entry = metric_entry(Chosen(Likeness(vectors="absent.txt", encoder="./absent", lm="./absent")), Models(home))
    assert entry.models == ()
    assert "not run" in entry.signature


def test_metrics_without_weights_for_the_encoder_are_named_before_a_run(tiny_encoder: Path, tmp_path: Path) -> None:
    chosen = [registry.choose(name) for name in ("deb", "length", "cosine", "mme-crs", "rank-average[inputs=length]")]
    assert untrained(chosen, Models(tmp_path, Choice(encoder=str(tiny_encoder)))) == ("deb", "mme-crs")
    assert untrained(chosen, Models(tmp_path)) == ()
