"""The progress of a run: the line on the terminal, the summary of time, and the log."""

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.scoring import costs, pairs
from harness.scoring import progress as module
from harness.scoring.pairs import models_key
from harness.scoring.progress import LOG, Progress, RunProgress
from metrics import registry
from metrics.models.counters import COUNTERS
from metrics.models.service import Models
from tests.conftest import Invoke


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_parts_throughput_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    first, second, third, fourth = [(dataset, metric, (0, 64)) for metric in "ab" for dataset in ("toy", "next")]
    progress = RunProgress(terminal=Progress(io.StringIO()), started=100, position=" (2 of 3)")
    progress.workers = 2
    for part, seconds in ((first, 0.0), (second, 0.0), (third, 0.0), (fourth, 5.0)):
        progress.plan(part, seconds)
    with progress.stage("scoring", "toy"):
        assert progress.line() == "0/4 parts  0 items/s  toy (2 of 3)", "a speed is unknown"
        clock[0] += 4
        progress.part_ended(first, 4.0, "scored")
        line = "1/4 parts  16 items/s  toy (2 of 3)"
        assert progress.line() == line, "a metric takes as long on as many items of the next dataset"
        progress.part_ended(third, 4.0, "lost", worker=1)
        assert progress.line().startswith("1/4 parts"), "a lost part is still to be scored"
        progress.part_began(third)
        COUNTERS.requested_tokens += 400
        COUNTERS.count_tokens(100)
        clock[0] += 10
        line = "1/4 parts  7 tokens/s  about 0:37 left  toy (2 of 3)"
        assert progress.line() == line, "a quarter of 400 tokens took 10 s: 30 more, 40 on the next, 4 for the other"
        progress.part_ended(third, 10.0, "scored")
        assert "  about 7.0 s left" in progress.line()
    clock[0] += 2
    with progress.stage("correlating", "toy"):
        assert progress.line().startswith("correlating toy  2/4 parts  ")
        for part in (second, fourth):
            progress.part_ended(part, 0.0, "refused")
        assert progress.line() == "correlating toy"
    assert progress.summary() == ("time: 0:16 in all; scoring 0:14, correlating 0.00 s\n"
                                  "scoring by 2 workers: b 0:14, a 4.0 s")


def test_times_of_earlier_runs_are_scaled_by_the_pace_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    parts = [("toy", metric, (0, 64)) for metric in "abc"]
    progress = RunProgress(terminal=Progress(io.StringIO()), started=100, others=24.0)
    for part in parts:
        progress.plan(part, 5.0)
    with progress.stage("scoring", "toy"):
        assert "  about 0:39 left" in progress.line()
        clock[0] += 2
        progress.part_ended(parts[0], 2.0, "scored")
        assert "  about 0:14 left" in progress.line(), "two fifths of 10 s of scoring and of 24 s of other stages"


def test_shipped_times_cover_the_metrics_that_read_models(tmp_path: Path) -> None:
    models, chosen = Models(tmp_path), [registry.choose(name) for name in registry.names()]
    known = costs.read(tmp_path, chosen, models)
    assert not [part.label for part in pairs.without_composites(chosen)
                if models_key(part.metric, models) and part.label not in known]
    for content in (b"", b"\xff\xfe", b"[]]", b"{}", b"[1]", b'{"cpu fp32|length|": "x"}'):
        (tmp_path / costs.FILE).write_bytes(content)
        assert not costs.read(tmp_path, chosen, models, shipped=False)


def test_costs_are_estimated_from_several_datasets_or_scaled() -> None:
    cost = np.array([0.02, 1e-4, 1e-5])
    sizes = np.array([(9, 400, 9), (5, 500, 5e3), (7, 90, 1e3), (20, 8e3, 2e4), (3, 300, 0)])
    parts = [(cost @ size, size) for size in sizes]
    assert costs.estimate(parts, None) == pytest.approx(cost)
    assert costs.estimate([(2 * seconds, size) for seconds, size in parts[:2]], cost) == pytest.approx(2 * cost)
    assert costs.estimate([(6.0, np.array([10, 100, 200]))], None) == pytest.approx([0, 0.04, 0.01])


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_lines_are_printed_while_a_part_is_scored(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_SECONDS", 0.02)
    progress = RunProgress(terminal=Progress(stream))
    progress.plan(("toy", "a", (0, 64)), 0.0)
    with progress.stage("scoring", "toy"):
        until = time.monotonic() + 20
        while stream.getvalue().count("0/1 parts  0 items/s") < 2:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert ("\r\x1b[K" in stream.getvalue()) == stream.isatty()
    assert ("0/1 parts  0 items/s  toy\n" in stream.getvalue()) != stream.isatty()


def test_a_run_is_logged(tmp_path: Path, invoke: Invoke) -> None:
    out = tmp_path / "out"
    argv = ["run", "--dataset", "esl", "--metric", "length", "--metric", "distinct", "--limit", "20", "--draws", "0",
            "--out", out]
    assert "in all; " in invoke(*argv).err
    events = logged(out / LOG)
    assert events[0]["event"] == "run"
    assert "--metric distinct --metric length" in events[0]["command"]
    parts = [event for event in events if event["event"] == "part"]
    assert sorted((part["metric"], part["dataset"], part["items"], part["outcome"]) for part in parts) == [
        ("distinct", "esl", [0, 20], "scored"), ("length", "esl", [0, 20], "scored")]
    stages = [event["stage"] for event in events if event["event"] == "stage"]
    assert stages == ["loading", "scoring", "composing", "correlating", "ranking", "report", "pages"]
    invoke(*argv, "--examples", "0")
    assert [event for event in logged(out / LOG) if event["event"] == "part"] == [], "the log is of the last run"


def test_a_log_that_cannot_be_written_ends_the_run(tmp_path: Path, invoke: Invoke) -> None:
    log = tmp_path / "out" / LOG
    log.mkdir(parents=True)
    run = ("run", "--dataset", "esl", "--metric", "length", "--out", tmp_path / "out")
    assert f"{log}: " in invoke(*run, status=2).err
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_a_plan_shows_states_and_costs(tmp_path: Path, tiny_encoder: Path, invoke: Invoke) -> None:
    argv = ["run", "--dataset", "dstc6", "--dataset", "esl", "--limit", "20", "--draws", "0", "--encoder",
            tiny_encoder, "--out", tmp_path / "out", "--metric", "length"]
    invoke(*argv)
    printed = invoke(*argv, "--metric", "repetition", "--metric", "cosine", "--metric", "bert-score", "--dry-run",
                     "--executor", "ray:2").out
    lines = {line.split()[0]: line for line in printed.splitlines()}
    assert "scored before" in lines["length"]
    assert lines["repetition"].endswith("to be scored")
    assert "skip: no item has references" in lines["bert-score"]
    assert "time: unknown, since no run has measured these metrics here" in printed
    printed = invoke(*argv, "--rescore", "--dry-run").out
    assert "to be scored, about 0." in printed
    assert "estimated from earlier runs, with one worker: " in printed
