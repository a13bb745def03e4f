"""USR (Mehri & Eskenazi 2020): likelihood, retrieval by context, retrieval by fact, and one score of all three.

`usr-mlm` is the mean log-likelihood per token of the response after the last utterance, by the masked language model.
`usr-dr-c` and `usr-dr-f` are logits that the response belongs to its context, and to its facts; the facts of an item
are split into sentences and the best of them count most. `usr` is the probability that the response is a true one.

In the recipe `paper` the retrieval models are a fine-tuned RoBERTa each, which reads the last utterance and the facts,
or the facts alone, together with the response; `usr` is the mean of the sub-scores, standardised as in the released
code.

Departures of `small`. The paper fits the regression that makes `usr` to human ratings, which this project forbids: here
it is a logistic regression that tells true replies of held-out dialogues from those of others, on the three sub-scores
where there are facts, on the first two elsewhere. The encoder is the run's, frozen, with small heads, instead of
RoBERTa fine-tuned on the target corpus; each head also has the pre-trained cosine as a feature. Retrieval is trained by
telling the own reply among all of a batch, not by one false reply for each. Facts are the persona of the speaker
(PersonaChat); Topical-Chat's are not to be had.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Column, Columns, MetricCard
from metrics.models.masked import mean_log_likelihoods
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text.words import reply
from metrics.trained.heads import cross_encoder
from metrics.trained.heads.data import BATCH, ReplyPairs, TrainingBatches, drawn, pairs
from metrics.trained.heads.table import (
    FIVE,
    TURNS,
    Rows,
    TextTable,
    fill,
    items_table,
    last_turns,
    network_scores,
    padded,
    probabilities,
    stable,
)
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData
from metrics.training.replies import Answered, against_others

JUDGED = 256
"""Held-out replies with facts that the regressions are fitted on, and as many without."""
SMALL = 64
"""Judged replies in a batch."""
SENTENCES = 32
"""How many sentences of facts are read for an item."""
STANDARD = ((-1.0123, 0.3905), (0.8605, 0.3026), (0.8472, 0.2799))
"""Means and deviations of mlm, dr-c and dr-f in the released code."""
_PREFIX = re.compile(r"^(your|partner's) persona:\s*")
_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class UsrMetric(Trainable):
    """σ(w · (mlm, dr-c, dr-f) + b), and its three parts."""

    card: ClassVar[MetricCard] = MetricCard(
        name="usr", title="USR", columns=("usr", "usr-mlm", "usr-dr-c", "usr-dr-f"), family="trained",
        models=("encoder",), checkpoints=("usr", "mlm"), paper="https://aclanthology.org/2020.acl-main.64",
        trained_on=", ".join(FIVE),
        notes="All but usr-mlm need a context; usr-dr-f needs facts, and usr takes it in where there are some.",
        system="another method", fitted_on="dialogues",
        departures=(
            "Heads on a frozen encoder, not a RoBERTa fine-tuned on the target corpus.",
            "The regression tells true replies from false ones; the paper fits it to human ratings.",
            "Retrieval finds the own reply in a batch, with the encoder's cosine as a feature.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_000, rate=2e-3),
        "paper": Recipe(("personachat", "topical_chat"), steps=20_000, epochs=3, rate=5e-5, warmup=0.0, every=1_000,
                        encoder="roberta-base", batch=8, accumulate=2, parts=("dr-c", "dr-f"), network={"hidden": 768},
                        departures=(
            "usr weighs the sub-scores alike: the released weights are fitted to ratings of two evaluation sets.",
            "usr-mlm is of the masked model `mlm` over the same encoder, of the response alone.",
            "Text is read as it is, not lower-cased and tokenised; Topical-Chat's facts are not to be had."))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Four columns, of which `usr` is a probability; NaN without a context, or for dr-f without facts."""
        if self.recipe != "small":
            return self._read_whole(items, models)
        from metrics.trained.heads.networks import Usr

        network = models.trained("usr", Usr, self.encoder)
        likely = mean_log_likelihoods(items, models.masked(self.encoder))
        facts = [sentences(item.facts) for item in items]
        texts = (text for several in facts for text in several)
        table, contexts, replies = items_table(items, models.encoder(self.encoder), *texts)
        context = fill(contexts[:, 0] > 0,
                       lambda rows: network_scores(network.context, table, contexts[rows], replies[rows]))
        known = fact_rows(table, facts)
        fact = fill(known[:, 0] > 0, lambda rows: network_scores(network.fact, table, known[rows], replies[rows]))
        whole = np.where(np.isnan(fact), _regressed(network, likely, context),
                         _regressed(network, likely, context, fact))
        return {"usr": whole, "usr-mlm": likely, "usr-dr-c": context, "usr-dr-f": fact}

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply among those of a batch, by context and by facts, and weigh the sub-scores."""
        if self.recipe != "small":
            return self._from_tokens(data)
        from metrics.trained.heads.losses import usr_loss
        from metrics.trained.heads.networks import Usr

        return usr_batches(data).objective(Usr, usr_loss, turns=TURNS)

    def _read_whole(self, items: Sequence[Item], models: Models) -> Columns:
        likely = mean_log_likelihoods(items, models.masked(self.encoder))
        facts = [" ".join(sentences(item.facts)) for item in items]
        said = [last_turns(turn.text for turn in item.context)[0] for item in items]
        known = [f"{last} {fact}".strip() if last else "" for last, fact in zip(said, facts, strict=True)]
        parts = [likely]
        for weights, texts in zip(self.card.checkpoints, (known, facts), strict=False):
            pairs = [(text, reply(item)) for text, item in zip(texts, items, strict=True)]
            parts.append(cross_encoder.text_pair_probabilities(pairs, models, weights, self.encoder))
        scaled = np.stack([(part - mean) / deviation for part, (mean, deviation) in zip(parts, STANDARD, strict=True)])
        whole = np.where(np.isnan(parts[2]), scaled[:2].mean(0), scaled.mean(0))
        return {"usr": whole, "usr-mlm": likely, "usr-dr-c": parts[1], "usr-dr-f": parts[2]}

    def _from_tokens(self, data: TrainingData) -> Objective:
        """Tell the own response from another, read with the last utterance and the facts, or with the facts alone."""
        from metrics.training.tuned import Parts, contrasts

        training, held = (known_replies(dialogues, data.part) for dialogues in (data.dialogues(), data.held_out()))
        return contrasts(data, Parts(training, held, against_others, len(training)))


def _regressed(network: Any, *columns: Column) -> Column:
    """The regression's probability from two or three sub-scores."""
    import torch

    scores, regression = torch.from_numpy(np.stack(columns, axis=1)), network.cpu().double()
    with torch.inference_mode():
        return probabilities(stable(np.arange(len(scores)), lambda rows: regression(scores[rows]).numpy()))


