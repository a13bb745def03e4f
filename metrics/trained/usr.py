"""USR (Mehri & Eskenazi 2020): likelihood, retrieval by context, retrieval by fact, and a score combining all three.

`usr-mlm` is the mean log-likelihood per token of the response after the last utterance under a masked language model.
`usr-dr-c` and `usr-dr-f` are the logits that the response belongs to its context and to its facts, the sentences of the
speaker's persona; the best-matching sentences count most. `usr` is the probability that the response is a true one, by
a logistic regression on all three sub-scores if there are facts, otherwise on the first two.

In the recipe `paper`, the retrieval models are two fine-tuned RoBERTas, which take the context or the facts together
with the response.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.masked import FEW_COPIES, mean_log_likelihoods
from metrics.models.service import Models
from metrics.models.tokens import Pair, non_blank, pairs, responses
from metrics.training.examples import MAX_CONTEXT, Contrast, response_contrasts
from metrics.training.recipe import Dialogues, Split, Trainable, TrainingData, check_split, recipes_of

REGRESSION_REPLIES = 512
"""Number of held-out replies to fit the regression on, and of further ones to validate it."""
SENTENCES = 32
"""Maximum number of sentences of facts per item."""
_PREFIX = re.compile(r"^(your|partner's) persona:\s*")
_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class UsrMetric(Trainable):
    """σ(w · (mlm, dr-c, dr-f) + b), and its three parts."""

    recipes = recipes_of("usr")
    card = MetricCard(
        name="usr", title="USR", columns=("usr", "usr-mlm", "usr-dr-c", "usr-dr-f"), family="trained",
        models=("encoder",), checkpoints=("usr-dr-c", "usr-dr-f", "usr-regression", "mlm"), paper="https://aclanthology.org/2020.acl-main.64",
        trained_on=", ".join(recipes["small"].corpora),
        notes="usr and usr-dr-c need a context; usr-dr-f needs facts, and usr includes it if there are any.",
        system="another method", fitted_on="dialogues", revision=2, departures=(
            "Heads on a frozen encoder, not a RoBERTa fine-tuned on the target corpus.",
            "The regression separates true from false replies; the paper fits it to human ratings.",
            "Retrieval finds the reply to each context in a batch, with the encoder's cosine as a feature.",
            ("usr-mlm scores the response after the last utterance; the released code scores the last 100 tokens, "
             "context included."), FEW_COPIES))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return four columns, `usr` as a probability; NaN without a context (usr, usr-dr-c) or facts (usr-dr-f)."""
        dr_c, dr_f, regression = (self.scorer(models, part) for part in self.training.parts)
        likelihoods = mean_log_likelihoods(items, models.masked(self.encoder))
        facts_by_item = [tuple(sentences(item.facts)) for item in items]
        context = dr_c.logits(pairs(items))
        fact = dr_f.logits([Pair(facts, response) if facts else None
                            for facts, response in zip(facts_by_item, responses(items), strict=True)])
        scores = regression.probabilities([row if np.isfinite(row[:2]).all() else None
                                           for row in np.stack([likelihoods, context, fact], axis=1)])
        return {"usr": scores, "usr-mlm": likelihoods, "usr-dr-c": context, "usr-dr-f": fact}

    def examples(self, data: TrainingData) -> Split:
        """Return replies with contexts or facts, or for the regression the sub-scores of true and false replies."""
        if data.part == "dr-c":
            return data.split(response_contrasts)
        if data.part == "dr-f":
            return data.split(lambda dialogues: [
                Contrast(Pair(facts, pair.response)) for pair, facts in known_replies(dialogues)])
        replies = known_replies(data.held_out())
        check_split("replies of speakers whose persona is known", replies, replies, "personachat")
        rows = [replies[row] for row in data.rng.permutation(len(replies))[: 2 * REGRESSION_REPLIES]]
        half = (len(rows) + 1) // 2
        return self._labelled_scores(rows[:half], data.models), self._labelled_scores(rows[half:], data.models)

    def _labelled_scores(self, rows: Sequence[tuple[Pair, tuple[str, ...]]],
                models: Models) -> list[tuple[tuple[float, ...], float]]:
        """Return sub-scores with labels: each context with its reply (1) and with the reply of the next row (0)."""
        true = [pair for pair, _ in rows]
        contexts = [*true, *(pair._replace(response=other.response)
                             for pair, other in zip(true, true[1:] + true[:1], strict=True))]
        facts = [Pair(facts, pair.response) for (_, facts), pair in zip([*rows, *rows], contexts, strict=True)]
        likelihoods = [float(values.mean()) if values.size else 0.0 for values in models.masked(
            self.encoder).log_likelihoods([(pair.context[-1].strip(), pair.response.strip()) for pair in contexts])]
        by_context = self.scorer(models, "dr-c").logits(contexts).tolist()
        by_fact = self.scorer(models, "dr-f").logits(facts).tolist()
        labels = [1.0] * len(rows) + [0.0] * len(rows)
        return [((*scores, fact), label) for facts in (by_fact, [float("nan")] * len(labels))
                for *scores, fact, label in zip(likelihoods, by_context, facts, labels, strict=True)]


def sentences(facts: Iterable[str]) -> list[str]:
    """Split facts into sentences, without the speaker prefix; drop sentences without a letter or digit."""
    parts = [part for fact in facts for part in _END.split(_PREFIX.sub("", fact.strip()))]
    return [part for part in parts if any(map(str.isalnum, part))][:SENTENCES]


def known_replies(dialogues: Dialogues) -> list[tuple[Pair, tuple[str, ...]]]:
    """Return the replies of speakers whose persona is known, with its sentences."""
    rows = []
    for dialogue in dialogues:
        personas = dialogue.labels.get("persona") or {}
        for index, turn in enumerate(dialogue.utterances):
            context = non_blank(earlier.text for earlier in dialogue.utterances[:index])
            facts = tuple(sentences(personas.get(turn.speaker, ())))
            if turn.text.strip() and context and facts:
                rows.append((Pair(context[-MAX_CONTEXT:], turn.text), facts))
    return rows
