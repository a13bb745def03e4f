"""What a checkpoint's numbers lose by being stored."""

from __future__ import annotations

import pytest

from metrics.models import storage

torch = pytest.importorskip("torch")


def test_eight_bits_are_half_a_step_from_the_number() -> None:
    """A step is a 127th of the row's largest number; the scale itself is rounded to float16."""
    matrix = torch.linspace(-100, 90, 2 * storage.MANY).reshape(2, -1) * torch.tensor([[1.0], [0.01]])
    apart = (storage.unpacked(storage.packed({"matrix": matrix}, eight_bits=True))["matrix"] - matrix).abs().amax(1)
    assert bool((apart <= matrix.abs().amax(1) * 0.0046).all())


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
