"""Dialogues and worse ones, and how often a system scores the first above.

The parts are those of DynaEval's Table 2: the test parts of EmpatheticDialogues and DailyDialog, and ConvAI2's
validation part. Of each dialogue of 4 to 30 utterances twenty worse ones are made, the same for all systems and seeds;
replacements come from the other dialogues of the part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import corpora, files
from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Utterance
from benchmarks.errors import BenchmarkError
from metrics.graph.dynaeval.metric import PERTURBATIONS, DialogueRows, Negatives, usable, worse
from metrics.models.memory import Vectors
from metrics.trained.heads.table import TextTable

Scores = npt.NDArray[np.float64]
KINDS: tuple[Negatives, ...] = ("ur", "ss")
STRATEGIES: dict[Negatives, str] = {"ur": "utterance replacement (ur)", "ss": "speaker level utterance shuffling (ss)"}
"""The paper's names."""


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A corpus to train on, and the split of it on which systems are tried; `printed` is the paper's name of it.

    `steps` are those of a training in the study: fewer than of the weights that are shipped.
    """

    corpus: str
    title: str
    split: str
    printed: str
    window: int
    steps: int


PARTS = (CorpusPart("empatheticdialogues", "EmpatheticDialogues", "test", "empathetic", 4, 600),
         CorpusPart("personachat", "ConvAI2", "valid", "convai2", 2, 250),
         CorpusPart("dailydialog", "DailyDialog", "test", "dailydialog", 4, 500))


@dataclass(frozen=True, slots=True)
class Trial:
    """Dialogues, and for each so many worse ones that follow one another."""

    table: TextTable
    dialogues: tuple[DialogueRows, ...]
    worse: tuple[DialogueRows, ...]


def dialogues(part: CorpusPart, home: Path, limit: int | None = None) -> list[Dialogue]:
    """The dialogues of the part, without those that are too short or too long; the first `limit` of them."""
    file = corpora.path(part.corpus, home)
    if not file.is_file():
        raise BenchmarkError(f"{part.corpus} is not in {home}; `harness fetch --corpora {part.corpus}`")
    rows = (row for row in files.read(file).rows if row["split"] == part.split)
    read = [Dialogue(row["dialogue_id"], part.corpus, part.split,
                     tuple(Utterance(turn["speaker"], turn["text"]) for turn in row["utterances"])) for row in rows]
    fitting = [dialogue for dialogue in read if all(usable(dialogue, kind) for kind in KINDS)][:limit]
    if not fitting:
        raise BenchmarkError(f"{file}: holds no dialogue of 4 to 30 utterances in the split {part.split}")
    return fitting


def make_trial(some: Sequence[Dialogue], kind: Negatives, seed: int, read: Callable[[Sequence[str]], Vectors],
               ) -> Trial:
    """The dialogues with their worse ones; `read` gives the vectors of texts."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    pool = [turn.text for dialogue in some for turn in dialogue.utterances]
    table = TextTable(pool, read)
    changed = [worse(dialogue.utterances, kind, pool, rng) for dialogue in some for _ in range(PERTURBATIONS)]
    return Trial(table, tuple(DialogueRows.of(dialogue.utterances, table) for dialogue in some),
                 tuple(DialogueRows.of(turns, table) for turns in changed))


def share(better: Scores, less: Scores) -> float:
    """How often a dialogue scores above one of its worse ones, a tie being half; NaN where a score is missing."""
    gained = np.repeat(better, len(less) // len(better)) - less
    return float(((np.sign(gained) + 1) / 2).mean())


def adjacent(some: Sequence[DialogueRows], table: TextTable) -> Scores:
    """CoSim of dialogues as rows of a table: the mean cosine of adjacent utterances, as `cosim` has it."""
    means = table.vectors[:, : table.width].astype(np.float64)
    units = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    return np.array([(units[each.rows[1:]] * units[each.rows[:-1]]).sum(1).mean() for each in some])
