"""RUBER (Tao et al. 2018): how like the reference is the response, and how related to what it answers?

Unreferenced: GRUs in both directions read query and reply, word by word; [q ; r ; qᵀMr] goes into a net with a
sigmoid, which is to give a true reply 0.5 more than a random one (hinge loss). Referenced: the cosine of the word
vectors of response and reference, their maximum and minimum over the words side by side. `ruber` is the blend of both.

`size=large` is RUBER-Large of the DailyDialog++ paper, with two layers and wider.

The recipe `paper` has the widths of the DailyDialog++ paper. Departures of `small`: word vectors are the frozen input
embeddings of the run's encoder, for its tokens, brought to 128 dimensions; the GRUs are 64 wide (80 if large), where
the DailyDialog++ paper has 1,024 (2,048) and 20 million pairs. The query is the last three utterances, the last 40
tokens of them. Cosines are brought to 0..1 by (1 + cos) / 2 and not by the least and largest of a dataset, so that a
score depends on its item alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text.similarity import cosines
from metrics.text.words import Aggregation, over_references, reply, sharing
from metrics.trained.heads.table import FIVE, TURNS, Rows, contexts, probabilities, stable
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData, check_parts

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

Blend: TypeAlias = Literal["min", "mean", "geometric", "max"]
CONTEXT, RESPONSE = 40, 30
"""Tokens that are read of a context, its last, and of a response, its first."""
BATCH = 64

Tokens: TypeAlias = npt.NDArray[np.int64]
TokenPairs: TypeAlias = Sequence[tuple[Tokens, Tokens]]
"""Contexts with their replies."""


@dataclass(frozen=True, slots=True)
class Ruber(Trainable):
    """σ(net([q ; r ; qᵀMr])), and its blend with (1 + cos([max ; min] of r, of g)) / 2."""

    card: ClassVar[MetricCard] = MetricCard(
        name="ruber", title="RUBER", columns=("ruber", "ruber-referenced", "ruber-unreferenced"), family="trained",
        models=("encoder",), checkpoints=("ruber",), paper="https://ojs.aaai.org/index.php/AAAI/article/view/11321",
        trained_on=", ".join(FIVE),
        notes="The unreferenced part needs a context, the referenced one a reference, their blend both.",
        system="same method, smaller model", fitted_on="dialogues",
        departures=(
            "GRUs 64 wide over the encoder's input embeddings; five corpora in place of 20 million pairs.",
            ("The query is the last 40 tokens of three utterances; cosines are brought to 0..1 by (1 + cos) / 2, "
             "not by a dataset's extremes."),
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_200, rate=1e-3),
        "paper": Recipe(("dailydialog", "dailydialog_pp"), steps=30_000, epochs=100, rate=1e-5, warmup=0.0, decay=1e-6,
                        every=300, schedule="constant", clip=10.0, batch=256,
                        network={"size": 300, "hidden": 1_024, "dropout": 0.5}, departures=(
            "Not pretrained on 20 million pairs of Reddit; words are the encoder's tokens with its input embeddings.",
            "The hinge loss of the first paper; the released code of the second has cross entropy.",
            "States of both directions stand side by side, each of its last token; that code adds those after padding.",
            "Cosines are brought to 0..1 by (1 + cos) / 2 and not by a dataset's extremes."))}
    encoder: str = ""
    size: Literal["base", "large"] = "base"
    blend: Blend = "mean"
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    @property
    def weights_name(self) -> str:
        """The checkpoint of this size."""
        parts = ("ruber", "large" * (self.size == "large"), self.recipe * (self.recipe != "small"))
        return "-".join(filter(None, parts))

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Three columns, 0 to 1."""
        from metrics.trained.heads.networks import Recurrent

        words = Words(models.encoder(self.encoder))
        network = models.trained(self.weights_name, Recurrent, self.encoder)
        alone = unreferenced(items, words, network)
        alike = referenced(items, words.extremes, self.references)
        return {"ruber": blended(self.blend, alike, alone), "ruber-referenced": alike, "ruber-unreferenced": alone}

    def objective(self, data: TrainingData) -> Objective:
        """Give a true reply 0.5 more than that of another pair."""
        from metrics.trained.heads.losses import hinge
        from metrics.trained.heads.networks import Recurrent

        words = Words(data.models.encoder(self.encoder))
        training, held = (word_pairs(dialogues, words) for dialogues in (data.dialogues(), data.held_out()))
        check_parts("replies", training, held)
        sizes: dict[str, Any] = dict(data.recipe.network)
        large = {"hidden": 2 * sizes["hidden"] if sizes else 80, "layers": 2} if self.size == "large" else {}
        config = {"width": words.width, **sizes, **large}
        rng, many = data.rng, data.recipe.batch or BATCH
        batches = [words.batch(held, rng, many) for _ in range(8)]
        return Objective(Recurrent(**config), config, lambda rng: words.batch(training, rng, many), batches, hinge,
                         rows=len(training))


