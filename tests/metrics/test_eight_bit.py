"""Eight bits are near to thirty-two, and a row's result is its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from metrics.models import eight_bit  # noqa: E402


def network(*layers: Any) -> Any:
    return torch.nn.Sequential(*layers).eval().requires_grad_(False)


def made(inner: int, outer: int, bias: bool = True) -> tuple[Any, Any]:
    """A layer of random weights in fp32, and in int8."""
    torch.manual_seed(0)
    plain = network(torch.nn.Linear(inner, outer, bias=bias))
    whole = network(torch.nn.Linear(inner, outer, bias=bias))
    whole.load_state_dict(plain.state_dict())
    return plain, eight_bit.quantize(whole)


@pytest.mark.parametrize(("inner", "outer"), [(384, 1536), (16, 32), (7, 5), (1, 1), (33, 1)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_is_near_to_what_it_was(inner: int, outer: int, bias: bool) -> None:
    plain, whole = made(inner, outer, bias)
    states = torch.randn(4, 9, inner) * 3 + 1
    expected, found = plain(states), whole(states)
    assert found.shape == expected.shape
    assert (expected - found).abs().max() < 0.05 * expected.abs().max()


def test_weights_and_states_of_few_values_are_exact() -> None:
    """Whole numbers up to 127 in the weights, and states of two values, need no rounding."""
    plain, whole = made(32, 4)
    weight = torch.arange(128).reshape(4, 32).float() - 64
    weight[:, 0] = eight_bit._largest()
    plain[0].weight.copy_(weight.clamp(-eight_bit._largest(), eight_bit._largest()))
    whole = eight_bit.quantize(network(plain[0]))
    states = torch.from_numpy(np.random.default_rng(0).choice([-1.0, 1.0], (6, 32)).astype(np.float32))
    plain = plain[0]
    assert torch.allclose(whole(states), states @ plain.weight.T + plain.bias, atol=1e-3)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    _, whole = made(384, 64)
    states = torch.randn(10, 384)
    outlier = torch.cat([states, 1000 * torch.randn(1, 384)])
    assert torch.allclose(whole(outlier)[:10], whole(states), atol=1e-5)
    assert torch.allclose(torch.cat([whole(row[None]) for row in states]), whole(states), atol=1e-5)


@pytest.mark.parametrize("states", [torch.zeros(2, 8), torch.ones(2, 8), torch.full((1, 8), -3.5), torch.zeros(0, 8),
                                    100 + 1e-5 * torch.arange(8.0)[None]])
def test_states_without_a_range_are_survived(states: Any) -> None:
    plain, whole = made(8, 8)
    assert torch.allclose(whole(states), plain(states), rtol=0.02, atol=0.05)


def test_weights_of_zero_are_survived() -> None:
    plain, _ = made(8, 8)
    plain[0].weight.zero_()
    assert (eight_bit.quantize(plain)(torch.randn(3, 8)).std(0) == 0).all()


def test_careful_numbers_do_not_overflow_sixteen_bits() -> None:
    """Without VNNI, x86 adds two products of 0..255 and a weight in sixteen bits."""
    assert 2 * 255 * eight_bit.CAREFUL < 2**15 <= 2 * 255 * (eight_bit.CAREFUL + 2)


def test_the_layer_behind_the_vocabulary_stays() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2)).eval().requires_grad_(False)
    numbers = torch.tensor([[1, 2, 3]])
    before = model(numbers).logits
    eight_bit.quantize(model)
    assert type(model.lm_head) is torch.nn.Linear
    assert type(model.transformer.h[0].mlp.c_fc).__name__ == "EightBit"
    assert torch.allclose(model(numbers).logits, before, atol=0.1)
