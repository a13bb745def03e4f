"""The cosine between the sentence vectors of a response and its context, or its references.

Sentence encoders such as SimCSE (Gao et al., 2021) and sentence-transformers are trained for this comparison. `pooling`
should match the model: `mean` for the bundled model, `cls` for SimCSE, without the layer that supervised SimCSE has on
top of its first token. `against=context` compares with the last `turns` utterances of the context, joined to one text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.errors import BadOption
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.similarity import cosines
from metrics.text.words import Aggregation, over_references, reference_groups, reply, unscored

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder, Pooling

PAIRS_PER_BLOCK = 4_096
"""Number of pairs encoded at a time."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cosine:
    """e(response) · e(other) / (|e(response)| · |e(other)|)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="cosine", title="Sentence cosine", columns=("cosine",), family="embedding", models=("encoder",),
        paper="https://aclanthology.org/2021.emnlp-main.552",
        notes="Needs a context, or with against=references a reference; items without one are not scored. The encoder "
              "cuts a long context at its end, which with turns above 1 can remove the last utterance.",
        system="baseline",
        departures=(
            ("Vectors come not from SimCSE but from the run's encoder, which was trained on sentence pairs, including "
             "Reddit replies."),
        ),
    )
    encoder: str = ""
    against: Literal["context", "references"] = "context"
    pooling: Literal["mean", "cls", "max"] = "mean"
    references: Aggregation = "standard"
    turns: int = 1

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise BadOption(f"cosine: turns must be 1 or more, not {self.turns}")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a cosine, −1 to 1; 0 for an empty response, NaN without a text to compare it with."""
        [column] = unscored(1, len(items))
        pairs = dict(self._pairs(items))
        by_pair = pair_cosines(itertools.chain(*pairs.values()), models.encoder(self.encoder), self.pooling)
        for row, compared in pairs.items():
            column[row] = over_references([by_pair[pair] for pair in compared], self.references)
        return {"cosine": column}

    def _pairs(self, items: Sequence[Item]) -> Iterator[tuple[int, list[Pair]]]:
        """Yield the index of each scorable item with its pairs of texts; `standard` means `max`."""
        if self.against == "references":
            for shared, replies in reference_groups(items, "max" if self.references == "standard" else self.references):
                for row, text in replies:
                    yield row, [(text, reference.text) for reference in shared]
        else:
            for row, item in enumerate(items):
                context = " ".join(turn.text for turn in item.context[-self.turns :])
                if context.strip():
                    yield row, [(reply(item), context)]


def pair_cosines(pairs: Iterable[Pair], encoder: Encoder, pooling: Pooling = "mean") -> dict[Pair, float]:
    """Return the cosine of the sentence vectors of each pair, −1 to 1; 0 where a text has no tokens."""
    distinct = list(dict.fromkeys(pairs))
    by_pair: dict[Pair, float] = {}
    for start in range(0, len(distinct), PAIRS_PER_BLOCK):
        block = distinct[start : start + PAIRS_PER_BLOCK]
        vectors = encoder.sentences([text for pair in block for text in pair], pooling)
        values = np.clip(cosines(vectors[::2], vectors[1::2]), -1, 1)
        by_pair |= zip(block, values.tolist(), strict=True)
    return by_pair
