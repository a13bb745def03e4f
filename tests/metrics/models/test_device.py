"""A device is resolved without torch where none is in sight, and refused in one line where it is not here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metrics.errors import MetricError
from metrics.models import device
from metrics.models.device import TOKENS, Machine, machine
from tests.conftest import ROOT


@pytest.mark.parametrize("name", [
    "", "cuda:", "cuda:x", "cuda:-1", "gpu", "CPU", "cpu,cuda", "cuda:0,cpu", "cpu:0", "cpu,", ",cpu", "mps,mps",
    "auto,cpu", "cuda:0;cuda:1", "cpu\n", "tpu", "cpu, cpu",
])
def test_what_is_no_device_is_refused(name: str) -> None:
    with pytest.raises(MetricError, match="device should be auto, cpu, cuda, cuda:N") as caught:
        machine(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:0,cuda:1", "cuda:7", "mps"])
def test_a_device_that_is_not_here_is_refused_in_one_line(name: str) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("an accelerator is here")
    with pytest.raises(MetricError) as caught:
        machine(name)
    assert str(caught.value).startswith(f"device {name.partition(',')[0]}: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("asked", "expected"), [
    (("cpu", "auto", None), Machine(("cpu",), "fp32", TOKENS["cpu"])),
    (("cpu,cpu", "auto", None), Machine(("cpu", "cpu"), "fp32", TOKENS["cpu"])),
    (("cpu", "bf16", 7), Machine(("cpu",), "bf16", 7)),
    (("cpu", "bf16", 1), Machine(("cpu",), "bf16", 1)),
])
def test_what_was_asked_for_is_made_definite(asked: tuple[str, str, int | None], expected: Machine) -> None:
    assert machine(*asked) == expected
    assert expected.kind == "cpu"


def test_on_cuda_the_default_precision_is_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_check", lambda name: None)
    assert str(machine("cuda:0,cuda:1")) == "cuda:0,cuda:1 bf16"
    assert machine("cuda").tokens == TOKENS["cuda"]
    assert str(machine("mps")) == "mps fp32"


@pytest.mark.parametrize(("precision", "tokens", "told"), [
    ("fp8", None, "precision should be one of auto, fp32, bf16, fp16, not 'fp8'"),
    ("", None, "precision should be one of"),
    ("fp32", 0, "a batch should hold 1 token or more, not 0"),
    ("fp32", -5, "a batch should hold 1 token or more"),
])
def test_what_cannot_be_is_refused(precision: str, tokens: int | None, told: str) -> None:
    with pytest.raises(MetricError, match=told):
        machine("cpu", precision, tokens)


def test_auto_takes_the_processor_without_loading_torch() -> None:
    """Where no driver's file is in sight, as on a server without a card."""
    code = ("import sys\nfrom pathlib import Path\nfrom metrics.models import device\n"
            "from metrics.models.service import Choice, Models\n"
            "device.platform.system = lambda: 'Linux'\n"
            "device.Path.exists = lambda path: False\n"
            "assert device.machine('auto').devices == ('cpu',)\n"
            "assert str(Models(Path('home'), Choice()).machine) == 'cpu fp32'\n"
            "assert not {'torch', 'transformers', 'huggingface_hub'} & set(sys.modules), 'loaded for nothing'\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_torch_auto_is_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_in_sight", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert machine("auto").devices == ("cpu",)


@pytest.mark.gpu
def test_several_cards_are_found() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device is here")
    assert machine("auto").devices == ("cuda:0",)
    with pytest.raises(MetricError, match="device cuda:99: "):
        machine("cuda:99")


def test_the_home_is_not_asked_for_a_device(tmp_path: Path) -> None:
    from metrics.models.service import Choice, Models

    assert Models(tmp_path / "nowhere", Choice(device="cpu,cpu")).machine.devices == ("cpu", "cpu")
    assert not (tmp_path / "nowhere").exists()
