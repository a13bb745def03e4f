"""What is remembered is bounded, the longest unused goes first, and nobody can change it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.models.memory import ENTRY, Memory, Vectors
from metrics.models.reading import READING


def vector(value: float = 0.0, size: int = 1) -> Vectors:
    return np.full(size, value, dtype=np.float32)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100)), max_size=60), st.integers(0, 3 * (ENTRY + 400)))
def test_never_more_than_its_bytes(puts: list[tuple[int, int]], capacity: int) -> None:
    memory, last = Memory(capacity), {}
    for key, size in puts:
        last[key] = size
        memory.put(key, vector(key, size))
        assert memory.held <= capacity
        kept = {key: array for key in range(6) if (array := memory.get(key)) is not None}
        assert memory.held == sum(array.nbytes + ENTRY for array in kept.values())
        assert all(array.size == last[key] for key, array in kept.items()), "never what was there before"


def test_the_longest_unused_goes_first_and_nobody_can_change_what_the_next_is_given() -> None:
    memory = Memory(2 * (ENTRY + 4))
    mine = vector(1)
    memory.put("a", mine)
    memory.put("b", vector(2))
    assert memory.get("a") is mine
    memory.put("c", vector(3))
    assert memory.get("b") is None
    assert [float(array[0]) for key in "ac" if (array := memory.get(key)) is not None] == [1, 3]
    with pytest.raises(ValueError, match="read-only"):
        mine += 1


def test_what_a_metric_costs_does_not_say_who_came_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """One asks for words and for sentences made of them, the other for sentences alone; who is first loads a model."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def spend(seconds: float) -> None:
        clock[0] += seconds

    def costs(order: str) -> dict[str, float]:
        memory, loaded, spent = Memory(1 << 20), [], {}

        def words(missing: list[str]) -> list[Vectors]:
            if not loaded:
                with READING.loads(), READING.loads():
                    spend(100)
                loaded.append(1)
            spend(sum(map(len, missing)) + len(missing))
            return [vector() for _ in missing]

        def sentences(missing: list[str]) -> list[Vectors]:
            spend(0.5 * len(missing))
            return memory.through(("words",), missing, words) and [vector() for _ in missing]

        for metric in order:
            memory.begin()
            start, others = clock[0], READING.others
            if metric == "a":
                memory.through(("words",), ["tea", "green"], words)
            memory.through(("sentences",), ["tea"] * 2 if metric == "a" else ["tea", "yes"], sentences)
            spend(2)
            spent[metric] = clock[0] - start - (READING.others - others)
        return spent

    assert costs("ba")["b"] == costs("ab")["b"] == pytest.approx(4 + 4 + 1 + 2)
    assert costs("ab")["a"] == pytest.approx(4 + 6 + 0.5 + 2)