def sentences(facts: Iterable[str]) -> list[str]:
    """The sentences of facts that hold a letter or digit, without the words that say whose persona it is."""
    parts = [part for fact in facts for part in _END.split(_PREFIX.sub("", fact.strip()))]
    return [part for part in parts if any(map(str.isalnum, part))][:SENTENCES]


def fact_rows(table: TextTable, facts: Sequence[Sequence[str]]) -> Rows:
    """The rows of each item's facts, filled up with 0: (items, most facts of an item, at least 1)."""
    rows = [table.rows(several) for several in facts]
    return padded([several[several > 0] for several in rows])


def known_replies(dialogues: Iterable[Dialogue], part: str) -> list[Answered]:
    """Replies with the last utterance and the facts their speaker has, or with facts alone, where there are some."""
    rows = []
    for dialogue in dialogues:
        said = [turn for turn in dialogue.utterances if turn.text.strip()]
        for last, turn in itertools.pairwise(said):
            facts = tuple(sentences((dialogue.labels.get("persona") or {}).get(turn.speaker, ())))
            if part == "dr-c" or facts:
                rows.append(Answered((last.text, *facts) if part == "dr-c" else facts, (turn.text,)))
    if len(rows) < 2:
        raise MetricError("the corpora have no replies of speakers whose persona is known, to train on or held out; "
                          "take personachat among them")
    return rows


