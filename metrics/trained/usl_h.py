"""USL-H (Phy et al. 2020): is the response valid, does it come next, and is it specific, one resting on the other?

U is valid-utterance prediction (VUP): the response alone, whole replies against those with words reordered, dropped or
repeated. S is next-utterance prediction (NUP): true replies against others. L is the negative log-likelihood of the
response under a masked language model, cut at the lower and upper quartile of replies and brought to 0..1. The
composite is (U + U·S + U·S·L) / 3.

In the recipe `paper` VUP and NUP are a fine-tuned BERT each. Departures of `small`: the encoder is the run's, frozen,
with small heads, not a fine-tuned BERT; NUP sees the last three utterances and the pre-trained cosines, and is trained
by finding the own reply among all of a batch, its probability then scaled on one false reply for each. The quartiles
are those of replies held out in training, and stand in the weights, so that a score depends on its item alone. Of VUP's
harmless changes only the removal of stop words is made. Five corpora instead of DailyDialog alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.masked import log_likelihoods
from metrics.models.service import Models
from metrics.trained.heads import cross_encoder
from metrics.trained.heads.data import pair_batches, some_replies, text_batches, whole_or_broken
from metrics.trained.heads.table import FIVE, TURNS, fill, items_table, network_scores, probabilities
from metrics.training import negatives
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData
from metrics.training.replies import WHOLE, against_others, answered

REPLIES = 20_000
"""Replies that VUP is trained on."""
LIKELY = 500
"""Held-out replies whose likelihoods give the quartiles."""


@dataclass(frozen=True, slots=True)
class UslH(Trainable):
    """(U + U·S + U·S·L) / 3."""

    card: ClassVar[MetricCard] = MetricCard(
        name="usl-h", title="USL-H", columns=("usl-h", "usl-h-vup", "usl-h-nup", "usl-h-mlm"), family="trained",
        models=("encoder",), checkpoints=("usl-h", "mlm"), paper="https://aclanthology.org/2020.coling-main.368",
        trained_on=", ".join(FIVE),
        notes="usl-h and usl-h-nup need a context; usl-h-mlm rises with what is specific, and with length.",
        system="another method", fitted_on="dialogues",
        departures=(
            "Heads on a frozen encoder, not a fine-tuned BERT; five corpora in place of DailyDialog.",
            "Quartiles are those of held-out replies of the training, not of the dataset scored.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_000, rate=2e-3),
        "paper": Recipe(("dailydialog",), steps=20_000, epochs=2, rate=1e-5, warmup=0.0, decay=1e-5, every=1_000,
                        schedule="constant", encoder="bert-base-uncased", batch=8, parts=("vup", "nup"),
                        network={"dropout": 0.2}, departures=(
            "Likelihoods are those of the masked model `mlm` over the same encoder, not of a third BERT.",
            "No right reply is reduced to its nouns, verbs and prepositions; responses are read whole, not 25 tokens.",
            "The composite is (U + U·S + U·S·L) / 3, where the released code has 0.33 U + 0.33 S + 0.34 S·L."))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Four columns, 0 to 1; NaN without a context, or for a response without a token."""
        if self.recipe != "small":
            return self._read_whole(items, models)
        from metrics.trained.heads.networks import Usl

        network = models.trained("usl-h", Usl, self.encoder)
        table, contexts, replies = items_table(items, models.encoder(self.encoder))
        valid = probabilities(network_scores(network.valid, table, replies))
        follows = fill(contexts[:, 0] > 0, lambda rows: probabilities(
            float(network.scale) * network_scores(network.next, table, contexts[rows], replies[rows])
            + float(network.bias)))
        return self._columns(items, models, valid, follows, network)

    def objective(self, data: TrainingData) -> Objective:
        """Classify whole and corrupted replies, and find the own reply among those of a batch."""
        if self.recipe != "small":
            return self._valid(data) if data.part == "vup" else self._next(data)
        from metrics.trained.heads.networks import Usl

        pairs = pair_batches(data)
        texts = text_batches(*whole_or_broken(data, REPLIES, shortened=0.1), data, len(pairs.held))
        config: dict[str, Any] = {"width": pairs.width, "turns": TURNS, **_quartiles(data)}
        return Objective(Usl(**config), config, lambda rng: (pairs.draw(rng), texts.draw(rng)),
                         list(zip(pairs.held, texts.held, strict=True)), _loss)

    def _columns(self, items: Sequence[Item], models: Models, valid: Column, follows: Column, head: Any) -> Columns:
        unlikely = _unlikely(log_likelihoods(items, models.masked(self.encoder)))
        specific = specificity(unlikely, head.low, head.high)
        return {"usl-h": composite(valid, follows, specific), "usl-h-vup": valid, "usl-h-nup": follows,
                "usl-h-mlm": specific}

    def _read_whole(self, items: Sequence[Item], models: Models) -> Columns:
        from metrics.trained.heads.networks import Quartiled

        vup, nup, *_ = self.card.checkpoints
        return self._columns(
            items, models, cross_encoder.response_probabilities(items, models, vup, self.encoder, Quartiled),
            cross_encoder.pair_probabilities(items, models, nup, self.encoder),
            models.trained(vup, Quartiled, self.encoder))

    def _valid(self, data: TrainingData) -> Objective:
        """Tell whole replies from corrupted ones, from the largest token states."""
        from metrics.trained.heads.networks import Quartiled
        from metrics.training.tuned import Parts, contrasts

        training, held = (some_replies(dialogues, None, data.rng) for dialogues in (data.dialogues(), data.held_out()))
        quartiles: dict[str, Any] = _quartiles(data)
        return contrasts(data, Parts(training, held, valid_and_not, len(training) // 2), pooling="max", kind=Quartiled,
                         **quartiles)

    def _next(self, data: TrainingData) -> Objective:
        """Tell the next utterance from another dialogue's, read together with what was said before it."""
        from metrics.training.tuned import Parts, contrasts

        training, held = (answered(dialogues, WHOLE) for dialogues in (data.dialogues(), data.held_out()))
        return contrasts(data, Parts(training, held, against_others, len(training) // 2), pooling="max")


def valid_and_not(texts: Sequence[str], rng: np.random.Generator, many: int) -> list[Any]:
    """Replies as they are or, one in five, without punctuation or stop words; and others corrupted."""
    pairs = []
    for row, other in rng.integers(len(texts), size=(many, 2)):
        kind, broken = rng.random(2)
        whole = (negatives.without_punctuation(texts[row]) if kind < 0.1 else
                 negatives.without_stop_words(texts[row], rng) if kind < 0.2 else texts[row])
        pairs.append((whole, negatives.reordered(texts[other], rng) if broken < 0.3 else
                      negatives.dropped(texts[other], rng, 0.0, 0.5) if broken < 0.6 else
                      negatives.stuttered(texts[other], rng)))
    return pairs


def _quartiles(data: TrainingData) -> dict[str, float]:
    """Those of the negative log-likelihood of held-out replies."""
    replies = some_replies(data.held_out(), LIKELY, data.rng)
    unlikely = _unlikely(data.models.masked(data.encoder).log_likelihoods([("", text.strip()) for text in replies]))
    low, high = np.nanpercentile(unlikely, [25, 75])
    return {"low": float(low), "high": float(max(high, low + 1e-6))}


def composite(valid: Column, follows: Column, specific: Column) -> Column:
    """(U + U·S + U·S·L) / 3: what is not valid counts for nothing, what does not follow gains nothing by more."""
    whole: Column = valid * (1 + follows * (1 + specific)) / 3
    return whole


def specificity(unlikely: Column, low: float, high: float) -> Column:
    """The negative log-likelihood, cut at the quartiles, from 0 to 1."""
    return np.clip((unlikely - low) / (high - low), 0, 1)


def _unlikely(values: Sequence[Any]) -> Column:
    """The negative log-likelihood of each response; NaN for one without a token."""
    return np.array([-each.sum(dtype=np.float64) if each.size else np.nan for each in values], dtype=np.float64)


def _loss(network: Any, batch: tuple[Any, Any]) -> Any:
    from metrics.trained.heads.losses import contrastive, labelled, true_or_false

    following, alone = batch
    return (contrastive(network.next, following) + true_or_false(network.follows, following)
            + labelled(network.valid, alone))
