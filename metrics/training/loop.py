"""The training loop: AdamW, warm-up, early stopping on the held-out loss; it can be stopped and resumed at any time.

Every `recipe.every` steps it evaluates the held-out loss, keeps the weights if that is the least so far, and writes its
state to a file. A training that was killed resumes from there and ends, on the processor, in the same weights bit by
bit. A batch must therefore depend on nothing but the generator it is drawn with. Only matrices decay, neither biases
nor the weights of norms.
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
from typing import Any

import numpy as np
import torch

from benchmarks.storage.files import write_atomically
from metrics.errors import MetricError
from metrics.models.checkpoint import learned
from metrics.models.device import Machine
from metrics.models.networks import ADAPTERS, BODY
from metrics.training.data import Objective, Recipe


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A step, the mean training loss since the last evaluation, and the held-out loss."""

    step: int
    loss: float
    held_out: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights with the least held-out loss, their step, and the loss curve; not `done` if time ran out."""

    weights: dict[str, Any]
    best: Evaluation
    steps: int
    curve: tuple[Evaluation, ...]
    seconds: float
    done: bool = True


def fit(objective: Objective, recipe: Recipe, machine: Machine, seed: int, state: Path | None = None,
        tell: Callable[[Evaluation], None] = lambda evaluation: None,
        stepped: Callable[[int], None] = lambda step: None, until: float = math.inf) -> Fitted:
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
        while not (training.done or (training.curve and training.any_process(time.monotonic() >= until))):
            evaluation = training.run(stepped)
            if state is not None:
                state.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(state, training.state())
            tell(evaluation)
        training.network.load_state_dict(training.best, strict=False)
        training.network.eval()
        return Fitted(training.best, training.least, training.step, tuple(training.curve), training.seconds,
                      training.done)


def on_device(batch: Any, device: str) -> Any:
    if isinstance(batch, Mapping):
        return {name: on_device(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        return [on_device(part, device) for part in batch]
    return batch.to(device, non_blocking=True) if hasattr(batch, "to") else batch


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
        self.objective, self.recipe, self.machine = objective, recipe, machine
        self.device, self.together = machine.devices[0], together(machine)
        self.network = objective.network.to(self.device)
        groups: dict[tuple[float, float], list[Any]] = {}
        for name, parameter in self.network.named_parameters():
            if parameter.requires_grad:
                rate = recipe.body_rate if name.startswith((BODY, ADAPTERS)) and recipe.body_rate else recipe.rate
                groups.setdefault((rate, recipe.decay if parameter.ndim > 1 else 0.0), []).append(parameter)
        if not groups:
            raise MetricError("the network has no parameter that requires a gradient")
        self.optimizer = torch.optim.AdamW([
            {"params": groups[rate, decay], "lr": rate, "rate": rate, "weight_decay": decay}
            for rate, decay in sorted(groups, reverse=True)])
        self.generator = np.random.default_rng(seed if self.together is None else (seed, self.together.process_index))
        shapes = {name: list(tensor.shape) for name, tensor in learned(self.network).items()}
        self.about = json.dumps([seed, dataclasses.asdict(recipe), shapes, self.device])
        self.best: dict[str, torch.Tensor] = {}
        self.curve: list[Evaluation] = []
        self.step, self.seconds = 0, 0.0

    @property
    def least(self) -> Evaluation:
        """The evaluation with the least held-out loss."""
        return min(self.curve, key=lambda evaluation: evaluation.held_out)

    @property
    def done(self) -> bool:
        """True after the last step, or when patience has run out."""
        return bool(self.curve) and (self.step >= self.recipe.steps or len(
            self.curve) - 1 - self.curve.index(self.least) >= self.recipe.patience)

    def any_process(self, condition: bool) -> bool:
        """Return True if the condition holds in this process or, of several, in any of them."""
        if self.together is None:
            return condition
        return bool(self.together.reduce(torch.tensor(float(condition), device=self.device), "sum") > 0)

    def run(self, stepped: Callable[[int], None]) -> Evaluation:
        """Train up to the next evaluation."""
        start, first = time.perf_counter(), self.step
        end = min(self.recipe.steps, (self.step // self.recipe.every + 1) * self.recipe.every)
        self.network.train()
        total = torch.zeros((), device=self.device)
        while self.step < end:
            total += self._take_step()
            stepped(self.step)
        mean = total.item() / (end - first)
        self.network.eval()
        with torch.no_grad():
            held_out = float(np.mean([float(self._loss(batch)) for batch in self.objective.held_out]))
        if not (math.isfinite(mean) and math.isfinite(held_out)):
            name = "training" if not math.isfinite(mean) else "held-out"
            resume = f"; the same with --minutes 0 keeps the best weights up to step {first}" if self.curve else ""
            raise MetricError(f"the {name} loss is no finite number between steps {first + 1} and {end}: take a lower "
                              f"rate than {self.recipe.rate:g}, or mend the loss{resume}")
        evaluation = Evaluation(end, mean, held_out)
        self.curve.append(evaluation)
        if self.least is evaluation:
            self.best = {name: tensor.to("cpu", copy=True) for name, tensor in learned(self.network).items()}
        self.seconds += time.perf_counter() - start
        return evaluation

    def _take_step(self) -> torch.Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * share_of_rate(self.recipe, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for _ in range(self.recipe.accumulate):
            loss = self._loss(self.objective.draw(self.generator)) / self.recipe.accumulate
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            total += loss.detach()
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        if self.together is not None:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad = self.together.reduce(parameter.grad, "mean")
            total = self.together.reduce(total, "mean")
        torch.nn.utils.clip_grad_norm_(parameters, self.recipe.clip or math.inf)
        self.optimizer.step()
        self.step += 1
        return total

    def _loss(self, batch: Any) -> Any:
        with torch.autocast(self.machine.kind, dtype=torch.bfloat16,
                            enabled=self.machine.kind != "mps" and self.machine.precision == "bf16"):
            return self.objective.loss(self.network, on_device(batch, self.device))

    def state(self) -> bytes:
        content = io.BytesIO()
        torch.save({
            "about": self.about, "step": self.step, "seconds": self.seconds,
            "curve": [dataclasses.astuple(evaluation) for evaluation in self.curve],
            "network": learned(self.network), "best": self.best, "optimizer": self.optimizer.state_dict(),
            "generator": json.dumps(self.generator.bit_generator.state), "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(self.device) if self.machine.kind == "cuda" else None,
        }, content)
        return content.getvalue()

    def resume(self, path: Path) -> None:
        """Resume from a state file; ignore a damaged one, or one of another training."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
        except Exception:  # none is there; a cut file can be wrong in many ways, each with an error of its own
            return
        if not isinstance(state, dict) or state.get("about") != self.about:
            return
        self.network.load_state_dict(state["network"], strict=False)
        self.best, self.step, self.seconds = state["best"], state["step"], state["seconds"]
        self.curve = [Evaluation(*row) for row in state["curve"]]
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
    devices = [torch.device(device) for device in machine.devices] if machine.kind == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # type: ignore[no-untyped-call, unused-ignore]
        torch.manual_seed(seed)  # type: ignore[no-untyped-call, unused-ignore]
        yield
