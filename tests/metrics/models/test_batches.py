"""Batches respect their budget, results keep their order, and running out of memory changes no result."""

import gc
import threading
import weakref
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import CannotScore
from metrics.models.batches import Batches, Forward, Positions, make_batches, out_of_memory


def cost(batch: Positions, lengths: Sequence[int]) -> int:
    return int(batch.size) * max(lengths[position] for position in batch)


@settings(max_examples=50)
@given(lengths=st.lists(st.integers(0, 60), max_size=60), budget=st.integers(1, 200), even=st.booleans())
def test_each_text_is_in_one_batch_within_the_budget(lengths: list[int], budget: int, even: bool) -> None:
    batches = make_batches(lengths, budget, even)
    assert sorted(int(position) for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(cost(batch, lengths) <= budget for batch in batches if batch.size > 1)
    assert all(len({lengths[position] for position in batch}) == 1 for batch in batches if even or batch.size == 1)


def memory_of(tokens: int, lengths: Sequence[int]) -> tuple[Forward[int], list[int]]:
    """Return a forward function that fails on more than `tokens` tokens, and the sizes of the batches it computed."""
    computed: list[int] = []

    def forward(batch: Positions) -> list[int]:
        if cost(batch, lengths) > tokens:
            raise MemoryError
        computed.append(cost(batch, lengths))
        return [10 * int(position) for position in batch]

    return forward, computed


@pytest.mark.parametrize("devices", [1, 2])
def test_batches_shrink_when_memory_runs_out(devices: int) -> None:
    lengths = list(range(1, 40))
    batches = Batches(1000)
    forward, computed = memory_of(100, lengths)
    assert batches.run(lengths, [forward] * devices) == [10 * index for index in range(39)]
    assert max(computed) <= 100
    assert 25 <= batches.budget <= 100, "halved only as often as needed"
    before = len(computed)
    assert batches.run(lengths, [forward]) == [10 * index for index in range(39)]
    assert sum(computed[before:]) < 2 * sum(lengths), "the budget is remembered"


def test_out_of_memory_is_recognised_on_every_device() -> None:
    torch = pytest.importorskip("torch")
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."))
    for message in ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4503599627370496",
                    "[enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory",
                    "MPS backend out of memory (MPS allocated: 17.00 GB, max: 18 GB).",
                    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"):
        assert out_of_memory(RuntimeError(message)), message


def test_a_single_text_that_exceeds_memory_is_an_error() -> None:
    forward, _ = memory_of(50, [10, 60, 20])
    with pytest.raises(CannotScore, match="60 tokens"):
        Batches(1000).run([10, 60, 20], [forward])


@pytest.mark.parametrize("error", [RuntimeError("mat1 and mat2 shapes cannot be multiplied"), KeyboardInterrupt()])
def test_other_errors_propagate_and_stop_all_devices(error: BaseException) -> None:
    computed: list[int] = []
    failed = threading.Event()

    def good(batch: Positions) -> list[int]:
        assert failed.wait(10)
        computed.append(int(batch[0]))
        return batch.tolist()  # type: ignore[no-any-return]

    def bad(_: Positions) -> list[int]:
        failed.set()
        raise error

    with pytest.raises(type(error)):
        Batches(1).run([1] * 10_000, [good, bad])
    assert len(computed) < 10_000


def test_a_failed_batch_is_released_before_the_next() -> None:
    """An exception keeps its frames alive, and with them the tensors that filled the memory."""
    held: list[weakref.ref[np.ndarray]] = []

    def forward(batch: Positions) -> list[int]:
        assert all(tensor() is None for tensor in held), "the failed batch is still in memory"
        tensor = np.zeros(1)
        held.append(weakref.ref(tensor))
        if batch.size > 1:
            raise MemoryError
        return [0]

    gc.disable()
    try:
        assert Batches(4).run([1, 1, 1, 1], [forward]) == [0] * 4
    finally:
        gc.enable()
