"""DEB (Sai et al. 2020): is the response the valid next one, learned from many dialogues, then from DailyDialog++.

The paper trains a BERT on 727 million pairs of Reddit (which response comes next, and masked words), then on relevant
responses of DailyDialog++ against random, adversarial or both kinds of irrelevant ones; the score is the probability of
"valid".

Departures. The encoder is the run's and stays as it is, so that there are no masked words to learn; a head joins the
vectors of the last three utterances and of the response, each read alone, with the pre-trained cosines among what it
sees. Both stages are one: every step finds the own reply among those of 256 pairs of five corpora, and tells good
replies of DailyDialog++ from false ones. Adversarial replies are those of its dev split where its train split is not
to be had.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import BadOption, MetricError
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads import cross_encoder
from metrics.trained.heads.data import Answers, ReplyPairs, answers, drawn, pairs
from metrics.trained.heads.table import FIVE, TURNS, TextTable, pair_probabilities
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData
from metrics.training.replies import ADVERSARIAL, GOOD, Answered, answered, others

KINDS = ("random", "adversarial", "both")
"""What the false replies are that it is trained with."""
SMALL = 64
"""Contexts of DailyDialog++ in a batch."""
PAIRS = 256
"""Pairs of the other corpora in a batch: the false replies of each are those of all others."""
CONTEXT, MASKED = 12, 0.15
"""Of the recipes that train a whole BERT: the utterances before a response at most, and the share of words that are
masked in its pretraining."""
REDDIT = ("Pretrained on five corpora in place of 727 million pairs of Reddit; masked words are always replaced by the "
          "mask.")
DRAWN = "Batches are drawn at random with replacement; the released code goes through the data in order."
FINETUNE = Recipe(("dailydialog_pp",), steps=3_214, epochs=1, rate=5e-5, warmup=0.03, every=400,
                  encoder="bert-base-uncased", batch=16, departures=("Not pretrained on dialogues.", DRAWN))


@dataclass(frozen=True, slots=True)
class Deb(Trainable):
    """P(valid next response | context, response)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="deb", title="DEB", columns=("deb",), family="trained", needs=("context",), models=("encoder",),
        checkpoints=("deb",), paper="https://aclanthology.org/2020.tacl-1.52",
        trained_on=", ".join((*FIVE, "dailydialog_pp")),
        system="another method", fitted_on="dialogues",
        departures=(
            "A head on a frozen encoder, which reads each utterance alone; the paper trains a whole BERT.",
            "Nothing of its 727 million pairs of Reddit: five corpora and DailyDialog++, both stages in one.",
            "Adversarial replies are those of DailyDialog++'s dev split where its train split is not to be had.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe((*FIVE, "dailydialog_pp"), steps=3_000, rate=1e-3, every=200),
        "original": Recipe(("dailydialog_pp",), steps=1, rate=0.0, encoder="bert-base-uncased", batch=16, rank=1,
                           departures=("BERT's own layer for the next sentence as it is: nothing is trained.",)),
        "pretrain": Recipe(FIVE, steps=20_000, epochs=1, rate=5e-5, every=1_000, encoder="bert-base-uncased", batch=16,
                           departures=(REDDIT,)),
        "finetune": FINETUNE,
        "paper": dataclasses.replace(FINETUNE, start="deb-pretrain", departures=(REDDIT, DRAWN)),
    }
    variants: ClassVar[tuple[str, ...]] = ("negatives=adversarial", "negatives=both")
    encoder: str = ""
    negatives: str = "random"
    recipe: Literal["small", "original", "pretrain", "finetune", "paper"] = "small"

    def __post_init__(self) -> None:
        """Refuse kinds of false replies that there are not."""
        if self.negatives not in KINDS and not re.fullmatch(r"(?!0+%)\d?\d(\.\d*[1-9])?%", self.negatives):
            raise BadOption(f"negatives={self.negatives}: should be {', '.join(KINDS)}, or such as 1%: both, the "
                            "adversarial ones of so many contexts")

    @property
    def _share(self) -> float:
        """How many of the contexts with adversarial replies keep them, from 0 to 1."""
        return float(self.negatives[:-1]) / 100 if self.negatives.endswith("%") else 1.0

    @property
    def weights_name(self) -> str:
        """The checkpoint of this kind of false replies, by this recipe."""
        kind = self.negatives.replace(".", "-").replace("%", "-per-cent")
        return "-".join(filter(None, ("deb", kind * (kind != "random"), self.recipe * (self.recipe != "small"))))

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1; NaN without a context."""
        if self.recipe != "small":
            return {"deb": cross_encoder.pair_probabilities(items, models, self.weights_name, self.encoder)}
        return {"deb": pair_probabilities(items, models, self.weights_name, self.encoder, "NextResponse")}

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply among many, and classify good and false ones of DailyDialog++."""
        if self.recipe != "small":
            return self._from_tokens(data)
        from metrics.trained.heads.losses import accuracy, deb_loss
        from metrics.trained.heads.networks import NextResponse

        both = self._dialogues(data)
        table = TextTable((text for dialogues in both for dialogue in dialogues for text in (
            *(turn.text for turn in dialogue.utterances), *dialogue.labels.get(GOOD, ()),
            *dialogue.labels.get(ADVERSARIAL, ()))), data.vectors)
        training, held = ((pairs([dialogue for dialogue in dialogues if GOOD not in dialogue.labels], table),
                           answers(table, dialogues)) for dialogues in both)
        if not all(len(some) for some, _ in (training, held)):
            raise MetricError("none of the corpora has whole dialogues, among whose replies the own one is found; take "
                              "dailydialog as well")
        if self.negatives != "random" and not all(any(map(len, rated.adversarial)) for _, rated in (training, held)):
            raise MetricError("none of the corpora has adversarial replies; the dev or train split of dailydialog_pp "
                              "has some")

        def batch(part: tuple[ReplyPairs, Answers], rng: np.random.Generator) -> Mapping[str, Any]:
            some, replies = part
            chosen = rng.integers(len(some), size=PAIRS)
            return {"pairs": (table.tensor(some.contexts[chosen]), table.tensor(some.replies[chosen])),
                    "judged": judged(replies, rng, self.negatives)}

        batches = drawn(table, batch, (training, held), data.rng, 12)
        report = accuracy([batch["judged"] for batch in batches.held], "false")
        return batches.objective(NextResponse, deb_loss, report, turns=TURNS)

    def _from_tokens(self, data: TrainingData) -> Objective:
        """Tell good replies from false ones, each read together with all that was said before it."""
        from metrics.models.networks import own_heads
        from metrics.training.tuned import Parts, contrasts

        encoder = data.models.encoder(data.encoder)
        if self.recipe == "original" and "seq_relationship.weight" not in own_heads(encoder.weights):
            raise BadOption(f"encoder {encoder.name}: has no layer that tells the next sentence; recipe original takes "
                            "a BERT such as bert-base-uncased")
        least = 1 if self.recipe == "pretrain" else 2
        training, held = (answered(dialogues, CONTEXT, least) for dialogues in self._dialogues(data))

        def examples(part: Sequence[Answered], rng: Any, many: int) -> list[Any]:
            chosen = rng.integers(len(part), size=many)
            false = others(part, chosen, rng)
            pairs = []
            for place, row in enumerate(chosen):
                hard = part[row].hard if self.negatives == "adversarial" or (
                    self.negatives != "random" and rng.random() < 0.5) else ()
                good = part[row].good[int(rng.integers(len(part[row].good)))]
                wrong = hard[int(rng.integers(len(hard)))] if hard else false[place]
                pairs.append(((part[row].context(), good), (part[row].context(), wrong)))
            return pairs

        rows = sum(len(one.good) for one in training)
        return contrasts(data, Parts(training, held, examples, rows), as_bert=True,
                         masked=MASKED if self.recipe == "pretrain" else 0.0)

    def _dialogues(self, data: TrainingData) -> tuple[list[Dialogue], list[Dialogue]]:
        """The dialogues to train on and held out, of which a share keep their adversarial replies."""
        training, held = list(data.dialogues()), list(data.held_out())
        for part in (training, held):
            hard = [place for place, one in enumerate(part) if one.labels.get(ADVERSARIAL)]
            for place in data.rng.permutation(hard)[max(1, round(self._share * len(hard))):]:
                labels = {name: label for name, label in part[place].labels.items() if name != ADVERSARIAL}
                part[place] = dataclasses.replace(part[place], labels=labels)
        return training, held


def judged(answers: Answers, rng: np.random.Generator, kind: str) -> tuple[Any, Any, Any]:
    """Contexts with a good and a false reply each; `kind` of the false ones: random, adversarial, or both."""
    hard = np.flatnonzero([len(rows) > 0 for rows in answers.adversarial])
    many = len(answers.contexts)
    chosen = rng.choice(hard, SMALL) if kind == "adversarial" else rng.integers(many, size=SMALL)
    if kind not in ("random", "adversarial"):
        chosen[::2] = rng.choice(hard, len(chosen[::2]))
    good = np.array([rng.choice(answers.replies[row]) for row in chosen])
    others = (chosen + rng.integers(1, max(2, many), size=SMALL)) % many
    false = np.array([rng.choice(answers.replies[row]) for row in others])
    if kind != "random":
        replaced = slice(None) if kind == "adversarial" else slice(None, None, 2)
        false[replaced] = [rng.choice(answers.adversarial[row]) for row in chosen[replaced]]
    tensor = answers.table.tensor
    return tensor(answers.contexts[chosen]), tensor(good), tensor(false)
