"""Embeddings cached in memory and on disk: exact, bounded, and safe with several writers."""

import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.storage.files import Files
from metrics.errors import MetricError
from metrics.models import text_table as module
from metrics.models.counters import COUNTERS
from metrics.models.memory import ENTRY_OVERHEAD, ArrayCache, Vectors
from metrics.models.service import Choice, Models
from metrics.models.text_table import PooledVectors
from tests import tiny
from tests.metrics.models.test_tokens import AWKWARD, HALVES


class Numbers:
    """A fake encoder with a different vector of three dimensions for each text; `rows` lists the texts it encoded."""

    width = 3
    weights = SimpleNamespace(digest="d" * 16, settings="s" * 8)
    machine = SimpleNamespace(precision="fp32")

    def __init__(self) -> None:
        self.rows: list[str] = []

    def means_and_maxima(self, texts: Sequence[str]) -> Vectors:
        self.rows += texts
        return np.array([numbers(text) for text in texts], dtype=np.float32).reshape(-1, 6)


def numbers(text: str) -> Vectors:
    return np.random.default_rng([ord(char) for char in text]).normal(size=6).astype(np.float32)


def missing(folder: Path, *texts: str) -> list[str]:
    """Return the texts that had to be encoded, after checking the vectors of all."""
    encoder = Numbers()
    pooled = PooledVectors(folder, encoder)(texts)  # type: ignore[arg-type]
    np.testing.assert_array_equal(pooled, np.array(list(map(numbers, texts))).astype(np.float16))
    return encoder.rows


def test_vectors_are_exact_and_damaged_files_are_encoded_again(tmp_path: Path) -> None:
    texts = [*AWKWARD, *HALVES]
    for damaged in (False, True):
        if damaged:
            [path] = tmp_path.rglob("*.rows")
            path.write_bytes(path.read_bytes()[:-1])
        assert missing(tmp_path, *texts, *texts) == texts
        assert missing(tmp_path, *texts) == []


def test_files_of_several_writers_are_merged(tmp_path: Path) -> None:
    first, second = (PooledVectors(tmp_path, Numbers()) for _ in range(2))  # type: ignore[arg-type]
    first(["a", "b"])
    second(["b", "c"])
    assert missing(tmp_path, "d", "c", "b", "a") == ["d"]


def test_a_full_disk_and_too_large_numbers_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(files: Files, name: str, content: bytes, *, durable: bool = True) -> None:
        raise OSError(28, "No space left on device", name)

    with monkeypatch.context() as disk:
        disk.setattr(Files, "write", full)
        with pytest.raises(MetricError, match="No space left"):
            missing(tmp_path, "one")
    monkeypatch.setattr(Numbers, "means_and_maxima", lambda self, texts: np.full((len(texts), 6), 7e4, np.float32))
    with pytest.raises(MetricError, match="float16"):
        missing(tmp_path, "two")


TALK = ["hello there", "what", "", "you like tea", "a good reply to you", "what", "\ud800 not"]


def test_an_interrupted_run_keeps_its_blocks(
        home: Path, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_TEXTS", 2)
    encoder = Models(home, Choice(encoder=str(tiny_encoder), device="cpu")).encoder()
    expected = np.hstack([encoder.sentences(TALK, "mean"), encoder.sentences(TALK, "max")])
    np.testing.assert_array_equal(encoder.means_and_maxima(TALK), expected)

    def stop(done: int, total: int, seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PooledVectors(tmp_path, encoder, stop)(TALK)
    progress: list[tuple[int, int]] = []
    pooled = PooledVectors(tmp_path, encoder, lambda done, total, seconds: progress.append((done, total)))(TALK)
    assert progress == [(2, 4), (4, 4)]
    np.testing.assert_array_equal(pooled, expected.astype(np.float16))
    assert PooledVectors(tmp_path, encoder)([]).shape == (0, 2 * encoder.width)
    other = Models(home, Choice(encoder=str(tiny.encoder(tmp_path / "other", hidden_size=8)), device="cpu")).encoder()
    assert PooledVectors(tmp_path, other)(TALK).shape[1] == 16, "encoders do not share vectors"


def vector(value: float = 0.0, size: int = 1) -> Vectors:
    return np.full(size, value, dtype=np.float32)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100)), max_size=60),
       st.integers(0, 3 * (ENTRY_OVERHEAD + 400)))
def test_memory_never_exceeds_its_capacity(puts: list[tuple[int, int]], capacity: int) -> None:
    memory, last = ArrayCache(capacity), {}
    for key, size in puts:
        last[key] = size
        memory.put(key, vector(key, size))
        arrays = {key: array for key in range(6) if (array := memory.get(key)) is not None}
        assert memory.bytes_used == sum(array.nbytes + ENTRY_OVERHEAD for array in arrays.values()) <= capacity
        assert all(array.size == last[key] for key, array in arrays.items()), "always the latest value"


def test_the_least_recently_used_array_is_dropped_and_all_are_read_only() -> None:
    memory, first = ArrayCache(2 * (ENTRY_OVERHEAD + 4)), vector(1)
    memory.put("a", first)
    memory.put("b", vector(2))
    assert memory.get("a") is first
    memory.put("c", vector(3))
    assert [memory.get(key) is None for key in "abc"] == [False, True, False]
    with pytest.raises(ValueError, match="read"):
        first += 1


def test_the_cost_of_a_metric_does_not_depend_on_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first metric uses words and sentences, the second only sentences; whichever runs first loads the model."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def spend(seconds: float) -> None:
        clock[0] += seconds

    def costs(order: str) -> dict[str, float]:
        memory, loaded, spent = ArrayCache(1 << 20), [], {}

        def words(missing: list[str]) -> list[Vectors]:
            if not loaded:
                with COUNTERS.count_loading(), COUNTERS.count_loading():
                    spend(100)
                loaded.append(1)
            spend(sum(map(len, missing)) + len(missing))
            return [vector() for _ in missing]

        def sentences(missing: list[str]) -> list[Vectors]:
            spend(0.5 * len(missing))
            return memory.get_all(("words",), missing, words) and [vector() for _ in missing]

        for metric in order:
            memory.start_metric()
            start, excluded = clock[0], COUNTERS.excluded
            if metric == "a":
                memory.get_all(("words",), ["tea", "green"], words)
            memory.get_all(("sentences",), ["tea"] * 2 if metric == "a" else ["tea", "yes"], sentences)
            spend(2)
            spent[metric] = clock[0] - start - (COUNTERS.excluded - excluded)
        return spent

    assert costs("ba")["b"] == costs("ab")["b"] == pytest.approx(4 + 4 + 1 + 2)
    assert costs("ab")["a"] == pytest.approx(4 + 6 + 0.5 + 2)