@dataclass(frozen=True, slots=True)
class FactReplies:
    """Replies with context and facts: rows of a table; and (last utterance, reply) as texts, for likelihoods."""

    contexts: Rows
    replies: Rows
    facts: Rows
    texts: list[tuple[str, str]]


def usr_batches(data: TrainingData) -> TrainingBatches:
    """Batches of all three; the likelihoods of the judged replies are read once."""
    import torch

    both = data.dialogues(), data.held_out()
    table = TextTable((text for some in both for dialogue in some for text in (
        *(turn.text for turn in dialogue.utterances),
        *(text for facts in (dialogue.labels.get("persona") or {}).values() for text in sentences(facts)))),
        data.vectors)
    training, held = (_fact_replies(some, table) for some in both)
    chosen = data.rng.permutation(len(held.replies))[: 2 * JUDGED]
    judged = FactReplies(held.contexts[chosen], held.replies[chosen], held.facts[chosen],
                         [held.texts[row] for row in chosen])
    likely = _likely(judged, data)  # of the true and of the false reply: (judged, 2)
    others = np.roll(judged.replies, 1)

    def batch(part: tuple[ReplyPairs, FactReplies], rng: np.random.Generator) -> dict[str, Any]:
        some, known = part
        pair, fact = rng.integers(len(some), size=BATCH), rng.integers(len(known.replies), size=BATCH)
        rows = rng.integers(len(judged.replies), size=SMALL)
        tensor = table.tensor
        return {
            "context": tensor(some.contexts[pair]), "reply": tensor(some.replies[pair]),
            "facts": tensor(known.facts[fact]), "fact_reply": tensor(known.replies[fact]),
            "judged_context": tensor(judged.contexts[rows]), "judged_facts": tensor(judged.facts[rows]),
            "judged_true": tensor(judged.replies[rows]), "judged_false": tensor(others[rows]),
            "likely": torch.from_numpy(likely[rows]),
        }

    return drawn(table, batch, ((pairs(both[0], table), training), (pairs(both[1], table), judged)), data.rng)


def _fact_replies(dialogues: Iterable[Dialogue], table: TextTable) -> FactReplies:
    """Every reply of a speaker whose persona is known."""
    contexts, facts, texts = [], [], []
    for dialogue in dialogues:
        personas = dialogue.labels.get("persona") or {}
        for place, turn in enumerate(dialogue.utterances):
            before = last_turns(earlier.text for earlier in dialogue.utterances[:place])
            if turn.text.strip() and before[0] and personas.get(turn.speaker):
                contexts.append(table.rows(before))
                facts.append(sentences(personas[turn.speaker]))
                texts.append((before[0], turn.text))
    if not texts:
        raise MetricError("the corpora have no replies of speakers whose persona is known, to train on or held out; "
                          "take personachat among them")
    return FactReplies(np.stack(contexts), table.rows(text for _, text in texts), fact_rows(table, facts), texts)


def _likely(judged: FactReplies, data: TrainingData) -> Vectors:
    """The mean log-likelihood of each reply after its last utterance, and of the previous row's reply there."""
    model = data.models.masked(data.encoder)
    false = [judged.texts[place - 1][1] for place in range(len(judged.texts))]
    texts = [*judged.texts, *((before, reply) for (before, _), reply in zip(judged.texts, false, strict=True))]
    read = model.log_likelihoods([(before.strip(), reply.strip()) for before, reply in texts])
    means = np.array([values.mean() if values.size else 0.0 for values in read], dtype=np.float32)
    return np.stack(np.split(means, 2), axis=1)
