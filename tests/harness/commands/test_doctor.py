"""`harness doctor` tells which metrics run, with which models, or why not."""

from __future__ import annotations

import importlib.util
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


def test_two_versions_side_by_side_are_told(tmp_path: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "harness").mkdir()
    (tmp_path / "dialogue_harness-9.0.dist-info").mkdir()
    (tmp_path / "dialogue_harness-9.0.dist-info" / "METADATA").write_text("Name: dialogue-harness\nVersion: 9.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert f"  not used: harness 9.0 in {tmp_path}" in doctor()
