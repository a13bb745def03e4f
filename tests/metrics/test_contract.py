"""What every metric promises, tried on each that the registry finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset, Item, Utterance
from harness.scoring import score, unmet
from metrics import evidence as evidences
from metrics import registry
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.evidence import Evidence, Rated, Witness
from metrics.metric import Metric, signature
from metrics.models import Choice, Models
from tests.conftest import make_card, make_item

AWKWARD = (
    "", " ", ".", "?!", "a", "na na na na na", "ok " * 2000, "日本語のテキスト です", "émigré naïve café", "🙂🙃 🙂",
    "a\u202eb\u0000c", "<b>&amp;</b> <skipped>", "3.5 % of $1,000-2,000", "don't can't won't", "-\nx", "İstanbul ǅ ß",
    "x" * 100_000, "word " * 20_000, "ירושלים مرحبا", "\x00\x07\x1b[31m", "cut \ud800 short",
)
FEW = {name: f"{name}[inputs=deb+cosine]" for name in ("regression", "weighted", "rank-average")}
"""Compositions of what is named: two inputs are as good as twenty."""


@pytest.fixture(params=registry.names())
def metric(request: pytest.FixtureRequest) -> Metric:
    return registry.choose(FEW.get(request.param, request.param)).metric


@pytest.fixture
def models(home: Path, metric: Metric, request: pytest.FixtureRequest) -> Models:
    if "wordnet" in metric.card.resources:
        request.getfixturevalue("wordnet")
    composed = isinstance(metric, Composite)
    if not (metric.card.models or composed):
        return Models(home)
    tiny = {"encoder": str(request.getfixturevalue("tiny_encoder")), "lm": str(request.getfixturevalue("tiny_lm"))}
    found = Models(request.getfixturevalue("tiny_weights") if metric.card.checkpoints or composed else home,
                   Choice(**tiny))
    if isinstance(metric, Composite):
        evidence(metric, found.home)
    return found


def evidence(metric: Composite, home: Path) -> None:
    """Leave weights for a composition in the home: every input agrees with one made-up dataset a little."""
    names = tuple(one.name for one in metric.made_of())
    each = np.linspace(0.1, 0.3, len(names))
    one = Witness("made-up", "turn", "", "", 9, each, each, np.eye(len(names)), (Rated("q", "q", 9, each, each),))
    path = evidences.place(metric.card.name, names, home)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(evidences.text(metric.card.name, Evidence(names, (one,))))


def awkward() -> Dataset:
    items = [make_item(f"toy_{number}", text, "a good reply", "🙂", text) for number, text in enumerate(AWKWARD)]
    items.append(Item("bare", (), Utterance("system", "no context, no references")))
    items.append(make_item("blank", "well", " "))
    items.append(make_item("long", "well", context=("what now ?",) * 500))
    return Dataset(make_card(size=len(items)), tuple(items), (), "imported")


def dialogues() -> Dataset:
    turns = tuple(Utterance(("user", "system")[place % 2], f"line {place} is here") for place in range(500))
    items = (Item("one", turns[:1], None), Item("two", turns[:2], None), Item("all", turns, None),
             Item("people", (Utterance("Ann", "hi"), Utterance("Bob", "hello you there")), None))
    return Dataset(make_card(level="dialogue"), items, (), "imported")


def test_columns_are_as_promised_and_finite_or_nan(metric: Metric, models: Models) -> None:
    for dataset in (awkward(), *map(datasets.sample, map(datasets.card, ("dstc7", "fed-dial", "fed-turn")))):
        if not unmet(metric, dataset):
            found = score(metric, dataset, models)
            assert found.items == tuple(item.id for item in dataset.items)
            assert {name.partition(":")[0] for name in found.columns} == set(metric.card.columns)
            assert any(np.isfinite(column).any() for column in found.columns.values())


def test_permuting_items_permutes_scores(metric: Metric, models: Models, rng: np.random.Generator) -> None:
    dataset = awkward()
    order = rng.permutation(len(dataset.items))
    shuffled = Dataset(dataset.card, tuple(dataset.items[place] for place in order), (), "imported")
    before, after = score(metric, dataset, models), score(metric, shuffled, models)
    for name, column in before.columns.items():
        np.testing.assert_array_equal(column[order], after.columns[name])


def test_an_item_scores_the_same_alone(metric: Metric, models: Models) -> None:
    if metric.card.scope == "item":
        dataset = awkward()
        together = score(metric, dataset, models)
        for row, item in enumerate(dataset.items):
            alone = Dataset(dataset.card, (item,), (), "imported")
            if not unmet(metric, alone):
                for name, column in score(metric, alone, models).columns.items():
                    np.testing.assert_array_equal(column, together.columns[name][[row]])


def test_what_lacks_references_is_nan_and_not_zero(metric: Metric, models: Models) -> None:
    if "references" in metric.card.needs:
        found = score(metric, awkward(), models)
        for column in found.columns.values():
            rows = dict(zip(found.items, column, strict=True))
            assert np.isnan(rows["bare"])
            assert np.isnan(rows["blank"])


def test_whole_dialogues_are_survived(metric: Metric, models: Models) -> None:
    if not metric.card.needs:
        found = score(metric, dialogues(), models)
        assert all(len(column) == 4 for column in found.columns.values())


def test_the_card_says_what_must_be_known(metric: Metric, models: Models) -> None:
    card = metric.card
    assert card.title
    assert card.family
    assert set(card.needs) <= {"references", "context", "facts"}
    assert card.paper or card.notes
    assert signature(metric, models).startswith(f"{card.name}|r{card.revision}")
    assert "\n" not in signature(metric, models)


def test_a_missing_resource_is_said_with_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(MissingResource, match="harness fetch wordnet"):
        Models(home).resource("wordnet")
