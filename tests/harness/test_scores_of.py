"""`from harness import score`, and the same as a metric of Hugging Face evaluate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import harness
from benchmarks import registry as datasets
from benchmarks.dataset import SYSTEM, USER, Dataset, Item
from harness import api, score
from harness.cli import main
from harness.errors import BadConfig
from harness.scoring import composites
from harness.scoring.store import ScoreStore
from metrics.errors import CannotScore, UnknownMetric
from metrics.models.service import Choice, Models
from metrics.registry import choose
from tests.conftest import ROOT

TEA = {"context": ["hello", "Do you like tea?"], "response": "Yes, green tea.", "references": ["I love green tea."]}


def sample(name: str) -> Dataset:
    return datasets.sample(datasets.card(name))


def plain(item: Item) -> dict[str, object]:
    """An item as a dict of texts."""
    return {"context": [{"speaker": turn.speaker, "text": turn.text} for turn in item.context],
            "response": item.response.text if item.response else "",
            "references": [reference.text for reference in item.references], "facts": list(item.facts)}


def kept(home: Path, out: Path, metric: str, name: str, *more: str, **choice: str) -> dict[str, np.ndarray]:
    """What a run scores."""
    assert main(["run", "--out", str(out), "--dataset", name, "--metric", metric, "--draws", "0", *more]) == 0
    key = composites.key(choose(metric, seed=0).metric, sample(name), Models(home, Choice(**choice)))  # type: ignore[arg-type]
    found = ScoreStore(out / "scores").get(sample(name).fingerprint, key)
    assert found is not None
    return dict(found.columns)


@pytest.mark.parametrize("metric", ["bleu", "length", "chrf[word_order=2]"])
def test_scores_are_those_of_a_run(tmp_path: Path, home: Path, metric: str) -> None:
    truth = kept(home, tmp_path, metric, "persona-usr")
    dataset = sample("persona-usr")
    for items in (dataset, dataset.items, [plain(one) for one in dataset.items]):
        found = score(metric, items)
        assert found.keys() == truth.keys()
        for name, column in found.items():
            np.testing.assert_array_equal(column, truth[name])


def test_scores_of_a_network_are_those_of_a_run_and_its_weights_are_loaded_once(
        tmp_path: Path, home: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metrics.models import encoder

    loaded: list[object] = []
    monkeypatch.setattr(encoder, "Encoder", lambda *given, made=encoder.Encoder: loaded.append(given) or made(*given))
    truth = kept(home, tmp_path, "cosine", "persona-usr", "--encoder", str(tiny_encoder), encoder=str(tiny_encoder))
    loaded.clear()
    for _ in range(2):
        found = score("cosine", sample("persona-usr").items, encoder=str(tiny_encoder))
        np.testing.assert_array_equal(found["cosine"], truth["cosine"])
    assert len(loaded) == 1


def test_nothing_is_written(home: Path) -> None:
    score("bleu", [TEA])
    assert list(home.rglob("*")) == []


def test_a_composition_scores_items_and_datasets(tmp_path: Path, home: Path) -> None:
    metric = "rank-average[inputs=length+chrf]"
    truth = kept(home, tmp_path, metric, "persona-usr")["rank-average"]
    np.testing.assert_array_equal(score(metric, sample("persona-usr"))["rank-average"], truth)
    np.testing.assert_array_equal(score(metric, sample("persona-usr").items)["rank-average"], truth)


def test_turns_alternate_back_from_the_response() -> None:
    item = api._item(0, TEA)
    assert [turn.speaker for turn in item.context] == [SYSTEM, USER]
    assert api._item(0, {**TEA, "context": "hello\n\nDo you like tea?\n"}) == item
    told = api._item(0, {"dialogue": ["a", {"speaker": "system", "text": "b"}], "facts": "one\ntwo"})
    assert [(turn.speaker, turn.text) for turn in told.context] == [("first", "a"), ("system", "b")]
    assert (told.response, told.facts) == (None, ("one", "two"))


def test_a_dialogue_without_names_is_scored_by_every_turn() -> None:
    assert score("length", [{"dialogue": ["one two", "one two three", "one"]}])["length"] == [2.0]


def test_what_the_metric_needs_is_told() -> None:
    with pytest.raises(CannotScore, match="no item has references"):
        score("bleu", [{"context": ["hello"], "response": "hi"}])
    with pytest.raises(CannotScore, match="no items"):
        score("length", [])
    with pytest.raises(UnknownMetric, match="did you mean 'length'"):
        score("lenght", [TEA])


@pytest.mark.parametrize(("items", "told"), [
    (["hello"], r"items\[0\]: should be an Item or a dict, is str"),
    ([TEA, {"contexts": [], "response": "a"}], r"items\[1\]: no field 'contexts'.*did you mean 'context'"),
    ([{"context": ["a"]}], r"either a response \(with a context\) or a dialogue"),
    ([{"context": [1], "response": "a"}], r"items\[0\].context\[0\]: should be text, is int"),
    ([{"context": 1, "response": "a"}], r"items\[0\].context: should be a list, is int"),
    ([TEA, {"dialogue": ["a"]}], "score them apart"),
    ([{**TEA, "id": "x"}, {**TEA, "id": "x"}], "1 items have the id of another one"),
])
def test_items_that_are_none_are_told_with_their_place(items: list[object], told: str) -> None:
    with pytest.raises(BadConfig, match=told):
        score("length", items)  # type: ignore[arg-type]


def test_the_package_is_light_until_it_is_asked() -> None:
    code = "import sys, harness; assert 'numpy' not in sys.modules; harness.score; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        harness.scores  # noqa: B018
