"""The same command again computes and draws nothing if nothing has changed, and does all of it if anything has."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.storage import resources, store
from harness.cli import main
from harness.run import unchanged
from tests.faults.runs import metric

SAID = "nothing has changed since these results were made"


@pytest.fixture
def again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Give the same command, with more flags if there are any."""
    metric(tmp_path, "signs")

    def give(*flags: str) -> str:
        metrics = [word for name in ("length", "meteor", str(tmp_path / "signs.py")) for word in ("--metric", name)]
        assert main(["run", "--dataset", "dailydialog-gupta", "--limit", "20", *metrics,
                     "--out", str(tmp_path / "out"), *flags]) == 0
        return capsys.readouterr().out

    return give


def test_nothing_is_done_again_if_nothing_has_changed(again: Callable[..., str], tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    first = again()
    assert SAID not in first
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    monkeypatch.setattr("harness.commands.run.run_plan", None)
    second = again()
    assert second == first.replace("2 scored, 0 kept", "0 scored, 2 kept") + SAID + "\n"
    assert [json.loads(line)["metric"] for line in again("--json").splitlines()].count("signs") == 3
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == made


def test_every_change_is_noticed(again: Callable[..., str], home: Path, tmp_path: Path,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes in, what came out, and something that was missing; clocks mean nothing."""
    out = tmp_path / "out"
    page, report = out / "site" / "index.html", out / "report" / "report.json"
    (score,) = out.glob("scores/*/length-*.parquet") if again() else ()
    wordnet = resources.path(home, "wordnet")
    wordnet.parent.mkdir(parents=True)
    changes: dict[str, Callable[[], object]] = {
        "a page is cut": lambda: page.write_bytes(page.read_bytes()[:-1000]),
        "a page is gone": page.unlink,
        "the report is edited": lambda: report.write_bytes(report.read_bytes() + b" "),
        "a score is cut": lambda: score.write_bytes(b""),
        "the state is cut": lambda: (out / "state.json").write_text("{"),
        "a plug-in is edited": lambda: metric(tmp_path, "signs", "right = [1 + one for one in right]"),
        "a dataset is imported": lambda: store.save(registry.load("dailydialog-gupta", home), home),
        "what a metric lacked is there": lambda: wordnet.write_bytes(b"no archive")}
    for name, change in changes.items():
        assert SAID in again(), f"before {name}"
        change()
        assert SAID not in again(), name
    assert SAID not in again(), "what it lacks shows only in scoring, so it is tried again"
    wordnet.unlink()
    assert SAID not in again("--seed", "1")
    assert SAID not in again("--seed", "1", "--rescore")
    os.utime(page, (0, 0))
    assert SAID in again("--seed", "1")
    monkeypatch.setattr(unchanged, "_installed", lambda: ["evaluate-1.0.dist-info"])
    assert SAID not in again("--seed", "1")


def test_metrics_that_read_no_model_are_drawn_first(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed while a model reads leaves a board that says what it lacks; the next one completes it."""
    pytest.importorskip("torch")
    command = ["run", "--dataset", "dailydialog-gupta", "--limit", "5", "--metric", "length", "--metric", "cosine",
               "--out", str(tmp_path)]
    page = tmp_path / "site" / "index.html"
    with monkeypatch.context() as patch:
        patch.setattr("metrics.embedding.cosine.Cosine.score", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        assert main(command) == 130
    assert f"first board, 1 of 2 metrics\nleaderboard: {page}\n" in capsys.readouterr().err
    assert "first board, 1 of 2 metrics, the others are being scored" in page.read_text()
    assert main(command) == 0
    assert "first board" not in capsys.readouterr().err + page.read_text()
