"""DynaEval (Zhang et al. 2021): a dialogue as a graph of its utterances, trained to score it above a worse one.

    e = BiLSTM(u)                                                    u_i: the mean of utterance i's token states
    a_ij = softmax_j(e_iᵀ W_e e_j)                                   over the edges j → i, |i − j| ≤ window
    h'_i = ReLU(Σ_θ Σ_{j in S_i^θ} a_ij / |S_i^θ| · W'_θ e_j + a_ii W'_0 e_i)
    h_i = ReLU(Σ_j W'' h'_j + W''_0 h'_i)
    g_i = [h_i ; e_i];  o = Σ g_i / ‖Σ g_j‖;  s = FC(o)              loss: max(0, 1 − s(D) + s(D̄))

Nine relations θ: who speaks at i, who at j, which comes first, and i to itself. A third speaker counts as the second,
unless `speakers` says otherwise. Pooling: `unit` is the formula as printed, `mean` the words beside it, `max` and
`both` (mean and max) the paper's ablation.

Departures: the paper adapts a RoBERTa to the corpus; here the run's encoder is frozen, and its likeness of utterances
goes along the edges: a relation also brings the mean cosine of u_i and u_j. With `likeness=false` the formulas are as
they stand above, but for biases. Each u_i is brought to mean 0 and variance 1 before the
BiLSTM, and cosines are taken tenfold. The negatives are drawn anew at every step, where the paper keeps twenty of each
dialogue; 2,000 steps of 64 dialogues, where it has 20 epochs in batches of 512. AdamW with a linear fall of the rate,
and a dropout of 0.3, not 0.5. The paper gives no sizes; here they are 2 · 56 and 56. With `recipe=paper` all this is as
in the paper, and what it leaves open as in the released code: |S_i^θ| does not count, u_i is of the first 30 words.

An edge leads from every utterance j to i where |i − j| ≤ window, i itself included: S · S · 2 + 1 relations for S
speakers, who are numbered in the order in which they begin. A dialogue is made worse by UR, utterance replacement: a
random utterance of another dialogue takes the place of one; or by SS, speaker-level shuffling: what one speaker says
changes places. Dialogues of 4 to 30 utterances are trained on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item, Utterance
from metrics.errors import BadOption
from metrics.graph._tables import by_length, fill
from metrics.metric import Column, Columns, MetricCard
from metrics.models.architectures import DECIMALS
from metrics.models.service import Models
from metrics.models.text_table import Rows, TextTable, reading
from metrics.training import negatives
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData, check_parts

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

BLOCK = 1 << 13
"""How many utterances, padding included, are read at a time."""
SPEAKERS = 2
"""How many speakers have relations of their own."""
Negatives: TypeAlias = Literal["ur", "ss"]
SHORTEST, LONGEST = 4, 30
"""How many utterances a training dialogue has."""
PERTURBATIONS = 20
"""How many worse dialogues are made of one by the paper's recipe."""
WORDS, END = 30, "__eou__"
"""How many words of an utterance are read by that, and what stands behind them."""
TRIES = 20
BATCH, HELD_BATCHES = 64, 8
"""Dialogues in a batch, each with a worse one, and how many batches are held out."""
MARGIN = 1.0
"""By how much a dialogue should score above a worse one."""


