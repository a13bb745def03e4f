"""BERTScore (Zhang et al., 2020): tokens matched by the cosine of their hidden states, as in the bert-score package.

Special tokens can be matched but are not counted. A text without other tokens scores 0. `standard` takes the largest
precision, recall and F-measure over the references separately, so that F need not follow from the other two. RoBERTa
and GPT-2 tokenizers get each text preceded by a space, as in the paper's experiments.

Departures from the package: a token whose best cosine is negative counts as 0 (in the package, only if the text that it
is matched with is padded, i.e. not the longest of its batch); texts are truncated at the encoder's limit; with `idf`, a
text whose tokens all have weight 0 scores 0, not NaN.
"""

from __future__ import annotations

import contextlib
import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item, Reference
from metrics.errors import BadOption
from metrics.metric import NO_FILE, Column, Columns, File, MetricCard
from metrics.models.encoder import Encoder, blocks
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text.similarity import WeightedVectors, soft_match, unit
from metrics.text.words import Aggregation, reference_groups, unscored

MAX_RESPONSES = 1_024
"""Maximum number of responses with the same references encoded at a time."""
DECIMALS = 6
"""Decimals of a score before rescaling; beyond them, float32 rounding would separate replies equal to a reference."""
SharedReferences = tuple[tuple[Reference, ...], list[tuple[int, str]]]
"""References, and the positions and texts of the responses that share them."""
LAYERS = {
    "albert-base-v2": 9, "albert-large-v2": 14, "albert-xlarge-v2": 13, "albert-xxlarge-v2": 8, "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9, "bert-base-uncased": 9, "bert-large-uncased": 18, "deberta-base": 9,
    "deberta-base-mnli": 9, "deberta-large": 16, "deberta-large-mnli": 18, "deberta-v3-base": 9, "deberta-v3-large": 12,
    "deberta-v3-small": 4, "deberta-xlarge": 18, "deberta-xlarge-mnli": 40, "distilbert-base-uncased": 5,
    "distilroberta-base": 5, "electra-base-discriminator": 9, "electra-large-discriminator": 14, "mpnet-base": 8,
    "roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19, "sup-simcse-bert-base-uncased": 10,
    "sup-simcse-bert-large-uncased": 18, "sup-simcse-roberta-base": 10, "sup-simcse-roberta-large": 16,
    "unsup-simcse-bert-base-uncased": 10, "unsup-simcse-bert-large-uncased": 18, "unsup-simcse-roberta-base": 8,
    "unsup-simcse-roberta-large": 13, "xlm-roberta-base": 9, "xlm-roberta-large": 17, "xlnet-base-cased": 5,
    "xlnet-large-cased": 7,
}
"""The layer that correlates best with the WMT16 ratings, by model name without the owner."""


