"""The one training loop: AdamW, warm-up, early stopping on the held-out loss, stopped and continued at will.

Every `recipe.every` steps it evaluates the held-out loss, keeps the weights if that is the least so far, and writes its
state to a file. A training that was killed resumes from there and ends, on the processor, in the same weights bit by
bit. A batch must therefore depend on nothing but the generator it is drawn with.

Weights decay where they are matrices; biases and the weights of norms do not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.storage.files import write_atomically
from metrics.errors import MetricError
from metrics.models.checkpoint import learned
from metrics.models.device import Machine
from metrics.models.networks import ADAPTERS, BODY
from metrics.training.data import Objective, Recipe

if TYPE_CHECKING:
    import torch

@dataclass(frozen=True, slots=True)
class Look:
    """An evaluation: the step, the mean training loss since the last evaluation, the held-out loss."""

    step: int
    loss: float
    held_out: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights with the least held-out loss, and the loss curve."""

    weights: dict[str, Any]
    step: int
    steps: int
    curve: tuple[Look, ...]
    seconds: float
    done: bool = True
    """False if the time limit ended it before its last step."""

    @property
    def held_out(self) -> float:
        """The held-out loss of the weights, the least of the curve."""
        return next(look.held_out for look in self.curve if look.step == self.step)


def fit(objective: Objective, recipe: Recipe, machine: Machine, seed: int, state: Path | None = None,
        tell: Callable[[Look], None] = lambda look: None, stepped: Callable[[int], None] = lambda step: None,
        until: float = math.inf) -> Fitted:
    """Fit the network, resuming from the file `state` if there is one.

    `tell` receives each evaluation, `stepped` the number of each step. Training ends at the first evaluation after
    `until` on the monotonic clock.
    """
    if min(recipe.steps, recipe.every, recipe.accumulate) < 1:
        raise MetricError(f"a training takes 1 step or more, each of 1 batch or more, and evaluates after 1 or more: "
                          f"{recipe}")
    if not objective.held_out:
        raise MetricError("the validation set is empty; take larger corpora")
    with randomness(seed, machine):
        training = _Training(objective, recipe, machine, seed)
        if state is not None:
            training.resume(state)
        while not (training.done or (training.curve and training.ends(time.monotonic() >= until))):
            look = training.stretch(stepped)
            if state is not None:
                state.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(state, training.written())
            tell(look)
        return training.fitted()


