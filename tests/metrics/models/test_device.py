"""A device is resolved without torch where none is in sight, and refused in one line where it is not here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metrics.errors import MetricError
from metrics.models import device
from metrics.models.device import TOKENS, Machine, machine
from tests.conftest import ROOT


def test_a_device_or_precision_that_cannot_be_is_refused_in_one_line() -> None:
    torch = pytest.importorskip("torch")
    for name in ("", "cuda:", "cuda:x", "cuda:-1", "gpu", "CPU", "cpu,cuda", "cuda:0,cpu", "cpu:0", "cpu,", ",cpu",
                 "mps,mps", "auto,cpu", "cuda:0;cuda:1", "cpu\n", "tpu", "cpu, cpu"):
        with pytest.raises(MetricError, match="device should be auto, cpu, cuda, cuda:N") as caught:
            machine(name)
        assert "\n" not in str(caught.value)
    for more, reason in ((("fp8",), "precision should be one of auto, fp32, bf16, fp16, not 'fp8'"),
                         (("fp32", 0), "a batch should hold 1 token or more, not 0")):
        with pytest.raises(MetricError, match=reason):
            machine("cpu", *more)  # type: ignore[arg-type]
    with pytest.raises(MetricError, match="device cuda:1,cuda:1 names a device twice"):
        machine("cuda:1,cuda:1")
    if not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        for name in ("cuda", "cuda:0,cuda:1", "mps"):
            with pytest.raises(MetricError, match=rf"^device {name.partition(',')[0]}: .{{,300}}$"):
                machine(name)


def test_what_was_asked_for_is_made_definite(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine("cpu,cpu") == Machine(("cpu", "cpu"), "fp32", TOKENS["cpu"])
    assert machine("cpu", "bf16", 7) == Machine(("cpu",), "bf16", 7)
    monkeypatch.setattr(device, "_check", lambda name: None)
    assert str(machine("cuda:0,cuda:1")) == "cuda:0,cuda:1 bf16"
    assert machine("cuda").tokens == TOKENS["cuda"]
    assert str(machine("mps")) == "mps fp32"
    monkeypatch.setattr(device, "_in_sight", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert machine("auto").devices == ("cpu",), "without torch"


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


@pytest.mark.gpu
def test_several_cards_are_found() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device is here")
    assert machine("auto").devices == ("cuda:0",)
    with pytest.raises(MetricError, match="device cuda:99: "):
        machine("cuda:99")
