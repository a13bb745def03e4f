"""The scorer and its store: part by part, bit for bit, nothing twice; what was damaged or is refused never counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dataset import Item
from harness.errors import ScoringFailed
from harness.scoring import parts
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer, dataset_of
from harness.scoring.store import ScoreStore
from metrics.errors import CannotScore
from metrics.metric import MetricCard, signature
from metrics.models.service import Models
from tests.conftest import make_item

ITEMS = [make_item(f"i{number}", "x" * number) for number in range(20)]
CALLS: list[list[str]] = []


@dataclass(frozen=True, slots=True)
class Lengths:
    """Counts letters; what it is asked for is remembered, some items can be refused or end the run."""

    card: ClassVar[MetricCard] = MetricCard("lengths", "Lengths", ("lengths",), "toy")
    refuses: str = ""
    dies: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Any:
        """One score per item."""
        names = [item.id for item in items]
        CALLS.append(names)
        if self.refuses in names or self.refuses == "all":
            raise CannotScore("not these")
        if self.dies in names:
            raise KeyboardInterrupt
        return {"lengths": [float(len(item.response.text)) if item.response else np.nan for item in items]}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scorer:
    """A scorer of twenty items in parts of eight."""
    monkeypatch.setattr(parts, "LARGEST", 8)
    CALLS.clear()
    return again(tmp_path)


def again(tmp_path: Path, **more: Any) -> Scorer:
    return Scorer(dataset_of(ITEMS, "toy"), Models(tmp_path), ScoreStore(tmp_path / "scores"), **more)


def test_a_large_dataset_is_scored_in_parts_and_joined(own: Scorer, tmp_path: Path) -> None:
    assert own.scores(Lengths()).columns["lengths"].tolist() == list(range(20))
    assert [len(names) for names in CALLS] == [8, 8, 4]
    assert list(tmp_path.rglob("*.shard")) == []
    assert again(tmp_path).scores(Lengths()).columns["lengths"].tolist() == list(range(20))
    assert len(CALLS) == 3, "the second time it is in the store"
    assert again(tmp_path, rescore=True).scores(Lengths()).items == own.scores(Lengths()).items
    assert len(CALLS) == 6


def test_a_run_that_ended_goes_on_with_the_next_part(own: Scorer, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        own.scores(Lengths(dies="i9"))
    dying = Lengths(dies="i9")
    assert own.store is not None
    assert list(own.store.parts(own.dataset.fingerprint, signature(dying, own.models))) == [(0, 8)]
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        again(tmp_path).scores(dying)
    assert [[f"i{number}" for number in range(8, 16)]] == CALLS, "what was scored is not scored again"


def test_a_damaged_part_is_scored_again_and_a_refused_one_is_missing(own: Scorer) -> None:
    metric = Lengths(refuses="i9")
    assert own.store is not None
    own.store.put_part(own.dataset.fingerprint, signature(metric, own.models), (0, 8),
                       Scores(tuple("abcdefgh"), {"lengths": np.zeros(8)}, 1.0))
    column = own.scores(metric).columns["lengths"]
    assert np.isnan(column[8:16]).all()
    assert column[:8].tolist() == list(range(8))
    assert len(own.store.set_aside) == 1


def test_why_a_metric_has_no_scores(own: Scorer) -> None:
    refused = own.attempt(Lengths(refuses="all"))
    assert (type(refused), str(refused)) == (CannotScore, "not these")
    failed = ScoringFailed("items 0 to 7 cost a worker 3 times", "its stack")
    crashed = ValueError("no such word")
    own.known = {signature(Lengths(), own.models): failed, signature(Lengths(refuses="x"), own.models): crashed}
    assert own.attempt(Lengths()) is failed
    failure = own.attempt(Lengths(refuses="x"))
    assert isinstance(failure, ScoringFailed)
    assert str(failure) == "ValueError: no such word"
    assert "ValueError: no such word" in failure.stack


SCORES = Scores(("a", "b"), {"x": np.array([0.1, np.nan]), "y:sum": np.array([-0.0, 1e-300])}, 1.25)
PRINT, SIGNATURE = "f" * 64, "toy|r1|references=max"


def kept(tmp_path: Path) -> tuple[ScoreStore, Path]:
    store = ScoreStore(tmp_path)
    store.put(PRINT, SIGNATURE, SCORES)
    (part,) = tmp_path.glob("*/*.parquet")
    return store, part


def test_scores_come_back_bit_for_bit(tmp_path: Path) -> None:
    store, _ = kept(tmp_path)
    found = store.get(PRINT, SIGNATURE)
    assert found is not None
    assert (found.items, found.seconds) == (SCORES.items, SCORES.seconds)
    for name, column in SCORES.columns.items():
        assert found.columns[name].tobytes() == column.tobytes()
    for other in (("e" * 64, SIGNATURE), (PRINT, "toy|r2|references=max"), (PRINT, "to|r1")):
        assert store.get(*other) is None


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7), cut=st.booleans())
def test_any_damage_is_set_aside(tmp_path_factory: pytest.TempPathFactory, place: int, bit: int, cut: bool) -> None:
    store, part = kept(tmp_path_factory.mktemp("store"))
    content = bytearray(part.read_bytes())
    place %= len(content)
    if cut:
        content = content[:place]
    else:
        content[place] ^= 1 << bit
    part.write_bytes(content)
    assert store.get(PRINT, SIGNATURE) is None
    assert store.set_aside == [str(part)]
    assert part.with_suffix(".damaged").exists()
    store.put(PRINT, SIGNATURE, SCORES)
    assert store.get(PRINT, SIGNATURE) is not None
