"""The score store: what was written comes back bit for bit, what was damaged never does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore

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