@dataclass(frozen=True, slots=True)
class DynaEval(Trainable):
    """The network's score of a dialogue, or of a context with its response; unbounded."""

    card: ClassVar[MetricCard] = MetricCard(
        name="dynaeval", title="DynaEval", columns=("dynaeval",), family="graph", levels=("turn", "dialogue"),
        models=("encoder",), checkpoints=("dynaeval",), paper="https://aclanthology.org/2021.acl-long.441",
        trained_on="empatheticdialogues", notes="Needs two utterances. Of a response: its context and itself.",
        system="another method", fitted_on="dialogues",
        departures=(
            "A frozen encoder in place of a RoBERTa adapted to the corpus.",
            "The cosine of utterances goes along the edges (likeness=false leaves it out).",
            ("2,000 steps of 64 dialogues with negatives drawn anew, dropout 0.3; the paper: 20 epochs, twenty "
             "negatives kept, 0.5."),
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("empatheticdialogues",), steps=2_000, rate=3e-3, every=250,
                        architecture="dialogue-graph"),
        "paper": Recipe(
            ("empatheticdialogues",), steps=28_990, epochs=20.0, rate=2e-3, warmup=0.0, decay=1e-8, every=1_450,
            patience=99, schedule="halved", clip=0.0, encoder="roberta-base+mlm", batch=512, margin=0.1,
            architecture="dialogue-graph",
            network={"lift": 300, "hidden": 150, "size": 150, "layers": 2, "dropout": 0.5},
            options={"pooling": "mean", "likeness": False}, departures=(
                ("The published numbers are of the released code, which weighs the edges that leave an utterance, has "
                 "one relation less, no activation behind the convolutions, a layer before the mean, and means over "
                 "padding; here the paper's formulas stand, with the margin of the code."),
                ("RoBERTa is adapted by low-rank adapters on five corpora (harness train mlm --encoder roberta-base), "
                 "not whole on the corpus itself."),
                ("Batches are drawn at random with replacement, a dialogue and a worse one in one order; the best "
                 "weights are those of the least held-out loss, not of the best accuracy."))),
    }
    variants: ClassVar[tuple[str, ...]] = ("negatives=ss",)
    encoder: str = ""
    negatives: Negatives = "ur"
    pooling: Literal["unit", "mean", "max", "both"] = "unit"
    window: int = 4
    speakers: int = SPEAKERS
    likeness: bool = True
    recipe: Literal["small", "paper"] = "small"

    def __post_init__(self) -> None:
        if self.window < 1 or self.speakers < 1:
            raise BadOption(f"dynaeval: window and speakers are 1 or more, not {self.window} and {self.speakers}")

    @property
    def weights_name(self) -> str:
        """The checkpoint of these options: what differs from the defaults is in its name."""
        own = self.recipes[self.recipe].options
        changed = [f"{field.name}-{value}".lower() for field in fields(self) if field.name not in ("encoder", "recipe")
                   and (value := getattr(self, field.name)) != own.get(field.name, field.default)]
        return self.named(*changed)

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A real number, higher for a more coherent dialogue; NaN of fewer than two utterances."""
        from metrics.graph.dynaeval.network import DialogueGraph

        network = models.trained(self.weights_name, DialogueGraph, self.encoder)
        return {"dynaeval": item_scores(network, items, models.encoder(self.encoder), self.window, self.speakers,
                                        network.lift is not None)}

    def objective(self, data: TrainingData) -> Objective:
        """Score dialogues above worse ones, by a margin."""
        from metrics.graph.dynaeval.network import DialogueGraph

        options = {"speakers": self.speakers, "pooling": self.pooling, "likeness": self.likeness}
        return ranking(data, self.negatives, DialogueGraph, self.window, self.speakers, options,
                       bool(data.recipe.network.get("lift")))


@dataclass(frozen=True, slots=True)
class DialogueRows:
    """A dialogue as rows of a table, and the number of the speaker of each utterance: (utterances,) each."""

    rows: Rows
    speakers: Rows

    @classmethod
    def of(cls, utterances: Sequence[Utterance], table: TextTable) -> DialogueRows:
        """A dialogue as rows of the table; a blank utterance has the row of zeros."""
        numbers = {who: number for number, who in enumerate(dict.fromkeys(turn.speaker for turn in utterances))}
        return cls(table.rows(turn.text for turn in utterances),
                   np.array([numbers[turn.speaker] for turn in utterances], dtype=np.intp))

    def __len__(self) -> int:
        return len(self.rows)


def graphs(dialogues: Sequence[DialogueRows], table: TextTable, window: int, speakers: int = SPEAKERS) -> Any:
    """The dialogues as one Batch: x (utterances, 2 · width), edge_index (2, edges), edge_type (edges,), batch."""
    import torch
    from torch_geometric.data import Batch

    lengths = np.array([len(dialogue) for dialogue in dialogues], dtype=np.intp)
    who = np.concatenate([dialogue.speakers for dialogue in dialogues])
    which = np.repeat(np.arange(len(dialogues)), lengths)
    edges, relations = _edges(which, np.minimum(who, speakers - 1), window, speakers)
    batch = Batch(x=table.tensor(np.concatenate([dialogue.rows for dialogue in dialogues])),
                  edge_index=torch.from_numpy(edges), edge_type=torch.from_numpy(relations),
                  batch=torch.from_numpy(which), ptr=torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)])))
    batch._num_graphs = len(dialogues)
    return batch


def _edges(which: Rows, who: Rows, window: int, speakers: int) -> tuple[Rows, Rows]:
    """Every edge within the window, as (source, target), and its relation."""
    nodes = np.arange(len(which))
    pairs, relations = [], []
    reach = min(window, len(nodes) - 1)
    for away in range(-reach, reach + 1):
        target = nodes[max(0, -away) : len(nodes) - max(0, away)]
        target = target[which[target] == which[target + away]]
        source = target + away
        pairs.append(np.stack([source, target]))
        speak = (who[target] * speakers + who[source]) * 2 + int(away > 0)
        relations.append(speak if away else np.full(len(target), 2 * speakers * speakers))
    return np.concatenate(pairs, axis=1), np.concatenate(relations)


def item_scores(network: Any, items: Sequence[Item], encoder: Encoder, window: int, speakers: int = SPEAKERS,
                published: bool = False) -> Column:
    """The network's score of each item; NaN for fewer than two utterances, or where none holds words."""
    read = [shortened(item.utterances) if published else item.utterances for item in items]
    table = TextTable((turn.text for utterances in read for turn in utterances), reading(encoder))
    dialogues = [DialogueRows.of(utterances, table) for utterances in read]
    scorable = np.array([len(dialogue) > 1 and bool(dialogue.rows.any()) for dialogue in dialogues], dtype=bool)
    return fill(scorable, lambda chosen: dialogue_scores(
        network, [dialogues[place] for place in np.flatnonzero(chosen)], table, window, speakers))


