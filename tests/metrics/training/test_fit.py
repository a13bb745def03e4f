"""The training loop: what it finds, when it stops, and that a training that was cut ends as one that was not."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from metrics.errors import MetricError  # noqa: E402
from metrics.models.device import Machine  # noqa: E402
from metrics.training import loop  # noqa: E402
from metrics.training.loop import Fitted, Look, fit  # noqa: E402
from metrics.training.recipe import Objective, Recipe  # noqa: E402

SLOPES = torch.tensor([[1.0, -2.0, 0.5]])
RECIPE = Recipe(corpora=(), steps=60, every=10, rate=0.1, patience=60)
CPU = Machine()
pytestmark = pytest.mark.usefixtures("one_thread")


class Noisy(torch.nn.Module):
    """A line through noise, with a part that is not trained and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.line = torch.nn.Linear(3, 1)
        self.frozen = torch.nn.Linear(3, 3).requires_grad_(False)
        self.drop = torch.nn.Dropout(0.1)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        if self.training:
            self.seen += 1
        return self.line(self.drop(x))


def batch(rng: np.random.Generator, many: int = 16) -> dict[str, Any]:
    x = torch.from_numpy(rng.normal(size=(many, 3)).astype(np.float32))
    return {"x": x, "y": x @ SLOPES.T + 3}


def loss(network: Any, batch: Any) -> Any:
    return torch.nn.functional.mse_loss(network(batch["x"]), batch["y"])


def objective(**changes: Any) -> Objective:
    made = Objective(Noisy(), {}, batch, [batch(np.random.default_rng(5))], loss)
    return dataclasses.replace(made, **changes)


def same(first: Fitted, second: Fitted) -> bool:
    return (first.curve, first.step, first.steps) == (second.curve, second.step, second.steps) and all(
        torch.equal(one, second.weights[name]) for name, one in first.weights.items())


def test_a_line_is_found_and_only_what_learns_is_handed_over() -> None:
    plain = objective(network=torch.nn.Linear(3, 1))
    found = fit(plain, dataclasses.replace(RECIPE, steps=300), CPU, 0)
    assert found.weights["weight"].numpy() == pytest.approx(SLOPES.numpy(), abs=0.05)
    assert found.weights["bias"].item() == pytest.approx(3, abs=0.05)
    assert [look.step for look in found.curve] == list(range(10, 301, 10))
    assert set(fit(objective(), RECIPE, CPU, 0).weights) == {"line.weight", "line.bias", "seen"}


def test_the_rate_rises_and_falls_in_a_line() -> None:
    recipe = Recipe(corpora=(), steps=10, rate=1.0, warmup=0.4)
    assert [recipe.rate * loop.share_of_rate(recipe, step) for step in range(10)] == pytest.approx(
        [0.25, 0.5, 0.75, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    recipe = Recipe(corpora=(), steps=7, warmup=0, epochs=3, schedule="halved")
    assert [loop.share_of_rate(recipe, step) for step in range(7)] == [1, 1, 1, 0.5, 0.5, 0.25, 0.25]


def test_the_same_seed_gives_the_same_weights_and_leaves_randomness_as_it_was() -> None:
    first, second, third = (objective() for _ in range(3))
    torch.manual_seed(9)
    expected = torch.rand(1)
    torch.manual_seed(9)
    found = fit(first, RECIPE, CPU, 3)
    assert torch.rand(1) == expected
    assert same(found, fit(second, RECIPE, CPU, 3))
    assert not same(found, fit(third, RECIPE, CPU, 4))


def test_a_training_that_was_cut_ends_in_the_same_weights(tmp_path: Path) -> None:
    whole = fit(objective(), RECIPE, CPU, 3)
    for count in (1, 6):
        looks: list[Look] = []

        def stop(look: Look, looks: list[Look] = looks, count: int = count) -> None:
            looks.append(look)
            if len(looks) == count:
                raise KeyboardInterrupt

        state = tmp_path / f"state-{count}"
        with pytest.raises(KeyboardInterrupt):
            fit(objective(), RECIPE, CPU, 3, state, stop)
        torch.manual_seed(1234)
        again = fit(objective(), RECIPE, CPU, 3, state, looks.append)
        assert same(whole, again)
        assert tuple(looks) == whole.curve, "it went on where it was, and did not begin again"


def test_a_damaged_state_or_that_of_another_training_begins_anew(tmp_path: Path) -> None:
    state = tmp_path / "state"
    whole = fit(objective(), RECIPE, CPU, 3, state)
    for spoil in (lambda: state.write_bytes(state.read_bytes()[:-100]), lambda: state.write_bytes(b"no state"),
                  lambda: torch.save([1], state)):
        looks: list[Look] = []
        spoil()
        assert same(whole, fit(objective(), RECIPE, CPU, 3, state, looks.append))
        assert len(looks) == 6
    looks = []
    fit(objective(), RECIPE, CPU, 4, state, looks.append)
    assert len(looks) == 6


def test_it_stops_when_patience_runs_out_and_keeps_the_best() -> None:
    losses = iter([3.0, 1.0, 2.0, 2.0, 2.0, 0.1])

    def scripted(network: Any, batch: Any) -> Any:
        return loss(network, batch) if network.training else torch.tensor(next(losses))

    found = fit(objective(loss=scripted), dataclasses.replace(RECIPE, patience=2), CPU, 0)
    assert (found.step, found.steps, found.held_out) == (20, 40, 1.0)


def test_what_cannot_be_trained_is_refused_in_one_line() -> None:
    for changes, part in (
        ({"loss": lambda network, batch: network(batch["x"]).sum() * float("nan")},
         r"training loss is no finite number.* between steps 1 and 10"),
        ({"loss": lambda network, batch: network(batch["x"]).sum() * (1.0 if network.training else float("inf"))},
         r"held-out loss.* between steps 1 and 10"),
        ({"held_out": []}, "validation set is empty"),
        ({"network": Noisy().requires_grad_(False)}, "no parameter that requires a gradient"),
    ):
        with pytest.raises(MetricError, match=part) as caught:
            fit(objective(**changes), RECIPE, CPU, 0)
        assert "\n" not in str(caught.value)


def test_a_loss_that_ends_as_no_number_leaves_the_last_good_state(tmp_path: Path) -> None:
    steps = iter(range(100))

    def breaks(network: Any, batch: Any) -> Any:
        return loss(network, batch) * (float("nan") if network.training and next(steps) > 14 else 1.0)

    state = tmp_path / "a.state"
    with pytest.raises(MetricError, match=r"between steps 11 and 20: .* --minutes 0 keeps the best weights up to step"):
        fit(objective(loss=breaks), RECIPE, CPU, 0, state)
    found = fit(objective(loss=breaks), RECIPE, CPU, 0, state, until=0.0)
    assert (found.steps, found.done) == (10, False)
