"""The metrics trained on frozen features: every objective learns, every score keeps the contract."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.corpora import Corpus, CorpusCard, Dialogue
from benchmarks.dataset import Item, Utterance
from metrics import checkpoint, registry
from metrics.fit import Fitted, fit, randomness
from metrics.models import Choice, Models
from metrics.training import TrainingData
from tests.conftest import make_item

pytest.importorskip("torch")

ASKED = ("adem", "bert-dnn", "bert-regressor", "bert-ruber", "mme-em", "mme-fm", "ruber", "ruber[size=large]", "usl-h",
         "usr")
THINGS = ("tea", "a good reply", "the rain", "hello there", "what is not", "you and i", "what they like", "to be there")
ODD = ("", " ", "?!", "tea", "tea tea tea tea tea", "日本語", "what " * 200, "\x00", "cut \ud800 short")
SCOREABLE = Item("known", (Utterance("user", "do you like tea ?"),), Utterance("system", "i like tea"),
                 make_item("x", "", "tea is good", "the rain").references, ("your persona: i like the rain.",))


def corpus() -> Corpus:
    """Dialogues that keep to their thing, with every label that an objective reads."""
    found = []
    for number in range(160):
        thing, other = THINGS[number % 8], f"{chr(97 + number // 26 % 26)} {chr(97 + number % 26)}"
        turns = tuple(Utterance("AB"[turn % 2], f"{start} {thing} {other}") for turn, start in enumerate(
            ("do you like", "yes i like", "what is it that", "i know that")))
        labels = {"persona": {"A": [f"i like {thing}."], "B": [f"you like {thing}.", "i am here."]},
                  "positive_responses": [f"{start} {thing} {other}" for start in ("it is", "not you", "there is")],
                  "eval_score": 1 + 4 * (number % 2)}
        found.append(Dialogue(f"toy-{number}", "toy", "train", turns, labels))
    return Corpus(CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "Nobody 2020"), "0" * 64, tuple(found), {})


def train(name: str, trainable: Any, models: Models, **changes: Any) -> Fitted:
    """Train on the toy corpus, and leave the weights in the home of the models."""
    with randomness(0, models.machine):
        objective = trainable.objective(TrainingData({"toy": corpus()}, models, seed=0))
    fitted = fit(objective, dataclasses.replace(trainable.recipe, **changes), models.machine, seed=0)
    identity = models.encoder().weights.identity
    checkpoint.save(checkpoint.place(name, identity, models.home), fitted.weights,
                    {"network": dict(objective.config), "encoder": {"name": "tiny", "identity": identity}},
                    {"name": name})
    return fitted


@pytest.fixture(scope="module")
def learned(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Models, dict[str, Fitted]]:
    """Everything, trained for 20 steps."""
    from metrics.backbones.mlm import MaskedLanguageModel

    models = Models(tmp_path_factory.mktemp("trained"), Choice(encoder=str(tiny_encoder)))
    train("mlm", MaskedLanguageModel(rank=0), models, steps=1, every=1)
    found = {}
    for asked in ASKED:
        metric: Any = registry.choose(asked).metric
        found[asked] = train(metric.card.checkpoints[0], metric, models, steps=20, every=5, rate=3e-3)
    return models, found


@pytest.mark.parametrize("asked", ASKED)
def test_twenty_steps_bring_the_loss_down(asked: str, learned: tuple[Models, dict[str, Fitted]]) -> None:
    curve = learned[1][asked].curve
    assert curve[-1].loss < curve[0].loss


@pytest.mark.parametrize("asked", ASKED)
def test_scores_are_finite_for_what_can_be_scored_and_nan_without_what_is_needed(
        asked: str, learned: tuple[Models, dict[str, Fitted]]) -> None:
    metric = registry.choose(asked).metric
    bare = Item("bare", (), Utterance("system", "no context"))
    found = metric.score([SCOREABLE, bare], learned[0])
    assert tuple(found) == metric.card.columns
    assert all(np.isfinite(column[0]) for column in found.values())
    alone = {"mme-fm", "mme-em", "usl-h-vup", "usl-h-mlm", "usr-mlm"}  # the response is all they read
    assert {name for name, column in found.items() if np.isfinite(column[1])} == alone & set(metric.card.columns)


@pytest.mark.parametrize("asked", ASKED)
def test_odd_texts_are_survived_and_company_changes_nothing(
        asked: str, learned: tuple[Models, dict[str, Fitted]], rng: np.random.Generator) -> None:
    metric = registry.choose(asked).metric
    items = [make_item(f"toy_{row}", text, "a good reply", text) for row, text in enumerate(ODD)]
    items += [make_item("blank", "well", " ", context=(" ",)), make_item("long", "well", "so", context=("now ?",) * 50)]
    found = metric.score(items, learned[0])
    order = rng.permutation(len(items))
    shuffled = metric.score([items[place] for place in order], learned[0])
    for name, column in found.items():
        np.testing.assert_array_equal(column[order], shuffled[name])
        assert not np.isinf(column).any()
        for row in (0, len(items) - 1):
            np.testing.assert_array_equal(metric.score([items[row]], learned[0])[name], column[[row]])


@pytest.mark.parametrize("asked", ASKED)
def test_weights_stay_small(asked: str) -> None:
    """A checkpoint for an encoder of width 384 stays under 700 KB in half precision, RUBER-Large under 1.2 MB."""
    from metrics.trained import _networks

    networks: dict[str, tuple[Any, dict[str, Any]]] = {
        "adem": (_networks.Adem, {"size": 50}), "bert-dnn": (_networks.Stack, {}),
        "bert-regressor": (_networks.Likeness, {}), "bert-ruber": (_networks.Relatedness, {"turns": 3}),
        "mme-em": (_networks.Judge, {"reads": "mean"}), "mme-fm": (_networks.Judge, {"reads": "max"}),
        "ruber": (_networks.Recurrent, {}), "ruber[size=large]": (_networks.Recurrent, {"hidden": 80, "layers": 2}),
        "usl-h": (_networks.Usl, {"turns": 3}), "usr": (_networks.Usr, {"turns": 3}),
    }
    kind, more = networks[asked]
    size = 2 * sum(held.numel() for held in kind(width=384, **more).state_dict().values())
    assert size < (1_200_000 if "large" in asked else 700_000)