def dialogue_scores(network: Any, dialogues: Sequence[DialogueRows], table: TextTable, window: int,
                    speakers: int = SPEAKERS) -> Column:
    """Return the network's score of each dialogue."""
    return batch_scores(network, list(map(len, dialogues)), lambda rows: graphs(
        [dialogues[row] for row in rows], table, window, speakers))


def batch_scores(network: Any, lengths: Sequence[int], made: Callable[[Rows], Any], block: int = BLOCK) -> Column:
    """Return the network's score of each dialogue of these lengths; `made` makes a batch of some of them."""
    import torch

    network = network.cpu().eval()
    scores = np.full(len(lengths), np.nan)
    with torch.inference_mode():
        for places in by_length(lengths, block):
            scores[places] = network(made(np.array(places))).float().numpy()
    return scores.round(DECIMALS)


def worse(dialogue: Sequence[Utterance], kind: Negatives, pool: Sequence[str], rng: np.random.Generator,
          ) -> tuple[Utterance, ...]:
    """A worse dialogue: with an utterance of the pool, or with one speaker's utterances in another order."""
    if kind == "ss":
        return negatives.speaker_shuffled(dialogue, rng)
    own = {turn.text for turn in dialogue}
    for _ in range(TRIES):  # the pool holds the dialogue's own utterances as well
        changed = negatives.replaced(dialogue, pool, rng)
        if any(turn.text not in own for turn in changed):
            break
    return changed


def shortened(dialogue: Sequence[Utterance]) -> tuple[Utterance, ...]:
    """The dialogue as DynaEval's released code reads it: the first words of each utterance, and a mark behind."""
    return tuple(Utterance(turn.speaker, " ".join([*words[:WORDS], END]) if (words := turn.text.split()) else "")
                 for turn in dialogue)


def usable(dialogue: Dialogue, kind: Negatives) -> bool:
    """Whether a dialogue is neither too short nor too long, and can be made worse."""
    if not SHORTEST <= len(dialogue.utterances) <= LONGEST:
        return False
    texts: dict[str, set[str]] = {}
    for turn in dialogue.utterances:
        texts.setdefault(turn.speaker, set()).add(turn.text)
    return kind == "ur" or any(len(own) > 1 for own in texts.values())


def ranking(data: TrainingData, kind: Negatives, network: Callable[..., Any], window: int, speakers: int,
              options: Mapping[str, Any], published: bool = False) -> Objective:
    """Score dialogues above worse ones; the network is made with the encoder's width and these options."""
    read = shortened if published else tuple

    def reader(dialogues: Sequence[Sequence[Utterance]]) -> tuple[int, Callable[[Any], Any]]:
        table = TextTable((turn.text for utterances in dialogues for turn in read(utterances)), data.vectors)
        return table.width, lambda some: graphs([DialogueRows.of(read(utterances), table) for utterances in some],
                                                table, window, speakers)

    return above_worse(data, kind, network, reader, options, published)


def above_worse(data: TrainingData, kind: Negatives, network: Callable[..., Any],
                reader: Callable[[Sequence[Sequence[Utterance]]], tuple[int, Callable[[Any], Any]]],
                options: Mapping[str, Any], published: bool) -> Objective:
    """Score dialogues above worse ones; `reader` gives, of all dialogues, their width and what makes a batch of some.

    A batch holds BATCH dialogues, or as many as the recipe says, and after them a worse one of each: drawn anew, or as
    published one of twenty that are always the same.
    """
    import torch

    from metrics.training.objectives import shares

    training, held = ([dialogue.utterances for dialogue in some if usable(dialogue, kind)]
                      for some in (data.dialogues(), data.held_out()))
    check_parts(f"dialogues of {SHORTEST} to {LONGEST} utterances", training, held)
    pool = [turn.text for utterances in training for turn in utterances]
    width, made = reader([*training, *held])

    def batch(dialogues: Sequence[Sequence[Utterance]], rng: np.random.Generator) -> Any:
        places = rng.integers(len(dialogues), size=data.recipe.batch or BATCH)
        changed = [worse(dialogues[place], kind, pool, np.random.default_rng(
            (data.seed, int(place), int(rng.integers(PERTURBATIONS)))) if published else rng) for place in places]
        return made([*(dialogues[place] for place in places), *changed])

    rng = data.rng
    batches = [batch(held, rng) for _ in range(HELD_BATCHES)]
    loss = functools.partial(margin_loss, margin=data.recipe.margin or MARGIN)
    config = {"width": width, **options, **data.recipe.network}
    return Objective(network(**config), config, lambda rng: batch(training, rng), batches, loss, shares(
        batches, lambda fitted, some: {"accuracy on what is held out": torch.gt(*fitted(some).chunk(2))}),
        2 * PERTURBATIONS * len(training))


def margin_loss(network: Any, batch: Any, margin: float = MARGIN) -> Any:
    """The mean of max(0, margin − s(D) + s(D̄)) over a batch whose second half is worse."""
    better, less = network(batch).chunk(2)
    return (margin - better + less).clamp_min(0).mean()
