"""What a checkpoint's numbers lose by being stored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.models import storage

torch = pytest.importorskip("torch")


@settings(max_examples=25)
@given(st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=6), st.floats(0.01, 600))
def test_eight_bits_are_half_a_step_from_the_number(row: list[float], by: float) -> None:
    """A step is a 127th of the row's largest number; the scale itself is rounded to float16."""
    matrix = torch.tensor([row, [by * value for value in row]], dtype=torch.float32).repeat(1, storage.MANY)
    stored = storage.packed({"matrix": matrix}, eight_bits=True)
    assert stored["matrix"].dtype is torch.int8
    apart = (storage.unpacked(stored)["matrix"] - matrix).abs().amax(1)
    assert bool((apart <= matrix.abs().amax(1) * 0.0046 + 1e-5).all())


def test_each_kind_of_tensor_is_stored_as_it_can_be() -> None:
    weights = {"vector": torch.tensor([0.5, -2.5]), "small": torch.ones(3, 3), "whole": torch.tensor([7]),
               "large": torch.tensor([1e6]), "matrix": torch.ones(64, 64), "lost": torch.full((64, 64), torch.nan),
               "many": torch.ones(4, 64, 64), "none": torch.zeros(0)}
    stored = storage.packed(weights, eight_bits=True)
    assert {name: tensor.dtype for name, tensor in stored.items()} == {
        "vector": torch.float16, "small": torch.float16, "whole": torch.int64, "large": torch.float32,
        "matrix": torch.int8, "matrix.scale": torch.float16, "lost": torch.float32, "many": torch.int8,
        "many.scale": torch.float16, "none": torch.float32}
    read = storage.unpacked(stored)
    assert read.keys() == weights.keys()
    for name, tensor in weights.items():
        torch.testing.assert_close(read[name], tensor, rtol=1e-3, atol=1e-4, equal_nan=True)