@dataclass(frozen=True, slots=True)
class BertScore:
    """F = 2 · P · R / (P + R); P is the mean over tokens x of the response of max over y in the reference of cos(x, y).

    R is the same with response and reference exchanged; with `idf`, both means weight a token by −log of the smoothed
    share of references that contain it. Rescaled by a baseline b, a score s is (s − b) / (1 − b).
    """

    card: ClassVar[MetricCard] = MetricCard(
        name="bert-score", title="BERTScore", columns=("bert-score-p", "bert-score-r", "bert-score-f"),
        family="embedding", needs=("references",), models=("encoder",), scope="dataset",
        paper="https://openreview.net/forum?id=SkeHuCVFDr",
        notes="Gives the scores of the bert-score package, except for negative cosines and truncated texts. An item's "
              "score depends on the other items only with idf=true.",
        system="as published", revision=2,
    )
    encoder: str = ""
    layer: int = 0
    idf: bool = False
    baseline: File = NO_FILE
    references: Aggregation = "standard"

    def __post_init__(self) -> None:
        if self.layer < 0:
            raise BadOption(f"bert-score: layer must be 1 or more, or 0 for the recommended one, not {self.layer}")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return precision, recall and F-measure, 0 to 1 unless rescaled; NaN without a reference."""
        encoder = models.encoder(self.encoder)
        if layer := self.layer or LAYERS.get(encoder.name.rpartition("/")[-1].casefold(), 0):
            encoder = models.encoder(self.encoder, layer)
        baseline = np.zeros(3)
        if self.baseline:
            baseline = _baseline(self.baseline, encoder.layer or int(encoder.networks[0].config.num_hidden_layers))
        groups = [(shared, replies[start : start + MAX_RESPONSES])
                  for shared, replies in reference_groups(items, self.references)
                  for start in range(0, len(replies), MAX_RESPONSES)]
        weighting = _TokenWeighting(encoder, groups if self.idf else None)
        table = unscored(3, len(items))
        for block in blocks(groups, lambda group: sum(map(len, _texts(group)))):
            texts = weighting.encode(block)
            for shared, replies in block:
                references = [texts[reference.text] for reference in shared]
                for row, text in replies:
                    response, weights = texts[text]
                    pairs = [soft_match(np.maximum(response @ reference.T, 0), weights, reference_weights)
                             for reference, reference_weights in references]
                    table[:, row] = self._over_references(*np.array(pairs).T)
        table = ((table.round(DECIMALS).T - baseline) / (1 - baseline)).T
        return dict(zip(self.card.columns, table, strict=True))

    def _over_references(self, precisions: Column, recalls: Column) -> Column:
        sums = precisions + recalls
        scores = np.stack([precisions, recalls, 2 * precisions * recalls / np.where(sums == 0, 1, sums)])
        aggregated: Column = scores.mean(axis=1) if self.references == "mean" else scores.max(axis=1)
        return aggregated


class _TokenWeighting:
    """Encodes texts and weights their tokens equally, or with idf by inverse document frequency in the references."""

    def __init__(self, encoder: Encoder, idf_groups: Sequence[SharedReferences] | None) -> None:
        from transformers import GPT2Tokenizer, RobertaTokenizer

        self._encoder = encoder
        wrapped = encoder.tokenizer.wrapped
        self._prefix = " " if isinstance(wrapped, (GPT2Tokenizer, RobertaTokenizer)) else ""
        self._weights: dict[int | None, float] = {wrapped.cls_token_id: 0.0, wrapped.sep_token_id: 0.0}
        self._default_weight = 1.0
        if idf_groups is not None:
            self._weigh(idf_groups)

    def encode(self, block: Sequence[SharedReferences]) -> dict[str, WeightedVectors]:
        texts = list(dict.fromkeys(text for group in block for text in _texts(group)))
        prepared = [self._prepared(text) for text in texts]
        rows = self._encoder.tokenizer.texts(prepared)
        return {text: self._weighted(states, row.ids)
                for text, states, row in zip(texts, self._encoder.states(prepared), rows, strict=True)}

    def _weighted(self, states: Vectors, ids: list[int]) -> WeightedVectors:
        if not ids:  # a model without special tokens
            return np.zeros((1, self._encoder.width), np.float32), np.zeros(1)
        weights = np.array([self._weights.get(token_id, self._default_weight) for token_id in ids])
        return unit(states), weights / (weights.sum() or 1)

    def _prepared(self, text: str) -> str:
        text = text.strip()
        return self._prefix + text if text else ""

    def _weigh(self, groups: Sequence[SharedReferences]) -> None:
        """Weight tokens by log((n + 1) / (n_t + 1)), for n references of all items, n_t of which contain the token."""
        uses: Counter[str] = Counter()
        for shared, replies in groups:
            for reference in shared:
                uses[reference.text] += len(replies)
        reference_counts: Counter[int] = Counter()
        rows = self._encoder.tokenizer.texts([self._prepared(text) for text in uses])
        for text, row in zip(uses, rows, strict=True):
            reference_counts.update(dict.fromkeys(row.ids, uses[text]))
        total = uses.total() + 1
        self._weights = {token_id: math.log(total / (count + 1)) for token_id, count in reference_counts.items()}
        self._default_weight = math.log(total)


def _baseline(file: File, layer: int) -> Column:
    """Return P, R and F of a layer from a file of lines `LAYER,P,R,F`, the package's format."""
    for line in csv.reader(file.content().decode(errors="replace").replace("\t", ",").splitlines()):
        if line and line[0].strip() == str(layer):
            with contextlib.suppress(ValueError):
                _, precision, recall, f = map(float, line)
                return np.array([precision, recall, f])
            break
    raise BadOption(f"bert-score: {file} has no line LAYER,P,R,F for layer {layer}")


def _texts(group: SharedReferences) -> list[str]:
    shared, replies = group
    return [*(reference.text for reference in shared), *(text for _, text in replies)]
