"""The training loop: AdamW with warm-up and early stopping on the held-out loss; a run can be interrupted and resumed.

Every `recipe.every` steps it evaluates the held-out loss, keeps the weights if the loss is the lowest so far, and saves
its state to a file. An interrupted run resumes from that file and, on a CPU, ends with the same weights, bit for bit;
a batch must therefore depend only on the generator it is drawn with. Weight decay applies to matrices, not to biases or
the weights of norms.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from benchmarks.storage.files import write_atomically
from metrics.errors import MetricError
from metrics.models.checkpoint import Evaluation, trained_tensors
from metrics.models.device import Machine
from metrics.models.networks import ADAPTERS, BODY
from metrics.training.data import Objective, Recipe

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights with the lowest held-out loss and the loss curve; `done` is False if time ran out."""

    weights: dict[str, Any]
    best: Evaluation
    steps: int
    curve: tuple[Evaluation, ...]
    seconds: float
    done: bool = True


def fit(objective: Objective, recipe: Recipe, machine: Machine, seed: int, state: Path | None = None,
        on_evaluation: Callable[[Evaluation], None] = lambda evaluation: None,
        on_step: Callable[[int], None] = lambda step: None, until: float = math.inf) -> Fitted:
    """Train the network, resuming from the file `state` if it exists.

    Training ends at the first evaluation after `until`, a time of `time.monotonic()`.
    """
    if min(recipe.steps, recipe.every, recipe.accumulate) < 1:
        raise MetricError(f"steps, every and accumulate must be at least 1: {recipe}")
    if not objective.held_out:
        raise MetricError("the validation set is empty; use larger corpora")
    with seeded(seed, machine):
        training = _Training(objective, recipe, machine, seed)
        if state is not None:
            training.resume(state)
        while not (training.done or (training.curve and training.any_process(time.monotonic() >= until))):
            evaluation = training.run(on_step)
            if state is not None:
                state.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(state, training.state())
            on_evaluation(evaluation)
        training.network.load_state_dict(training.best, strict=False)
        training.network.eval()
        return Fitted(training.best, training.best_evaluation, training.step, tuple(training.curve), training.seconds,
                      training.done)


