"""S-DiCoh (Mesgar et al. 2020, as DynaEval has it for a baseline): a dialogue as a sequence, not a graph.

    e = BiLSTM([u ; cos(u_i, u_{i−1})]);  a = softmax_i(vᵀ tanh(W e_i));  s = FC(Σ a_i e_i)
    loss: max(0, 1 − s(D) + s(D̄))

Departures: the original reads the words of an utterance with a BiLSTM and attention of its own; here u_i is the mean of
the token states of the run's encoder, which is frozen, and the cosine with the utterance before is given to it, as
DynaEval's edges have theirs, tenfold. Mesgar et al. also learn dialogue acts; the baseline does not. Vectors are
brought to scale, negatives drawn and steps counted as for DynaEval.

With `recipe=paper` it is the original: the vectors of GloVe, a BiLSTM and attention (softmax(vᵀ e)) over the words of
each utterance, the same over the utterances; one task, as in the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item, Utterance
from metrics.graph._tables import fill
from metrics.graph.dynaeval.metric import SPEAKERS, Negatives, above_worse, batch_scores, item_scores, ranking
from metrics.metric import Column, Columns, MetricCard
from metrics.models.service import Models
from metrics.models.vectors import WordVectors, from_encoder
from metrics.text.words import tokens
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

WINDOW = 0
"""No edges: a sequence has none."""
BLOCK = 256
"""How many utterances are read at a time, word by word."""


@dataclass(frozen=True, slots=True)
class SDiCoh(Trainable):
    """The network's score of a dialogue, or of a context with its response; unbounded."""

    card: ClassVar[MetricCard] = MetricCard(
        name="s-dicoh", title="S-DiCoh", columns=("s-dicoh",), family="graph", levels=("turn", "dialogue"),
        models=("encoder",), checkpoints=("s-dicoh",), paper="https://aclanthology.org/2020.acl-main.133",
        trained_on="empatheticdialogues", notes="Needs two utterances. Of a response: its context and itself.",
        system="another method", fitted_on="dialogues",
        departures=(
            "Utterances are a frozen encoder's mean token states, not read word by word with attention.",
            "The cosine with the utterance before is given to the network.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("empatheticdialogues",), steps=2_000, rate=3e-3, every=250,
                        architecture="dialogue-sequence"),
        "paper": Recipe(
            ("empatheticdialogues",), steps=115_960, epochs=20.0, rate=5e-4, warmup=0.0, decay=0.0, every=5_798,
            patience=99, schedule="constant", clip=0.0, batch=128, margin=0.1,
            architecture="dialogue-words", network={"hidden": 128, "size": 256},
            options={"words": "glove.42B.300d.txt"}, departures=(
                ("The released code's softmax of attention goes over the batch, here over the words and over the "
                 "utterances; the vectors of words are not trained, and words without one are left out."),
                ("The sizes and rates are of the original's code; those of DynaEval's baseline are not known, but for "
                 "corpus and negatives."),
                ("Batches are drawn at random with replacement; the best weights are those of the least held-out "
                 "loss, not of the best accuracy."))),
    }
    encoder: str = ""
    negatives: Negatives = "ur"
    words: str = ""
    recipe: Literal["small", "paper"] = "small"

    @property
    def weights_name(self) -> str:
        """The checkpoint of these negatives, by this recipe; without a file of words it reads the encoder's."""
        words = self.recipes[self.recipe].options.get("words", "")
        return self.named("embeddings" * bool(words and not self.words),
                          f"negatives-{self.negatives}" * (self.negatives != "ur"))

    def depends(self, models: Models) -> tuple[str, ...]:
        """The file of word vectors."""
        return (f"vectors={models.identity('vectors', self.words)}",) if self.words else ()

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A real number, higher for a more coherent dialogue; NaN of fewer than two utterances."""
        from metrics.graph.dynaeval import network as _  # noqa: F401, it registers its architectures

        network = models.scorer(self.weights_name, self.encoder).network
        if network.reads_words:
            return {"s-dicoh": word_scores(network, items, self._vectors(models))}
        return {"s-dicoh": item_scores(network, items, models.encoder(self.encoder), WINDOW)}

    def objective(self, data: TrainingData) -> Objective:
        """Score dialogues above worse ones, by a margin."""
        from metrics.graph.dynaeval import network as _  # noqa: F401, it registers its architectures
        from metrics.models.scorer import find

        kind: Any = find(data.recipe.architecture)
        if kind.reads_words:
            vectors = self._vectors(data.models)
            return above_worse(data, self.negatives, kind, lambda dialogues: (
                vectors.width, lambda some: words_of(some, vectors)), {}, True)
        return ranking(data, self.negatives, kind, WINDOW, SPEAKERS, {})

    def _vectors(self, models: Models) -> WordVectors:
        return models.vectors(self.words) if self.words else from_encoder(models.encoder(self.encoder))


def words_of(dialogues: Sequence[Sequence[Utterance]], vectors: WordVectors) -> Any:
    """The dialogues as one Batch: x (words, width), utterance (words,), batch (utterances,).

    An utterance without a word that has a vector is a vector of zeros.
    """
    import torch
    from torch_geometric.data import Batch

    read = [vectors.of(tokens(turn.text, lowercase=True)) for utterances in dialogues for turn in utterances]
    read = [several if len(several) else np.zeros((1, vectors.width), np.float32) for several in read]
    lengths = [len(utterances) for utterances in dialogues]
    batch = Batch(x=torch.from_numpy(np.concatenate(read).astype(np.float32)),
                  utterance=torch.from_numpy(np.repeat(np.arange(len(read)), list(map(len, read)))),
                  batch=torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths)))
    batch._num_graphs = len(dialogues)
    return batch


def word_scores(network: Any, items: Sequence[Item], vectors: WordVectors) -> Column:
    """The network's score of each item; NaN for fewer than two utterances, or where no word has a vector."""
    dialogues = [item.utterances for item in items]
    scorable = np.array([len(utterances) > 1 and any(len(vectors.of(tokens(turn.text, lowercase=True)))
                                                     for turn in utterances) for utterances in dialogues], dtype=bool)
    some = [dialogues[place] for place in np.flatnonzero(scorable)]
    return fill(scorable, lambda chosen: batch_scores(
        network, list(map(len, some)), lambda rows: words_of([some[row] for row in rows], vectors), block=BLOCK))