def on_device(batch: Any, device: str) -> Any:
    """Move all tensors of a batch to the device."""
    if hasattr(batch, "to"):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {name: on_device(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [on_device(part, device) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def share_of_rate(recipe: Recipe, step: int) -> float:
    """Return the share of the rate at a step, counted from 0: a linear warm-up, then the recipe's schedule."""
    warm = max(1, round(recipe.warmup * recipe.steps))
    if step < warm:
        return (step + 1) / warm
    if recipe.schedule == "halved":
        return float(0.5 ** (step * recipe.epochs // recipe.steps))
    return 1.0 if recipe.schedule == "constant" else (recipe.steps - step) / max(1, recipe.steps - warm)


class _Training:
    """The state of a training at some step."""

    def __init__(self, objective: Objective, recipe: Recipe, machine: Machine, seed: int) -> None:
        import torch

        self.objective, self.recipe, self.machine, self.seed = objective, recipe, machine, seed
        self.device = machine.devices[0]
        self.network = objective.network.to(self.device)
        self.parameters = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        if not self.parameters:
            raise MetricError("the network has no parameter that requires a gradient")
        self.together = together(machine)
        groups: dict[tuple[float, float], list[Any]] = {}
        for name, parameter in self.network.named_parameters():
            if parameter.requires_grad:
                own = recipe.body_rate if name.startswith((BODY, ADAPTERS)) and recipe.body_rate else recipe.rate
                groups.setdefault((own, recipe.decay if parameter.ndim > 1 else 0.0), []).append(parameter)
        self.optimizer = torch.optim.AdamW([
            {"params": parameters, "lr": own, "rate": own, "weight_decay": decay}
            for (own, decay), parameters in sorted(groups.items(), key=lambda group: group[0], reverse=True)])
        self.generator = np.random.default_rng(seed if self.together is None else (seed, self.together.process_index))
        self.best: dict[str, torch.Tensor] = {}
        self.curve: list[Look] = []
        self.step, self.seconds = 0, 0.0

    @property
    def done(self) -> bool:
        """True after the last step, or when patience has run out."""
        if not self.curve:
            return False
        looks = len(self.curve) - 1 - self.curve.index(self._least)
        return self.step >= self.recipe.steps or looks >= self.recipe.patience

    def ends(self, here: bool) -> bool:
        """Return True if time is up in this process or, of several, in any of them."""
        import torch

        if self.together is None:
            return here
        return bool(self.together.reduce(torch.tensor(float(here), device=self.device), "sum") > 0)

    @property
    def _least(self) -> Look:
        return min(self.curve, key=lambda look: look.held_out)

    def stretch(self, stepped: Callable[[int], None]) -> Look:
        """Train up to the next evaluation."""
        import torch

        start, first = time.perf_counter(), self.step
        end = min(self.recipe.steps, (self.step // self.recipe.every + 1) * self.recipe.every)
        self.network.train()
        total = torch.zeros((), device=self.device)
        while self.step < end:
            total += self._one()
            stepped(self.step)
        mean = total.item() / (end - first)
        self.network.eval()
        with torch.no_grad():
            held_out = float(np.mean([float(self._loss(batch)) for batch in self.objective.held_out]))
        if not (math.isfinite(mean) and math.isfinite(held_out)):
            which = "training" if not math.isfinite(mean) else "held-out"
            kept = f"; the same with --minutes 0 keeps the best weights up to step {first}" if self.curve else ""
            raise MetricError(f"the {which} loss is no finite number between steps {first + 1} and {end}: take a lower "
                              f"rate than {self.recipe.rate:g}, or mend the loss{kept}")
        look = Look(end, mean, held_out)
        self.curve.append(look)
        if self._least is look:
            self.best = {name: tensor.to("cpu", copy=True) for name, tensor in learned(self.network).items()}
        self.seconds += time.perf_counter() - start
        return look

    def _one(self) -> torch.Tensor:
        """Take a step; return its loss."""
        import torch

        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * share_of_rate(self.recipe, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for _ in range(self.recipe.accumulate):
            loss = self._loss(self.objective.draw(self.generator)) / self.recipe.accumulate
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            total += loss.detach()
        if self.together is not None:
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter.grad = self.together.reduce(parameter.grad, "mean")
            total = self.together.reduce(total, "mean")
        torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip or math.inf)
        self.optimizer.step()
        self.step += 1
        return total

    def _loss(self, batch: Any) -> Any:
        import torch

        with torch.autocast(self.machine.kind, dtype=torch.bfloat16,
                            enabled=self.machine.kind != "mps" and self.machine.precision == "bf16"):
            return self.objective.loss(self.network, on_device(batch, self.device))

    def fitted(self) -> Fitted:
        """Load the best weights into the network, and return them."""
        self.network.load_state_dict(self.best, strict=False)
        self.network.eval()
        return Fitted(self.best, self._least.step, self.step, tuple(self.curve), self.seconds, self.done)

    @property
    def _about(self) -> str:
        """Everything that a state and the training that resumes from it must share."""
        shapes = {name: list(tensor.shape) for name, tensor in learned(self.network).items()}
        return json.dumps([self.seed, dataclasses.asdict(self.recipe), shapes, self.device])

    def written(self) -> bytes:
        """Return the state as bytes."""
        import torch

        content = io.BytesIO()
        torch.save({
            "about": self._about, "step": self.step, "seconds": self.seconds,
            "curve": [dataclasses.astuple(look) for look in self.curve],
            "network": learned(self.network), "best": self.best,
            "optimizer": self.optimizer.state_dict(),
            "generator": json.dumps(self.generator.bit_generator.state),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(self.device) if self.machine.kind == "cuda" else None,
        }, content)
        return content.getvalue()

    def resume(self, path: Path) -> None:
        """Resume from a state file; ignore a damaged one, or one of another training."""
        import torch

        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
        except Exception:  # none is there; a cut file can be wrong in many ways, each with an error of its own
            return
        if not isinstance(state, dict) or state.get("about") != self._about:
            return
        self.network.load_state_dict(state["network"], strict=False)
        self.best, self.step, self.seconds = state["best"], state["step"], state["seconds"]
        self.curve = [Look(*look) for look in state["curve"]]
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.bit_generator.state = json.loads(state["generator"])
        torch.set_rng_state(state["torch"])
        if state["cuda"] is not None:
            torch.cuda.set_rng_state(state["cuda"], self.device)


def together(machine: Machine) -> Any:
    """Return the Accelerator that joins the processes started by `accelerate launch`; None for one process."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    from accelerate import Accelerator

    return Accelerator(cpu=machine.kind == "cpu")


@contextlib.contextmanager
def randomness(seed: int, machine: Machine) -> Iterator[None]:
    """Seed torch within the context, and restore its generators afterwards."""
    import torch

    devices = [torch.device(device) for device in machine.devices] if machine.kind == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # type: ignore[no-untyped-call, unused-ignore]
        torch.manual_seed(seed)  # type: ignore[no-untyped-call, unused-ignore]
        yield