def on_device(batch: Any, device: str) -> Any:
    if isinstance(batch, Mapping):
        return {name: on_device(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        return [on_device(part, device) for part in batch]
    return batch.to(device, non_blocking=True) if hasattr(batch, "to") else batch


def rate_factor(recipe: Recipe, step: int) -> float:
    """Return the factor on the learning rate at a step, counted from 0: linear warm-up, then the recipe's schedule."""
    warmup_steps = max(1, round(recipe.warmup * recipe.steps))
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    if recipe.schedule == "halved":
        return float(0.5 ** (step * recipe.epochs // recipe.steps))
    return 1.0 if recipe.schedule == "constant" else (recipe.steps - step) / max(1, recipe.steps - warmup_steps)


class _Training:
    def __init__(self, objective: Objective, recipe: Recipe, machine: Machine, seed: int) -> None:
        self.objective, self.recipe, self.machine = objective, recipe, machine
        self.device, self.accelerator = machine.devices[0], accelerator(machine)
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
        self.generator = np.random.default_rng(
            seed if self.accelerator is None else (seed, self.accelerator.process_index))
        shapes = {name: list(tensor.shape) for name, tensor in trained_tensors(self.network).items()}
        self.run_key = json.dumps([seed, dataclasses.asdict(recipe), shapes, machine.kind])
        self.best: dict[str, torch.Tensor] = {}
        self.curve: list[Evaluation] = []
        self.step, self.seconds = 0, 0.0

    @property
    def best_evaluation(self) -> Evaluation:
        """The evaluation with the lowest held-out loss."""
        return min(self.curve, key=lambda evaluation: evaluation.held_out)

    @property
    def done(self) -> bool:
        """True after the last step, or when patience has run out."""
        return bool(self.curve) and (self.step >= self.recipe.steps or len(
            self.curve) - 1 - self.curve.index(self.best_evaluation) >= self.recipe.patience)

    def any_process(self, condition: bool) -> bool:
        """Return True if the condition holds in any of the processes."""
        if self.accelerator is None:
            return condition
        return bool(self.accelerator.reduce(torch.tensor(float(condition), device=self.device), "sum") > 0)

    def run(self, on_step: Callable[[int], None]) -> Evaluation:
        """Train up to the next evaluation."""
        start, first = time.perf_counter(), self.step
        end = min(self.recipe.steps, (self.step // self.recipe.every + 1) * self.recipe.every)
        self.network.train()
        total = torch.zeros((), device=self.device)
        while self.step < end:
            total += self._take_step()
            on_step(self.step)
        mean = total.item() / (end - first)
        self.network.eval()
        with torch.no_grad():
            held_out = float(np.mean([float(self._loss(batch)) for batch in self.objective.held_out]))
        mean, held_out = from_main_process(self.accelerator, (mean, held_out))  # so that all processes stop together
        if not (math.isfinite(mean) and math.isfinite(held_out)):
            name = "training" if not math.isfinite(mean) else "held-out"
            resume = f"; add --minutes 0 to keep the best weights up to step {first}" if self.curve else ""
            raise MetricError(f"the {name} loss is not finite between steps {first + 1} and {end}: use a learning rate "
                              f"below {self.recipe.rate:g} or correct the loss{resume}")
        evaluation = Evaluation(end, mean, held_out)
        self.curve.append(evaluation)
        if self.best_evaluation is evaluation:
            self.best = {name: tensor.to("cpu", copy=True) for name, tensor in trained_tensors(self.network).items()}
        self.seconds += time.perf_counter() - start
        return evaluation

    def _take_step(self) -> torch.Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * rate_factor(self.recipe, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for _ in range(self.recipe.accumulate):
            loss = self._loss(self.objective.draw(self.generator)) / self.recipe.accumulate
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            total += loss.detach()
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        if self.accelerator is not None:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad = self.accelerator.reduce(parameter.grad, "mean")
            total = self.accelerator.reduce(total, "mean")
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
            "about": self.run_key, "step": self.step, "seconds": self.seconds,
            "curve": [dataclasses.astuple(evaluation) for evaluation in self.curve],
            "network": trained_tensors(self.network), "best": self.best, "optimizer": self.optimizer.state_dict(),
            "generator": json.dumps(self.generator.bit_generator.state), "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(self.device) if self.machine.kind == "cuda" else None,
        }, content)
        return content.getvalue()

    def resume(self, path: Path) -> None:
        """Resume from a state file; ignore it if damaged, of another training run, or missing in some processes."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
        except Exception:  # absent, or truncated, for which torch raises many kinds of errors
            state = None
        curve = state["curve"] if isinstance(state, dict) and state.get("about") == self.run_key else []
        differs = self.any_process(curve != from_main_process(self.accelerator, curve))
        if differs or not curve:
            return
        self.network.load_state_dict(state["network"], strict=False)
        self.best, self.step, self.seconds = state["best"], state["step"], state["seconds"]
        self.curve = [Evaluation(*row) for row in state["curve"]]
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.bit_generator.state = json.loads(state["generator"])
        torch.set_rng_state(state["torch"])
        if state["cuda"] is not None:
            torch.cuda.set_rng_state(state["cuda"], self.device)


def from_main_process(processes: Any, value: Value) -> Value:
    """Return the main process's value in every process."""
    if processes is None:
        return value
    from accelerate.utils import broadcast_object_list

    value, = broadcast_object_list([value])
    return value


@functools.cache
def accelerator(machine: Machine) -> Any:
    """Return the Accelerator that connects the processes started by `accelerate launch`; None for a single process."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    from accelerate import Accelerator

    processes = Accelerator(cpu=machine.kind == "cpu")
    atexit.register(processes.end_training)  # without it, gloo sometimes aborts at exit
    return processes


@contextlib.contextmanager
def seeded(seed: int, machine: Machine) -> Iterator[None]:
    """Seed torch within the context and restore its generators afterwards."""
    devices = [torch.device(device) for device in machine.devices] if machine.kind == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # type: ignore[no-untyped-call, unused-ignore]
        torch.manual_seed(seed)  # type: ignore[no-untyped-call, unused-ignore]
        yield
