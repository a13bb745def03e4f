"""Batches keep to their budget, results to their places, and too little memory costs time, not results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.errors import CannotScore
from metrics.models.batches import Batches, Forward, Positions, cut

LENGTHS = st.lists(st.integers(0, 60), max_size=60)


def cost(batch: Positions, lengths: Sequence[int]) -> int:
    """What a batch takes with padding."""
    return int(batch.size) * max(lengths[position] for position in batch)


@given(lengths=LENGTHS, budget=st.integers(1, 200))
def test_each_text_is_in_one_batch_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = cut(lengths, budget)
    assert sorted(int(position) for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(cost(batch, lengths) <= budget for batch in batches if batch.size > 1)
    assert all(batch.size for batch in batches)


@pytest.mark.parametrize(("lengths", "budget", "expected"), [
    ([], 10, []),
    ([3], 1, [[0]]),
    ([5, 5, 5], 10, [[0, 1], [2]]),
    ([1, 9, 2], 10, [[1], [2, 0]]),  # 9 leaves no room for a second; 2 and 1 take 2 × 2
    ([0, 0], 1, [[0], [1]]),
    ([4, 4, 1, 1], 8, [[0, 1], [2, 3]]),
])
def test_batches_worked_by_hand(lengths: list[int], budget: int, expected: list[list[int]]) -> None:
    assert [batch.tolist() for batch in cut(lengths, budget)] == expected


def memory_of(tokens: int, lengths: Sequence[int], error: Callable[[], Exception]) -> tuple[Forward[int], list[int]]:
    """A device on which a batch of more tokens fails; and what the batches cost that it computed."""
    computed: list[int] = []

    def forward(batch: Positions) -> list[int]:
        if cost(batch, lengths) > tokens:
            raise error()
        computed.append(cost(batch, lengths))
        return [10 * int(position) for position in batch]

    return forward, computed


def torch_error() -> Exception:
    torch = pytest.importorskip("torch")
    error: Exception = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    return error


ERRORS: list[Callable[[], Exception]] = [
    torch_error,
    lambda: RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                         "you tried to allocate 4503599627370496 bytes. Error code 12 (Cannot allocate memory)"),
    lambda: RuntimeError("[enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried"),
    lambda: RuntimeError("MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: 1 GB, max: 18 GB)."),
    lambda: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    MemoryError,
]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("devices", [1, 2])
def test_where_memory_runs_out_batches_shrink_and_results_stay(error: Callable[[], Exception], devices: int) -> None:
    lengths = list(range(1, 40))
    batches = Batches(1000)
    forward, computed = memory_of(100, lengths, error)
    assert batches.run(lengths, [forward] * devices) == [10 * place for place in range(39)]
    assert max(computed) <= 100
    assert 25 <= batches.budget <= 100, "halved as often as was needed, no more"
    before = len(computed)
    assert batches.run(lengths, [forward]) == [10 * place for place in range(39)]
    assert sum(computed[before:]) < 2 * sum(lengths), "what the memory allows is remembered"


def test_a_text_that_does_not_fit_alone_is_said() -> None:
    forward, _ = memory_of(50, [10, 60, 20], MemoryError)
    with pytest.raises(CannotScore, match="out of memory with a single text of 60 tokens"):
        Batches(1000).run([10, 60, 20], [forward])


@pytest.mark.parametrize("error", [RuntimeError("mat1 and mat2 shapes cannot be multiplied"), ValueError("no"),
                                   RuntimeError("CUDA error: device-side assert triggered"), KeyboardInterrupt()])
@pytest.mark.parametrize("devices", [1, 2, 3])
def test_any_other_error_passes_through_and_nobody_hangs(error: BaseException, devices: int) -> None:
    def forward(batch: Positions) -> list[int]:
        if 7 in batch:
            raise error
        return batch.tolist()  # type: ignore[no-any-return]

    with pytest.raises(type(error)):
        Batches(4).run([1] * 50, [forward] * devices)
    assert threading.active_count() < 20


def test_when_one_device_fails_the_others_stop() -> None:
    computed: list[int] = []
    failed = threading.Event()

    def good(batch: Positions) -> list[int]:
        assert failed.wait(10)
        computed.append(int(batch[0]))
        return batch.tolist()  # type: ignore[no-any-return]

    def bad(_: Positions) -> list[int]:
        failed.set()
        raise ValueError("broken device")

    with pytest.raises(ValueError, match="broken device"):
        Batches(1).run([1] * 10_000, [good, bad])
    assert len(computed) < 10_000


def test_devices_share_the_work_and_the_results_keep_their_places() -> None:
    meet = threading.Barrier(2)  # broken unless both devices take part
    first = threading.local()

    def forward(batch: Positions) -> list[int]:
        if not hasattr(first, "met"):
            first.met = True
            meet.wait(10)
        return [3 * int(position) for position in batch]

    lengths = np.random.default_rng(0).integers(1, 30, 200).tolist()
    assert Batches(50).run(lengths, [forward, forward]) == [3 * place for place in range(200)]


def test_what_a_failed_batch_held_is_free_before_the_next() -> None:
    """An error keeps the frames it passed through, and with them the tensors that filled the memory."""
    import gc
    import weakref

    class Tensor:
        pass

    held: list[weakref.ref[Tensor]] = []

    def forward(batch: Positions) -> list[int]:
        assert not any(one() for one in held), "the failed batch is still held"
        tensor = Tensor()
        held.append(weakref.ref(tensor))
        if batch.size > 1:
            raise MemoryError
        return [0]

    gc.disable()
    try:
        assert Batches(4).run([1, 1, 1, 1], [forward]) == [0] * 4
    finally:
        gc.enable()
