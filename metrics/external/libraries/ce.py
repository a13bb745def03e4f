"""`ce:MODEL`: what a cross-encoder says of (other text, response), read as one sequence by sentence-transformers.

A model with one output is scored with its own activation, which is the sigmoid where it names none. Of a model with
several labels, `label` says whose probability is the score. A sequence that is too long is cut by the package, the
longer text first and from its end: with `against=context` that is where the last utterance stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from benchmarks.errors import nearest
from metrics.errors import BadOption, MissingResource
from metrics.external.libraries.pairs import BATCH, OfPairs, Pair, described
from metrics.metric import Column, Metric, MetricCard
from metrics.models.networks import quiet
from metrics.models.service import Models
from metrics.models.weights import Weights


@dataclass(frozen=True, slots=True)
class CrossEncoderScore(OfPairs):
    """f(other, response): the single output, or p(label); `negated` where less of it is better."""

    card: ClassVar[MetricCard] = MetricCard(
        name="ce", title="Cross-encoder score", columns=("ce",), family="sentence-transformers",
        needs=("context",), paper="https://aclanthology.org/D19-1410",
        notes="Scored by the package sentence-transformers, with the model's own activation.",
    )
    label: str = ""
    negated: bool = False

    def values(self, pairs: Sequence[Pair], models: Models) -> Column:
        """The score of each pair; each distinct pair is read once."""
        network = self.loaded("CrossEncoder", models)
        several = network.num_labels > 1
        place = self._place(network.config.id2label if several else {})
        distinct = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        with quiet():
            read = _predicted(network, [list(pair) for pair in distinct], several=several)
        scores = np.asarray(read, dtype=np.float64).reshape(len(distinct), -1)[:, place]
        column: Column = scores[[distinct[pair] for pair in pairs]]
        return -column if self.negated else column

    def files(self, models: Models) -> Weights:
        """The model's files; one without a head for pairs is refused, since its head would be drawn at random."""
        weights = OfPairs.files(self, models)
        described_as = (described(weights.folder, "config_sentence_transformers.json") or {}).get("model_type")
        kinds = (described(weights.folder, "config.json") or {}).get("architectures") or ()
        is_one = (any(kind.endswith("ForSequenceClassification") for kind in kinds)
                  and described_as in {None, "CrossEncoder"}) or described_as == "CrossEncoder"
        if not is_one:
            raise MissingResource(f"model {weights.name} is no cross-encoder ({', '.join(kinds) or 'of no known kind'}"
                                  "); a sentence encoder is asked for as st:MODEL")
        return weights

    def _place(self, labels: Mapping[int, str]) -> int:
        """The column of the label; the first of a model with one output, where no label can be chosen."""
        if not labels and not self.label:
            return 0
        named = {str(label).casefold(): place for place, label in labels.items()}
        named |= {str(place): place for place in labels}
        if self.label.casefold() not in named:
            known = nearest(self.label, map(str, labels.values())) if labels else "it has one output and none"
            raise BadOption(f"{self.card.name}: label={self.label!r} is none of its labels; {known}")
        return int(named[self.label.casefold()])


def _predicted(network: Any, pairs: list[list[str]], *, several: bool) -> Any:
    """The package's scores: (pairs,), or (pairs, labels) as probabilities."""
    import torch

    activation = torch.nn.Identity() if several else None
    return network.predict(pairs, batch_size=BATCH, show_progress_bar=False, activation_fn=activation,
                           apply_softmax=several)


def metric_class(model: str) -> type[Metric]:
    """The metric of one cross-encoder."""
    return cast("type[Metric]", CrossEncoderScore.named(f"ce:{model}", model))