def unreferenced(items: Sequence[Item], words: Words, network: Any) -> Column:
    """The probability that each response belongs to its context, 0 to 1; NaN without a context."""
    import torch

    network = network.cpu().double().eval()
    before = contexts(items)

    def logits(rows: Rows) -> Column:
        queries = [query(words.tokens(before[row][::-1])) for row in rows]
        replies = [tokens[:RESPONSE] for tokens in words.tokens([reply(items[row]) for row in rows])]
        (left, lengths), (right, reply_lengths) = words.padded(queries), words.padded(replies)
        with torch.inference_mode():
            return np.asarray(network(left.double(), lengths, right.double(), reply_lengths).numpy())

    column = np.full(len(items), np.nan)
    scorable = np.array([row for row, texts in enumerate(before) if texts[0]], dtype=np.intp)
    for start in range(0, len(scorable), BATCH):
        rows = scorable[start : start + BATCH]
        column[rows] = probabilities(stable(rows, logits))
    return column


def referenced(items: Sequence[Item], vectors: Callable[[Sequence[str]], Vectors], references: Aggregation) -> Column:
    """(1 + cos) / 2 of the response's vector and its reference's: 0 to 1, NaN without a reference."""
    column = np.full(len(items), np.nan)
    for together, replies in sharing(items, "max" if references == "standard" else references):
        ours = vectors([reference.text for reference in together])
        theirs = vectors([text for _, text in replies])
        for (row, _), vector in zip(replies, theirs, strict=True):
            column[row] = (1 + over_references(cosines(ours, np.broadcast_to(vector, ours.shape)).tolist(),
                                               references)) / 2
    return column


def blended(blend: Blend, alike: Column, alone: Column) -> Column:
    """The referenced and the unreferenced part as one, 0 to 1; NaN where either is missing."""
    if blend == "mean":
        return (alike + alone) / 2
    if blend == "geometric":
        return np.sqrt(alike * alone)
    return np.minimum(alike, alone) if blend == "min" else np.maximum(alike, alone)


class Words:
    """The tokens of texts, and their vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._tokenizer = encoder.tokenizer
        self.table = encoder.embeddings()

    @property
    def width(self) -> int:
        """The length of a word's vector."""
        return int(self.table.shape[1])

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        return [np.array(ids, dtype=np.int64) for ids in self._tokenizer.plain(texts)]

    def padded(self, rows: Sequence[Tokens]) -> tuple[Any, Any]:
        """The vectors of rows of tokens (rows, longest, width), zeros behind the end, and their lengths, at least 1."""
        import torch

        lengths = np.array([max(1, len(row)) for row in rows])
        vectors = np.zeros((len(rows), int(lengths.max()), self.width), dtype=np.float32)
        for place, row in enumerate(rows):
            vectors[place, : len(row)] = self.table[row]
        return torch.from_numpy(vectors), torch.from_numpy(lengths)

    def batch(self, pairs: TokenPairs, rng: np.random.Generator, many: int = BATCH) -> tuple[Any, ...]:
        """Pairs at random: contexts and their lengths, replies and their lengths."""
        chosen = [pairs[row] for row in rng.integers(len(pairs), size=many)]
        return (*self.padded([before for before, _ in chosen]), *self.padded([after for _, after in chosen]))

    def extremes(self, texts: Sequence[str]) -> Vectors:
        """The largest and the smallest of each dimension over the tokens: (texts, 2 · width); zeros without a token."""
        extremes = np.zeros((len(texts), 2 * self.width), dtype=np.float32)
        for place, row in enumerate(self.tokens(texts)):
            if len(row):
                vectors = self.table[row]
                extremes[place] = np.concatenate([vectors.max(axis=0), vectors.min(axis=0)])
        return extremes


def query(utterances: Sequence[Tokens]) -> Tokens:
    """The last CONTEXT tokens of the utterances, which are in their order."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *utterances])[-CONTEXT:]


def word_pairs(dialogues: Sequence[Dialogue], words: Words) -> TokenPairs:
    """Every utterance that has one before it, with the end of the three before it."""
    pairs = []
    tokens = iter(words.tokens([turn.text for dialogue in dialogues for turn in dialogue.utterances]))
    for dialogue in dialogues:
        turns = [row for row in (next(tokens) for _ in dialogue.utterances) if len(row)]
        pairs += [(query(turns[max(0, place - TURNS) : place]), turns[place][:RESPONSE])
                  for place in range(1, len(turns))]
    return pairs
