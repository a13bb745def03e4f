"""Batches keep to their budget, results to their places, and too little memory costs time, not results."""

import gc
import threading
import weakref
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import CannotScore
from metrics.models.batches import Batches, Forward, Positions, cut


def cost(batch: Positions, lengths: Sequence[int]) -> int:
    """What a batch takes with padding."""
    return int(batch.size) * max(lengths[position] for position in batch)


@settings(max_examples=50)
@given(lengths=st.lists(st.integers(0, 60), max_size=60), budget=st.integers(1, 200), even=st.booleans())
def test_each_text_is_in_one_batch_within_the_budget(lengths: list[int], budget: int, even: bool) -> None:
    batches = cut(lengths, budget, even)
    assert sorted(int(position) for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(cost(batch, lengths) <= budget for batch in batches if batch.size > 1)
    assert all(len({lengths[position] for position in batch}) == 1 for batch in batches if even or batch.size == 1)


def test_batches_worked_by_hand() -> None:
    for lengths, budget, even, expected in (
        ([], 10, False, []), ([3], 1, False, [[0]]), ([5, 5, 5], 10, False, [[0, 1], [2]]),
        ([1, 9, 2], 10, False, [[1], [2, 0]]),  # 9 leaves no room for a second; 2 and 1 take 2 × 2
        ([1, 9, 2], 10, True, [[1], [2], [0]]), ([0, 0], 1, False, [[0], [1]]),
        ([4, 4, 1, 1], 8, False, [[0, 1], [2, 3]]),
    ):
        assert [batch.tolist() for batch in cut(lengths, budget, even)] == expected, lengths  # type: ignore[arg-type]


def memory_of(tokens: int, lengths: Sequence[int], error: Exception) -> tuple[Forward[int], list[int]]:
    """A device on which a batch of more tokens fails; and what the batches cost that it computed."""
    computed: list[int] = []

    def forward(batch: Positions) -> list[int]:
        if cost(batch, lengths) > tokens:
            raise error
        computed.append(cost(batch, lengths))
        return [10 * int(position) for position in batch]

    return forward, computed


ERRORS: list[Exception] = [
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                 "you tried to allocate 4503599627370496 bytes. Error code 12 (Cannot allocate memory)"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried"),
    RuntimeError("MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: 1 GB, max: 18 GB)."),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    MemoryError(),
]


def test_where_memory_runs_out_batches_shrink_and_results_stay() -> None:
    torch = pytest.importorskip("torch")
    lengths = list(range(1, 40))
    for number, error in enumerate([torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), *ERRORS]):
        batches = Batches(1000)
        forward, computed = memory_of(100, lengths, error)
        assert batches.run(lengths, [forward] * (1 + number % 2)) == [10 * place for place in range(39)], error
        assert max(computed) <= 100
        assert 25 <= batches.budget <= 100, "halved as often as was needed, no more"
        before = len(computed)
        assert batches.run(lengths, [forward]) == [10 * place for place in range(39)]
        assert sum(computed[before:]) < 2 * sum(lengths), "what the memory allows is remembered"


def test_a_text_that_does_not_fit_alone_is_said() -> None:
    forward, _ = memory_of(50, [10, 60, 20], MemoryError())
    with pytest.raises(CannotScore, match="out of memory with a single text of 60 tokens"):
        Batches(1000).run([10, 60, 20], [forward])


def test_any_other_error_passes_through_and_the_other_devices_stop() -> None:
    for error in (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), KeyboardInterrupt(),
                  RuntimeError("CUDA error: device-side assert triggered"), ValueError("broken device")):
        computed: list[int] = []
        failed = threading.Event()

        def good(batch: Positions, computed: list[int] = computed, failed: threading.Event = failed) -> list[int]:
            assert failed.wait(10)
            computed.append(int(batch[0]))
            return batch.tolist()  # type: ignore[no-any-return]

        def bad(_: Positions, error: BaseException = error, failed: threading.Event = failed) -> list[int]:
            failed.set()
            raise error

        forwards: list[list[Callable[[Positions], list[int]]]] = [[bad], [good, bad]]
        for devices in forwards:
            with pytest.raises(type(error)):
                Batches(1).run([1] * 10_000, devices)
        assert len(computed) < 10_000


def test_what_a_failed_batch_held_is_free_before_the_next() -> None:
    """An error keeps the frames it passed through, and with them the tensors that filled the memory."""
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
