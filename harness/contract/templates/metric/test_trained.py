"""My metric learns from a corpus, and keeps the contract of `harness check`."""

from __future__ import annotations

from pathlib import Path

import my_metric

from benchmarks.corpora.corpora import Corpus, CorpusCard, Dialogue
from benchmarks.dataset import Utterance
from harness.contract import demand
from harness.learning import train
from metrics.models.service import Models


def corpus() -> Corpus:
    """Return a hundred dialogues, each about a number."""
    turns = ("do you like {0} ?", "yes , {0} is what i like", "and what of {0} tomorrow ?", "{0} again")
    dialogues = tuple(Dialogue(f"toy-{number}", "toy", "train", tuple(
        Utterance("AB"[index % 2], turn.format(number)) for index, turn in enumerate(turns))) for number in range(100))
    return Corpus(CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "made here"), "0" * 64, dialogues, {})


def test_it_is_trained_and_keeps_the_contract(tmp_path: Path) -> None:
    """Train a few steps: the weights are written and read, and score any items."""
    request = train.Request(corpora=("toy",), steps=5)
    plan = train.plan(my_metric.__file__, request, tmp_path, lambda _: corpus())
    train.train(plan, train.say)
    demand(my_metric.MyMetric(), Models(tmp_path))
