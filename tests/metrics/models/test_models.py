"""Devices are resolved or refused; the Models service loads a model once and identifies it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metrics.errors import MetricError, MissingResource
from metrics.models import checkpoint, device, weights
from metrics.models.device import TOKENS, Machine, machine
from metrics.models.service import Choice, Models
from tests.conftest import ROOT

torch = pytest.importorskip("torch")


@pytest.fixture
def models(home: Path, tiny_encoder: Path, tiny_lm: Path) -> Models:
    return Models(home, Choice(encoder=str(tiny_encoder), lm=str(tiny_lm), device="cpu"))


def test_an_empty_name_means_the_model_of_the_run(models: Models, tiny_encoder: Path, tiny_lm: Path) -> None:
    assert models.identity("encoder") == models.identity("encoder", str(tiny_encoder))
    assert models.identity("lm") == models.identity("lm", str(tiny_lm))
    assert models.encoder() is models.encoder()
    assert models.vectors() is models.vectors()
    assert models.display_name("encoder") == models.encoder().name == "tiny-encoder", "without folder and digest"
    assert models.display_name("encoder", "nobody/nothing") == ""


def test_the_bundled_models_are_the_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Models(home, Choice(device="cpu"))
    assert (bare.encoder().name, bare.display_name("lm")) == (weights.EMBEDDED, "dialogue-lm")
    monkeypatch.setattr(checkpoint, "SHIPPED", home / "nowhere")
    bare = Models(home, Choice(device="cpu"))
    for request in (bare.lm, lambda: bare.identity("lm")):
        with pytest.raises(MissingResource, match=r"weights.*--lm"):
            request()
    assert bare.display_name("lm") == ""


def test_precision_is_part_of_the_identity(home: Path, tiny_encoder: Path) -> None:
    identities = {precision: Models(home, Choice(str(tiny_encoder), precision=precision, device="cpu")).identity(
        "encoder") for precision in ("fp32", "bf16")}
    assert identities["bf16"] == f"{identities['fp32']} bf16"
    for precision, expected in (("auto", "bf16"), ("fp32", "fp32")):  # a model's card names it for `auto`
        models = Models(home, Choice(precision=precision, device="cpu"))
        assert models._machine("lm", "qwen2.5-coder-1.5b").precision == expected
        assert models.machine.precision == "fp32"


def test_a_missing_model_is_looked_up_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may take long to fail, and every metric asks on every dataset."""
    requests: list[str] = []

    def find(name: str, home: Path, *, download: bool) -> weights.Weights:
        requests.append(name)
        raise MissingResource(f"model {name}: no network")

    monkeypatch.setattr(weights, "find", find)
    models = Models(home, Choice(device="cpu", download=True))
    for _ in range(3):
        with pytest.raises(MissingResource):
            models.identity("encoder", "nobody/nothing")
    assert requests == ["nobody/nothing"]


def test_impossible_choices_are_refused() -> None:
    missing = () if torch.cuda.is_available() or torch.backends.mps.is_available() else ("cuda", "cuda:0,cuda:1", "mps")
    refusals: list[tuple[tuple[Any, ...], str]] = [
        (("cpu", "fp8"), "'fp8'"), (("cpu", "fp32", 0), "--batch-tokens"), (("cuda:1,cuda:1",), "cuda:1,cuda:1"),
        *(((name,), "cuda:N") for name in (
            "", "cuda:", "cuda:-1", "gpu", "CPU", "cpu,cuda", "cuda:0,cpu", "cpu:0", "cpu,", "mps,mps", "auto,cpu",
            "cuda:0;cuda:1", "cpu\n")),
        *(((name,), f"^device {name.partition(',')[0]}: ") for name in missing)]
    for arguments, part in refusals:
        with pytest.raises(MetricError, match=part):
            machine(*arguments)


def test_auto_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine("cpu,cpu") == Machine(("cpu", "cpu"), "fp32", TOKENS["cpu"])
    assert machine("cpu", "bf16", 7) == Machine(("cpu",), "bf16", 7)
    monkeypatch.setattr(device, "_check", lambda name: None)
    assert str(machine("cuda:0,cuda:1")) == "cuda:0,cuda:1 bf16"
    assert machine("cuda").tokens == TOKENS["cuda"]
    assert str(machine("mps")) == "mps fp32"
    monkeypatch.setattr(device.platform, "system", lambda: "Windows")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert machine("auto").devices == ("cuda:0",)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert machine("auto").devices == ("cuda:3",), "one GPU per process"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert machine("auto").devices == ("cpu",), "without torch"


def test_auto_chooses_the_cpu_without_importing_torch() -> None:
    """The machine has no accelerator's driver."""
    code = ("import sys\nfrom pathlib import Path\nfrom metrics.models import device\n"
            "from metrics.models.service import Choice, Models\n"
            "device.platform.system = lambda: 'Linux'\n"
            "device.Path.exists = lambda path: False\n"
            "assert device.machine('auto').devices == ('cpu',)\n"
            "assert str(Models(Path('home'), Choice()).machine) == 'cpu fp32'\n"
            "assert not {'torch', 'transformers', 'huggingface_hub'} & set(sys.modules), 'needless imports'\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
def test_cuda_devices_are_found() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    assert machine("auto").devices == ("cuda:0",)
    with pytest.raises(MetricError, match="device cuda:99: "):
        machine("cuda:99")
