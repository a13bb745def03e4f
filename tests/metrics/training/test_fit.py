"""The training loop: convergence, stopping, resuming."""

import dataclasses
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from metrics.errors import MetricError  # noqa: E402
from metrics.models.device import Machine  # noqa: E402
from metrics.training import loop  # noqa: E402
from metrics.training.loop import Fitted  # noqa: E402
from metrics.training.recipe import Objective, Recipe  # noqa: E402

SLOPES = torch.tensor([[1.0, -2.0, 0.5]])
RECIPE = Recipe(corpora=(), steps=60, every=10, rate=0.1, patience=60)
pytestmark = pytest.mark.usefixtures("one_thread")


class Noisy(torch.nn.Module):
    """A line fitted to noisy points, with a part that is not trained and a buffer."""

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


def batch(rng: np.random.Generator) -> dict[str, Any]:
    x = torch.from_numpy(rng.normal(size=(16, 3)).astype(np.float32))
    return {"x": x, "y": x @ SLOPES.T + 3}


def loss(network: Any, batch: Any) -> Any:
    return torch.nn.functional.mse_loss(network(batch["x"]), batch["y"])


def fit(recipe: Recipe = RECIPE, seed: int = 0, state: Path | None = None, tell: Any = lambda _: None,
        until: float = np.inf, network: Any = None, **changes: Any) -> Fitted:
    objective = Objective(network or Noisy(), {}, batch, [batch(np.random.default_rng(5))], loss)
    return loop.fit(dataclasses.replace(objective, **changes), recipe, Machine(), seed, state, tell, until=until)


def same(first: Fitted, second: Fitted) -> bool:
    return (first.curve, first.best, first.steps) == (second.curve, second.best, second.steps) and all(
        torch.equal(tensor, second.weights[name]) for name, tensor in first.weights.items())


def test_fit_converges_and_returns_only_trained_weights() -> None:
    plain = fit(dataclasses.replace(RECIPE, steps=300), network=torch.nn.Linear(3, 1))
    assert plain.weights["weight"].numpy() == pytest.approx(SLOPES.numpy(), abs=0.05)
    assert plain.weights["bias"].item() == pytest.approx(3, abs=0.05)
    assert [evaluation.step for evaluation in plain.curve] == list(range(10, 301, 10))
    assert set(fit().weights) == {"line.weight", "line.bias", "seen"}


def test_rate_schedules() -> None:
    two_steps_an_epoch = Recipe((), steps=6, warmup=0, batch=4, schedule="halved").over(8)
    for recipe, expected in (
        (Recipe((), steps=10, rate=1.0, warmup=0.4), [0.25, 0.5, 0.75, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
        (Recipe((), steps=7, warmup=0, epochs=3, schedule="halved"), [1, 1, 1, 0.5, 0.5, 0.25, 0.25]),
        (two_steps_an_epoch, [1, 1, 0.5, 0.5, 0.25, 0.25]),
    ):
        shares = [loop.rate_factor(recipe, step) for step in range(recipe.steps)]
        assert shares == pytest.approx(expected)
    with pytest.raises(MetricError, match="schedule"):
        two_steps_an_epoch.over(0)


def test_the_seed_determines_the_weights_and_randomness_is_restored() -> None:
    networks = [Noisy() for _ in range(3)]
    torch.manual_seed(9)
    expected = torch.rand(1)
    torch.manual_seed(9)
    first = fit(seed=3, network=networks[0])
    assert torch.rand(1) == expected
    assert [same(first, fit(seed=seed, network=networks.pop())) for seed in (3, 4)] == [True, False]


@pytest.mark.parametrize("count", [1, 6])
def test_an_interrupted_training_ends_with_the_same_weights(count: int, tmp_path: Path) -> None:
    uninterrupted, curve = fit(seed=3), []
    stop = Mock(side_effect=[None] * (count - 1) + [KeyboardInterrupt])
    with pytest.raises(KeyboardInterrupt):
        fit(RECIPE, 3, tmp_path / "state", stop)
    torch.manual_seed(1234)
    assert same(uninterrupted, fit(RECIPE, 3, tmp_path / "state", curve.append))
    assert (*(call.args[0] for call in stop.call_args_list), *curve) == uninterrupted.curve


def test_a_damaged_or_foreign_state_is_ignored(tmp_path: Path) -> None:
    state = tmp_path / "state"
    expected = fit(RECIPE, 3, state)
    for damage, seed in ((lambda: state.write_bytes(state.read_bytes()[:-100]), 3),
                         (lambda: torch.save([1], state), 3), (lambda: None, 4)):
        damage()
        evaluated = Mock()
        assert same(expected, fit(RECIPE, seed, state, evaluated)) == (seed == 3)
        assert evaluated.call_count == 6


def test_training_stops_when_patience_runs_out_and_keeps_the_best() -> None:
    losses = iter([3.0, 1.0, 2.0, 2.0, 2.0, 0.1])
    fitted = fit(dataclasses.replace(RECIPE, patience=2), loss=lambda network, batch: loss(
        network, batch) if network.training else torch.tensor(next(losses)))
    assert (fitted.best.step, fitted.steps, fitted.best.held_out) == (20, 40, 1.0)


@pytest.mark.parametrize(("changes", "part"), [
    ({"loss": lambda network, batch: network(batch["x"]).sum() * float("nan")}, "training .*1 and 10"),
    ({"loss": lambda network, batch: network(batch["x"]).sum() * (1.0 if network.training else float("inf"))},
     "held-out .*1 and 10"),
    ({"held_out": []}, "validation"), ({"network": torch.nn.Linear(3, 1).requires_grad_(False)}, "gradient"),
])
def test_invalid_objectives_are_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(MetricError, match=part):
        fit(**changes)


def test_a_diverging_loss_leaves_the_last_good_state(tmp_path: Path) -> None:
    steps, state = iter(range(100)), tmp_path / "a.state"

    def diverge(network: Any, batch: Any) -> Any:
        return loss(network, batch) * (float("nan") if network.training and next(steps) > 14 else 1.0)

    with pytest.raises(MetricError, match=r"11 and 20.*--minutes 0"):
        fit(state=state, loss=diverge)
    fitted = fit(state=state, until=0.0, loss=diverge)
    assert (fitted.steps, fitted.done) == (10, False)
