"""USR (Mehri & Eskenazi 2020): likelihood, retrieval by context, retrieval by fact, and one score of all three.

`usr-mlm` is the mean log-likelihood per token of the response after the last utterance, by the masked language model.
`usr-dr-c` and `usr-dr-f` are logits that the response belongs to its context, and to its facts; the facts of an item
are split into sentences and the best of them count most. `usr` is the probability that the response is a true one.

In the recipe `paper` the retrieval models are a fine-tuned RoBERTa each, which reads the context, or the facts,
together with the response.

Departures. The paper fits the regression that makes `usr` to human ratings, which this project forbids: here it is a
logistic regression that tells true replies of held-out dialogues from those of others, on the three sub-scores where
there are facts, on the first two elsewhere. In `small` the encoder is the run's, frozen, with small heads, instead of a
RoBERTa fine-tuned on the target corpus; each head also has the pre-trained cosine as a feature. Retrieval is trained by
telling the own reply among all of a batch, not by one false reply for each. Facts are the persona of the speaker
(PersonaChat); Topical-Chat's are not to be had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard, checkpoints
from metrics.models.masked import mean_log_likelihoods
from metrics.models.readings import Pair, pairs, spoken
from metrics.models.service import Models
from metrics.text.words import reply
from metrics.training.examples import FIVE, WHOLE, Contrast, following
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData, check_parts

JUDGED = 512
"""Held-out replies that the regression is fitted on, and as many to hold out."""
SENTENCES = 32
"""Sentences of facts that are read for an item."""
REGRESSION = {"architecture": "regression", "steps": 1_000, "epochs": 0.0, "rate": 2e-3, "batch": 64,
              "network": {}, "reads": ("dr-c", "dr-f")}
_PREFIX = re.compile(r"^(your|partner's) persona:\s*")
_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class UsrMetric(Trainable):
    """σ(w · (mlm, dr-c, dr-f) + b), and its three parts."""

    card: ClassVar[MetricCard] = MetricCard(
        name="usr", title="USR", columns=("usr", "usr-mlm", "usr-dr-c", "usr-dr-f"), family="trained",
        models=("encoder",), checkpoints=("usr-dr-c", "usr-dr-f", "usr-regression", "mlm"), paper="https://aclanthology.org/2020.acl-main.64",
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
        "small": Recipe(FIVE, steps=1_000, rate=2e-3, network={"turns": 3}, examples={"loss": "retrieval"}, parts={
            "dr-c": {"architecture": "match"}, "dr-f": {"architecture": "fact-match", "network": {}},
            "regression": REGRESSION}),
        "paper": Recipe(("personachat", "topical_chat"), steps=20_000, epochs=3, rate=5e-5, warmup=0.0, every=1_000,
                        encoder="roberta-base", batch=8, accumulate=2, architecture="cross-encoder",
                        network={"hidden": 768}, examples={"loss": "contrast"},
                        parts={"dr-c": {}, "dr-f": {}, "regression": REGRESSION}, departures=(
            "The regression tells true replies from false ones; the paper fits it to human ratings.",
            "usr-mlm is of the masked model `mlm` over the same encoder.",
            "dr-c reads the whole context without the facts.",
            "Text is read as it is, not lower-cased and tokenised; Topical-Chat's facts are not to be had."))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return four columns, of which `usr` is a probability; NaN without a context, or for dr-f without facts."""
        dr_c, dr_f, regression, *_ = (models.scorer(name, self.encoder) for name in checkpoints(self)[:3])
        likely = mean_log_likelihoods(items, models.masked(self.encoder))
        known = [tuple(sentences(item.facts)) for item in items]
        context = dr_c.logits(pairs(items))
        fact = dr_f.logits([Pair(facts, reply(item)) if facts else None
                            for facts, item in zip(known, items, strict=True)])
        scorable = np.isfinite(likely) & np.isfinite(context)
        rows = np.stack([likely, context, fact], axis=1)
        whole = regression.probabilities([row if usable else None for row, usable in zip(rows, scorable, strict=True)])
        return {"usr": whole, "usr-mlm": likely, "usr-dr-c": context, "usr-dr-f": fact}

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply by context or by facts, or weigh the sub-scores."""
        from metrics.training import objectives

        parts = data.dialogues(), data.held_out()
        if data.part == "regression":
            known = known_replies(parts[1])
            check_parts("replies of speakers whose persona is known", known, known, "personachat among them")
            rows = [known[row] for row in data.rng.permutation(len(known))[: 2 * JUDGED]]
            half = (len(rows) + 1) // 2
            return objectives.labelled(data, *(self._judged(some, data) for some in (rows[:half], rows[half:])))
        examples = [following(part) if data.part == "dr-c" else
                    [Contrast(Pair(facts, pair.response)) for pair, facts in known_replies(part)] for part in parts]
        losses = {"retrieval": objectives.retrieval, "contrast": objectives.contrast}
        return losses[data.recipe.examples["loss"]](data, *examples)

    def _judged(self, rows: Sequence[tuple[Pair, tuple[str, ...]]],
                data: TrainingData) -> list[tuple[tuple[float, ...], float]]:
        """Return the sub-scores of true replies, labelled 1, and of those of other rows, labelled 0."""
        names = [f"{self.weights_name.removesuffix('-dr-c')}-{part}" for part in data.recipe.reads]
        others = [*rows[1:], *rows[:1]]
        pairs = [*(pair for pair, _ in rows), *(pair._replace(response=other.response)
                                                for (pair, _), (other, _) in zip(rows, others, strict=True))]
        facts = [facts for _, facts in rows] * 2
        read = data.models.masked(data.encoder).log_likelihoods(
            [(pair.context[-1].strip(), pair.response.strip()) for pair in pairs])
        scores = [[float(values.mean()) if values.size else 0.0 for values in read]]
        for name, readings in zip(names, (pairs, [Pair(known, pair.response) for known, pair in
                                                  zip(facts, pairs, strict=True)]), strict=True):
            scores.append(data.models.scorer(name, data.encoder).logits(readings).tolist())
        columns = [*zip(*scores, strict=True)]
        without_facts = [(likely, context, float("nan")) for likely, context, _ in columns]
        labels = [1.0] * len(rows) + [0.0] * len(rows)
        return [*zip(columns, labels, strict=True), *zip(without_facts, labels, strict=True)]


def sentences(facts: Iterable[str]) -> list[str]:
    """Return the sentences of facts that hold a letter or digit, without the words that say whose persona it is."""
    parts = [part for fact in facts for part in _END.split(_PREFIX.sub("", fact.strip()))]
    return [part for part in parts if any(map(str.isalnum, part))][:SENTENCES]


def known_replies(dialogues: Iterable[Dialogue]) -> list[tuple[Pair, tuple[str, ...]]]:
    """Return the replies of speakers whose persona is known, with the sentences of it."""
    rows = []
    for dialogue in dialogues:
        personas = dialogue.labels.get("persona") or {}
        for place, turn in enumerate(dialogue.utterances):
            before = spoken(earlier.text for earlier in dialogue.utterances[:place])
            facts = tuple(sentences(personas.get(turn.speaker, ())))
            if turn.text.strip() and before and facts:
                rows.append((Pair(before[-WHOLE:], turn.text), facts))
    return rows
