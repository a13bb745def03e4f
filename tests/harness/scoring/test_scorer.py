"""The scorer: scores are stored or computed in parts, and never twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.dataset import Item
from harness.errors import ScoringFailed
from harness.scoring import parts
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer, dataset_of
from harness.scoring.store import ScoreStore
from metrics.errors import CannotScore
from metrics.metric import MetricCard, line, signature
from metrics.models.service import Models
from tests.conftest import make_item

CALLS: list[list[str]] = []


@dataclass(frozen=True, slots=True)
class Lengths:
    """Counts letters, and records the ids of each call; it can refuse calls with a certain item."""

    card: ClassVar[MetricCard] = MetricCard("lengths", "Lengths", ("lengths",), "toy")
    refuses: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Any:
        names = [item.id for item in items]
        CALLS.append(names)
        if self.refuses in (*names, "all"):
            raise CannotScore("not these")
        return {"lengths": [float(len(item.response.text)) if item.response else np.nan for item in items]}


def scorer(folder: Path, **more: Any) -> Scorer:
    items = [make_item(f"i{number}", "x" * number) for number in range(20)]
    return Scorer(dataset_of(items, "toy"), Models(folder), ScoreStore(folder / "scores"), **more)


def test_a_large_dataset_is_scored_in_parts_and_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_ITEMS", 8)
    CALLS.clear()
    for more, calls in (({}, 3), ({}, 3), ({"rescore": True}, 6)):
        assert scorer(tmp_path, **more).scores(Lengths()).columns["lengths"].tolist() == list(range(20))
        assert len(CALLS) == calls
    assert [len(names) for names in CALLS[:3]] == [8, 8, 4]
    assert list(tmp_path.rglob("*.shard")) == []
    column = scorer(tmp_path).scores(Lengths(refuses="i9")).columns["lengths"]
    assert np.flatnonzero(np.isnan(column)).tolist() == list(range(8, 16))


def test_a_column_for_an_unknown_quality_is_an_error(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Own:
        card: ClassVar[MetricCard] = MetricCard("own", "Own", ("own",), "plug-in")
        quality: str

        def score(self, items: Sequence[Item], models: Models) -> Any:
            return {name: np.ones(len(items)) for name in ("own", f"own@{self.quality}")}

    source = Scorer(dataset_of([make_item("a", "x")]), Models(tmp_path))
    assert isinstance(source.attempt(Own("relevance")), Scores)
    for quality, hint in (("Relevant", "'relevance'"), ("Xyz", "`harness show")):
        assert [part for part in (repr(quality), hint) if part not in str(source.attempt(Own(quality)))] == []


def test_a_metric_without_scores_has_a_reason(tmp_path: Path) -> None:
    source = scorer(tmp_path)
    refused = source.attempt(Lengths(refuses="all"))
    assert (type(refused), str(refused)) == (CannotScore, "not these")
    failed = ScoringFailed("items 0 to 7 cost a worker 3 times", "its stack")
    crashed = ValueError("no such word")
    source.known = {line(signature(metric, source.models)): error
                    for metric, error in ((Lengths(), failed), (Lengths(refuses="x"), crashed))}
    assert source.attempt(Lengths()) is failed
    failure = source.attempt(Lengths(refuses="x"))
    assert isinstance(failure, ScoringFailed)
    assert str(failure) == "ValueError: no such word"
    assert "ValueError: no such word" in failure.stack


def test_scores_are_stored_bit_for_bit(tmp_path: Path) -> None:
    store, fingerprint = ScoreStore(tmp_path), "f" * 64
    scores = Scores(("a", "b"), {"x": np.array([0.1, np.nan]), "y:sum": np.array([-0.0, 1e-300])}, 1.25)
    store.put(fingerprint, "toy|r1|references=max", scores)
    read = store.get(fingerprint, "toy|r1|references=max")
    assert read is not None
    assert (read.items, read.seconds) == (scores.items, scores.seconds)
    for name, column in scores.columns.items():
        assert read.columns[name].tobytes() == column.tobytes()
    for other in (("e" * 64, "toy|r1|references=max"), (fingerprint, "toy|r2|references=max"), (fingerprint, "to|r1")):
        assert store.get(*other) is None
