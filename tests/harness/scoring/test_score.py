"""Scoring a metric on a dataset: turns of dialogues, and checks of the columns and models."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Item, Utterance
from harness.scoring import score as scoring
from metrics.errors import BadScores, CannotScore
from metrics.metric import MetricCard, Trained
from metrics.models.service import Models
from tests.conftest import make_card, make_dataset, refused

MODELS = Models(Path())
TWO = make_dataset(["a", "b"], [(1,), (2,)])


@dataclass(frozen=True)
class Fake:
    """Returns its columns, or the length of each response."""

    card: ClassVar[MetricCard] = MetricCard("fake", "Fake", ("fake",), "toy", needs=("context",))
    columns: Any = field(default=None)

    def score(self, items: Any, models: Any) -> Any:
        return self.columns or {"fake": [len(item.response.text) or np.nan for item in items]}


def dialogue(*turns: tuple[str, str]) -> Item:
    return Item("d", tuple(Utterance(*turn) for turn in turns), None)


def score(columns: Any, dataset: Dataset = TWO) -> dict[str, Any]:
    return scoring.score(Fake(columns), dataset, MODELS).columns


def test_turns_are_the_responses_of_the_system() -> None:
    first, second = scoring.turns(dialogue(("user", "a"), ("system", "b"), ("user", "c"), ("system", "d")))
    assert (first.id, first.response.text, len(first.context)) == ("d#1", "b", 1)
    assert (second.id, second.response.text, len(second.context)) == ("d#3", "d", 3)
    assert len(scoring.turns(dialogue(("Ann", "a"), ("Bob", "b")))) == 2, "every turn, if no speaker is the system"


def test_scores_of_turns_are_aggregated_in_four_ways() -> None:
    items = (dialogue(("user", "x"), ("system", "aa"), ("user", "x"), ("system", "bbb"), ("system", "")),
             dialogue(("user", "x"), ("user", "y")), dialogue(("user", "x"), ("system", "")))
    columns = score(None, Dataset(make_card(level="dialogue"), items, (), "imported"))
    assert {name: column[0] for name, column in columns.items()} == {
        "fake": 2.5, "fake:sum": 5, "fake:max": 3, "fake:product": 6}
    assert all(np.isnan(column[2]) for column in columns.values()), "no turn of it has a score"
    assert columns["fake:sum"].shape == (3,)


def test_an_infinite_product_is_missing() -> None:
    dataset = Dataset(make_card(level="dialogue"), (dialogue(*[("system", "a")] * 3),), (), "imported")
    columns = score({"fake": [1e200] * 3}, dataset)
    assert np.isnan(columns["fake:product"][0])
    assert columns["fake"][0] == 1e200


def test_other_columns_are_refused() -> None:
    for columns, part in (
        ({"fake": [1.0]}, "1 number for 2 items"), ({"other": [1.0, 2.0]}, "got other"),
        ({"fake": [1.0, 2.0], "more": [1.0, 2.0]}, "got fake, more"),
        ({"fake": [1, 2], "other@overall": [3, 4]}, "got fake, other@overall"),
        ({"fake": [1.0, np.inf]}, "item toy_00001"), ({"fake": ["1", "2"]}, "number"),
        ({"fake": np.array([1 + 2j, 3])}, "number"), ([1.0, 2.0], "list"),
    ):
        with refused(BadScores, part):
            score(columns)


def test_a_dataset_without_a_needed_field_cannot_be_scored() -> None:
    with pytest.raises(CannotScore, match="context"):
        score(None, Dataset(make_card(), (Item("a", (), Utterance("system", "x")),), (), "imported"))


def test_a_masked_value_is_missing() -> None:
    assert np.isnan(score({"fake": np.ma.array([1.0, 2.0], mask=[False, True])})["fake"][1])


def test_a_column_may_have_scores_for_one_quality() -> None:
    columns = score({"fake": [1, 2], "fake@overall": [3, 4]})
    assert {name: list(column) for name, column in columns.items()} == {"fake": [1, 2], "fake@overall": [3, 4]}
    aggregates = scoring.aggregated({"fake": np.array([1.0, 2]), "fake@overall": np.array([3.0, 4])},
                                    [dialogue(("system", "a"), ("system", "b"))])
    assert aggregates["fake:sum@overall"] == [7]
    assert aggregates["fake@overall"] == [3.5]
    assert "fake@overall:sum" not in aggregates


def test_a_metrics_prints_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    class Loud(Fake):
        def score(self, items: Any, models: Any) -> Any:
            print("hello")  # noqa: T201
            return super().score(items, models)

    scoring.score(Loud(), TWO, MODELS)
    assert capsys.readouterr() == ("", "hello\n")


def test_a_metric_cannot_change_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Moving(Fake):
        def score(self, items: Any, models: Any) -> Any:
            os.chdir("/")
            return super().score(items, models)

    monkeypatch.chdir(tmp_path)
    scoring.score(Moving({"fake": [1, 2]}), TWO, MODELS)
    assert Path.cwd() == tmp_path.resolve()


def test_undeclared_models_are_refused(tiny_encoder: Path, home: Path) -> None:
    @dataclass(frozen=True, slots=True)
    class Hidden:
        card: ClassVar[MetricCard] = MetricCard("hidden", "Hidden", ("hidden",), "embedding")
        name: str

        def score(self, items: Any, models: Any) -> Any:
            models.encoder(self.name)
            return {"hidden": np.zeros(len(items))}

    with pytest.raises(BadScores, match="encoder"):
        scoring.score(Hidden(str(tiny_encoder)), make_dataset(["hi"], [(1,)]), Models(home))


@pytest.mark.parametrize(("options", "read", "declared"), [
    ("", "mine", True), ("-b", "shared", True), ("-b", "mine-b", True), ("", "mine-b", False)])
def test_undeclared_weights_are_refused(options: str, read: str, declared: bool) -> None:
    @dataclass(frozen=True)
    class Hidden(Trained):
        card: ClassVar[MetricCard] = MetricCard("hidden", "Hidden", ("hidden",), "toy", checkpoints=("mine", "shared"))

        @property
        def weights_name(self) -> str:
            return f"mine{options}"

        def score(self, items: Any, models: Any) -> Any:
            models.requested.add(("checkpoint", read))
            return {"hidden": [0.0] * len(items)}

    if declared:
        assert scoring.score(Hidden(), TWO, MODELS).columns["hidden"].tolist() == [0.0, 0.0]
    else:
        with pytest.raises(BadScores, match="'mine-b'"):
            scoring.score(Hidden(), TWO, MODELS)
