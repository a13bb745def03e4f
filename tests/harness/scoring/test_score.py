"""Scoring a cell: levels brought together, and a contract that is checked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Item, Utterance
from harness.errors import BadScores
from harness.scoring import score as scoring
from metrics.errors import CannotScore
from metrics.metric import MetricCard, Trained
from metrics.models.service import Models
from tests.conftest import make_card, make_dataset

MODELS = Models(Path())
TWO = make_dataset(["a", "b"], [(1,), (2,)])


@dataclass(frozen=True)
class Fake:
    """Gives what it is told, or the length of each response."""

    card: ClassVar[MetricCard] = MetricCard("fake", "Fake", ("fake",), "toy", needs=("context",))
    given: Any = field(default=None)

    def score(self, items: Any, models: Any) -> Any:
        return self.given if self.given is not None else {"fake": [len(item.response.text) or np.nan for item in items]}


def dialogue(*turns: tuple[str, str]) -> Item:
    return Item("d", tuple(Utterance(*turn) for turn in turns), None)


def test_turns_are_the_systems_each_with_what_came_before_or_all_without_a_system() -> None:
    first, second = scoring.turns(dialogue(("user", "a"), ("system", "b"), ("user", "c"), ("system", "d")))
    assert (first.id, first.response.text, len(first.context)) == ("d#1", "b", 1)
    assert (second.id, second.response.text, len(second.context)) == ("d#3", "d", 3)
    assert len(scoring.turns(dialogue(("Ann", "a"), ("Bob", "b")))) == 2


def test_turns_are_brought_together_in_four_ways() -> None:
    items = (dialogue(("user", "x"), ("system", "aa"), ("user", "x"), ("system", "bbb"), ("system", "")),
             dialogue(("user", "x"), ("user", "y")), dialogue(("user", "x"), ("system", "")))
    dataset = Dataset(make_card(level="dialogue"), items, (), "imported")
    columns = scoring.score(Fake(), dataset, MODELS).columns
    expected = {"fake": 2.5, "fake:sum": 5, "fake:max": 3, "fake:product": 6}
    assert {name: column[0] for name, column in columns.items()} == expected
    assert all(np.isnan(column[2]) for column in columns.values()), "a dialogue with no scorable turn has no score"
    assert columns["fake:sum"].shape == (3,)


def test_a_broken_contract_is_named_and_a_dataset_without_what_is_needed_cannot_be_scored() -> None:
    for given, part in (
        ({"fake": [1.0]}, "shape (1,) for 2 items"),
        ({"other": [1.0, 2.0]}, "promised the columns fake and gave other"),
        ({"fake": [1.0, 2.0], "more": [1.0, 2.0]}, "gave fake, more"),
        ({"fake": [1, 2], "other@overall": [3, 4]}, "promised the columns fake and gave fake, other@overall"),
        ({"fake": [1.0, np.inf]}, "infinite for item toy_00001"),
        ({"fake": ["1", "2"]}, "not a number"), ({"fake": np.array([1 + 2j, 3])}, "not a number"),
        ([1.0, 2.0], "gave list"),
    ):
        with pytest.raises(BadScores) as caught:
            scoring.score(Fake(given), TWO, MODELS)
        assert part in str(caught.value)
    bare = Dataset(make_card(), (Item("a", (), Utterance("system", "x")),), (), "imported")
    with pytest.raises(CannotScore, match="no item has context"):
        scoring.score(Fake(), bare, MODELS)


def test_a_masked_value_is_missing_and_an_endless_product_too() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    found = scoring.score(Fake({"fake": masked}), TWO, MODELS)
    assert np.isnan(found.columns["fake"][1])
    long = dialogue(*[("system", "a")] * 3)
    dataset = Dataset(make_card(level="dialogue"), (long,), (), "imported")
    columns = scoring.score(Fake({"fake": [1e200] * 3}), dataset, MODELS).columns
    assert np.isnan(columns["fake:product"][0])
    assert columns["fake"][0] == 1e200


def test_what_a_metric_prints_does_not_reach_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    class Loud(Fake):
        def score(self, items: Any, models: Any) -> Any:
            print("hello")  # noqa: T201  it is what some metrics do
            return super().score(items, models)

    scoring.score(Loud(), TWO, MODELS)
    assert capsys.readouterr() == ("", "hello\n")


def test_a_model_that_the_signature_does_not_hold_is_refused(tiny_encoder: Path, home: Path) -> None:
    @dataclass(frozen=True, slots=True)
    class Hidden:
        """Takes an encoder and does not say so."""

        card: ClassVar[MetricCard] = MetricCard("hidden", "Hidden", ("hidden",), "embedding", notes="For a test.")
        name: str

        def score(self, items: Any, models: Any) -> Any:
            models.encoder(self.name)
            return {"hidden": np.zeros(len(items))}

    with pytest.raises(BadScores, match=r"hidden asks for models.encoder\('.*'\), which its signature does not hold"):
        scoring.score(Hidden(str(tiny_encoder)), make_dataset(["hi"], [(1,)]), Models(home))


def test_undeclared_weights_are_refused() -> None:
    @dataclass(frozen=True)
    class Hidden(Trained):
        card: ClassVar[MetricCard] = MetricCard("hidden", "Hidden", ("hidden",), "toy", checkpoints=("mine", "shared"))
        options: str = ""
        reads: str = "mine"

        @property
        def weights_name(self) -> str:
            return f"mine{self.options}"

        def score(self, items: Any, models: Any) -> Any:
            models.requested.add(("checkpoint", self.reads))
            return {"hidden": [0.0] * len(items)}

    dataset = make_dataset(["a"], [(1,)])
    assert scoring.score(Hidden(), dataset, MODELS).columns["hidden"] == [0.0]
    assert scoring.score(Hidden("-b", "shared"), dataset, MODELS).columns["hidden"] == [0.0]
    assert scoring.score(Hidden("-b", "mine-b"), dataset, MODELS).columns["hidden"] == [0.0]
    with pytest.raises(BadScores, match=r"asks for the weights 'mine-b', which its signature does not hold"):
        scoring.score(Hidden(reads="mine-b"), dataset, MODELS)


def test_a_column_may_have_scores_of_its_own_for_a_quality() -> None:
    columns = scoring.score(Fake({"fake": [1, 2], "fake@overall": [3, 4]}), TWO, MODELS).columns
    assert {name: list(column) for name, column in columns.items()} == {"fake": [1, 2], "fake@overall": [3, 4]}
    together = scoring.aggregated({"fake": np.array([1.0, 2]), "fake@overall": np.array([3.0, 4])},
                                  [dialogue(("system", "a"), ("system", "b"))])
    assert together["fake:sum@overall"] == [7]
    assert together["fake@overall"] == [3.5]
    assert "fake@overall:sum" not in together
