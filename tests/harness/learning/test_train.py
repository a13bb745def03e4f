"""`harness train` from corpus to score, with the metric of docs/training.md."""

import json
import re
import sys
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from benchmarks.corpora import corpora  # noqa: E402
from harness.learning import train  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.errors import MissingResource  # noqa: E402
from metrics.metric import GROUP  # noqa: E402
from metrics.models import checkpoint  # noqa: E402
from metrics.models.device import Machine  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.training import trainables  # noqa: E402
from tests.conftest import ROOT, Invoke, make_item  # noqa: E402

PHRASES = ("hello there", "do you like tea", "what is a good reply", "not to you", "i like the reply", "good to hear")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def follows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, look_anew: Callable[[], None]) -> Any:
    """Install the metric of the tutorial as a plug-in, as the only metric that can be trained."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "training.md").read_text(), re.DOTALL)
    path = tmp_path / "follows.py"
    path.write_text(code)
    module = types.ModuleType("follows")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "follows", module)
    exec(compile(code, str(path), "exec"), module.__dict__)  # noqa: S102
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("follows", "follows:Follows", GROUP)])
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(trainables, "BACKBONES", {})
    monkeypatch.setattr(registry, "_built_in", dict)
    look_anew()
    return module


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps({
        "dialogue_id": f"small-{number}", "source": "small", "split": "train",
        "utterances": [{"speaker": "AB"[turn % 2], "text": f"{PHRASES[(number + turn) % 6]} {number} {turn}"}
                       for turn in range(4)]}) + "\n" for number in range(80)))
    return path


@pytest.fixture
def command(corpus: Path, tiny_encoder: Path) -> list[str]:
    return ["train", "follows", "--corpus", str(corpus), "--encoder", str(tiny_encoder), "--device", "cpu",
            "--steps", "100"]


def trained(home: Path) -> Path:
    """Return the only folder of weights in a home."""
    (folder,) = (home / "checkpoints" / "follows").iterdir()
    return folder


def test_from_corpus_to_score(command: list[str], home: Path, tiny_encoder: Path, follows: Any, invoke: Invoke) -> None:
    out, err = invoke(*command)
    assert re.search(r"follows: 100 steps in .* for tiny-encoder\n  pairs: \d+\n", out)
    assert re.findall(r"follows: step (\d+) of 100, loss \d", err) == ["50", "100"]
    assert re.search(r"follows: +\d+%.* \d+/100 .*steps/s", err), "the progress bar"
    card = checkpoint.read("follows", trained(home)).card
    (corpus,) = card["corpora"]
    assert (corpus["training"] + corpus["held_out"], corpus["held_out"] > 0) == (80, True)
    assert (corpus["name"], corpus["licence"], corpus["left_out"]) == ("small", "unknown", {})
    assert card["command"] == ("harness train follows --encoder ./tiny-encoder --corpus ./small.jsonl --device cpu "
                               "--steps 100")
    assert (card["seed"], card["steps"], card["precision"]) == (0, 100, "fp32")
    assert card["held_out"] == min(row[2] for row in card["curve"])
    assert card["packages"]["torch"]
    assert str(home) not in json.dumps(card)
    assert not list((home / "training").glob("*.state"))
    items = [make_item("a", "i like tea", context=("do you like tea",)), make_item("b", "x", context=())]
    column = follows.Follows().score(items, Models(home, Choice(encoder=str(tiny_encoder), device="cpu")))["follows"]
    assert 0 < column[0] < 1
    assert np.isnan(column[1])


def test_training_resumes_and_existing_weights_are_kept(
        command: list[str], home: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        invoke: Invoke) -> None:
    invoke(*command)
    digest = checkpoint.read("follows", trained(home)).digest

    def stopped(line: str) -> None:
        if "step" in line:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train, "say", stopped)
        assert "without --fresh" in invoke(*command, "--fresh", status=130).err
    assert len(list((home / "training").glob("*.state"))) == 1
    (trained(home) / "card.json").unlink()
    err = invoke(*command).err
    assert re.findall(r"step (\d+) of", err) == ["100"]
    assert checkpoint.read("follows", trained(home)).digest == digest, "the same command gives the same weights"
    before = (trained(home) / "model.safetensors").stat().st_mtime_ns
    invoke(*command)
    assert (trained(home) / "model.safetensors").stat().st_mtime_ns == before
    assert "100 steps" in invoke(*command, "--eight-bits").out
    assert checkpoint.read("follows", trained(home)).card["eight_bits"]
    invoke(*command, "--seed", "1")
    assert checkpoint.read("follows", trained(home)).digest != digest
    corpus.write_text("".join(corpus.read_text().splitlines(keepends=True)[:-1]))
    assert "100 steps" in invoke(*command, "--seed", "1", "--out", tmp_path / "mine").out, "a changed corpus"
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"card.json", "config.json", "model.safetensors"}


def test_unfinished_weights_are_trained_again(command: list[str], tmp_path: Path, invoke: Invoke) -> None:
    first, second = (["--out", str(tmp_path / name)] for name in ("first", "second"))
    assert "follows: 50 steps" in invoke(*command, "--minutes", "0", *first).out
    assert "resuming" in invoke(*command, *second).err
    assert "follows: 100 steps" in invoke(*command, *first).out
    assert "100 steps" not in invoke(*command, *first).out


def test_all_processes_of_a_training_run_have_one_fingerprint(corpus: Path, home: Path, tiny_encoder: Path) -> None:
    request = train.Request(str(tiny_encoder), corpora=(str(corpus),), device="cpu")
    plans = [train.plan("follows", request, home, lambda name: corpora.load(name, home)) for _ in range(2)]
    for number, plan in enumerate(plans):
        plan.models.machine = Machine((f"cuda:{number}",), "bf16")
    assert plans[0].fingerprint == plans[1].fingerprint


def test_user_errors_are_one_line(command: list[str], follows: Any, monkeypatch: pytest.MonkeyPatch, invoke: Invoke,
                                  ) -> None:
    assert trainables.names() == ("follows",)
    monkeypatch.setattr(follows.Follows, "objective", lambda self, data: data.dialogues("dailydialog"))
    for more, part in (
        ("--corpus no-such.jsonl", "no-such.jsonl"), ("--encoder ./nowhere", "nowhere"),
        ("--steps 0", "--steps: should be 1 or more"), ("--seed -1", "--seed: should be 0 or more"),
        ("--all", "METRIC"), ("--set rate=-1", "rate=-1.0"), ("", "dailydialog"),
    ):
        err = invoke(*command, *more.split(), status=2).err
        assert part in err.splitlines()[-1]
        assert err.count("\n") == 1 or not more


def test_all_continues_past_a_failure(command: list[str], follows: Any, monkeypatch: pytest.MonkeyPatch, invoke: Invoke,
                                 ) -> None:
    for names, heads, status, message in (
        (("gone", "follows"), follows.heads, 1, "1 of 2 trained; failed: gone"),
        (("follows",), follows.heads, 0, "already trained by the same command"),
        (("follows",), ZeroDivisionError("1 / 0"), 1, "0 of 1 trained; failed: follows"),
        (("follows",), MissingResource("conceptnet is absent"), 0, "0 of 1 trained; left out: follows"),
    ):
        monkeypatch.setattr(trainables, "shipped", lambda names=names: names)
        monkeypatch.setattr(follows, "heads", Mock(side_effect=heads))
        fails = isinstance(heads, Exception)
        out, err = invoke("train", "--all", *command[2:], *["--fresh"] * fails, status=status)
        assert message in out
        assert not fails or str(heads) in err
    assert "--all" in invoke("train", "--all", "--recipe", "paper", status=2).err
