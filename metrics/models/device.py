"""Device and precision, from `--device` and `--precision`.

`auto` is the first CUDA device, else Apple's GPU, else the CPU. Its precision is bf16 on CUDA and fp32 elsewhere.
torch is imported only if there may be an accelerator.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics.errors import MetricError

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
DEVICE = re.compile(r"auto|mps|cpu(,cpu)*|cuda(:\d+)?(,cuda:\d+)*")
TOKENS = {"cpu": 2_048, "mps": 8_192, "cuda": 65_536}
"""Default maximum number of tokens in a batch, including padding."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The devices, all of one kind, on which networks run, and their precision."""

    devices: tuple[str, ...] = ("cpu",)
    precision: str = "fp32"
    tokens: int = TOKENS["cpu"]

    def __str__(self) -> str:
        return f"{','.join(self.devices)} {self.precision}"

    @property
    def kind(self) -> str:
        return self.devices[0].partition(":")[0]

    def dtype(self) -> Any:
        import torch

        return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision, torch.float32)


def machine(device: str = "auto", precision: str = "auto", tokens: int | None = None) -> Machine:
    """Resolve `auto` and return the machine; raise MetricError for an invalid value or an unavailable device."""
    if not DEVICE.fullmatch(device):
        raise MetricError(f"--device must be auto, cpu, cuda, cuda:N, cuda:N,cuda:M or mps, not {device!r}")
    if precision not in PRECISIONS:
        raise MetricError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    if tokens is not None and tokens < 1:
        raise MetricError(f"--batch-tokens must be at least 1, not {tokens}")
    devices = (_best(),) if device == "auto" else tuple(device.split(","))
    kind = devices[0].partition(":")[0]
    if kind == "cuda" and len(set(devices)) < len(devices):
        raise MetricError(f"--device {device} lists a device twice")
    if precision == "auto":
        precision = "bf16" if kind == "cuda" else "fp32"
    for name in devices:
        _check(name)
    return Machine(devices, precision, tokens or TOKENS[kind])


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Limit torch to one thread inside the `with` block; threads of a small network mostly wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _check(device: str) -> None:
    if device == "cpu":
        return
    try:
        import torch

        torch.empty(0, device=device)
    except ImportError as error:
        raise MetricError(f"device {device}: torch is not installed; install the extra [neural]") from error
    except (RuntimeError, AssertionError) as error:
        raise MetricError(f"device {device}: {str(error).splitlines()[0]:.120}") from error


def _best() -> str:
    """Return the device for `auto`; on Linux, import torch only if an accelerator's driver is installed."""
    drivers = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
    has_driver = platform.system() != "Linux" or any(Path(driver).exists() for driver in drivers)
    if not has_driver or importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"  # one GPU per process of `accelerate launch`
    return "mps" if torch.backends.mps.is_available() else "cpu"
