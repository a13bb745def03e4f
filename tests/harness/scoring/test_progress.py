"""The progress of a run: the line on the terminal, the summary of time, and the log."""

import io
import json
import time
from pathlib import Path
from typing import Any

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
    parts = [(dataset, metric, (0, 50)) for metric in "ab" for dataset in ("toy", "next")]
    first, second, third, fourth = parts
    progress = RunProgress(terminal=Progress(io.StringIO()), started=100, position=" (2 of 3)",
                           costs={"b": 0.02}, sizes={"toy": 2.0, "next": 4.0})
    for part in parts:
        progress.plan(part)
    with progress.stage("scoring", "toy"):
        clock[0] += 6
        assert progress.line() == "00:06  scoring toy (2 of 3)  0/4 parts  0 items/s", "the cost of a is unknown"
        progress.part_ended(first, 4.0, "scored")
        line = "00:06  scoring toy (2 of 3)  1/4 parts  8 items/s  00:15 left"
        assert progress.line() == line, "4 + 20 s took 6 + 20, so 8 + 2 + 4 take 15"
        progress.part_ended(third, 4.0, "lost", worker=1)
        assert "  1/4 parts  " in progress.line(), "a lost part is still to be scored"
        progress.part_began(third)
        COUNTERS.requested_tokens += 400
        COUNTERS.count_tokens(200)
        clock[0] += 4
        assert progress.line() == "00:10  scoring toy (2 of 3)  1/4 parts  20 tokens/s  00:15 left", "half of b is done"
        progress.part_ended(third, 2.0, "scored")
    clock[0] += 2
    with progress.stage("correlating", "toy"):
        assert progress.line() == "00:12  correlating toy (2 of 3)  2/4 parts  00:14 left"
        for part in (second, fourth):
            progress.part_ended(part, 0.0, "refused")
        assert progress.line() == "00:12  correlating toy (2 of 3)  4/4 parts"
    assert progress.summary() == ("time: 0:12 in all; scoring 0:10, correlating 0.00 s\n"
                                  "scoring: b 6.0 s, a 4.0 s")


def test_shipped_times_cover_the_metrics_that_read_models(tmp_path: Path) -> None:
    models, chosen = Models(tmp_path), [registry.choose(name) for name in registry.names()]
    known = costs.read(tmp_path, chosen, models)
    assert not [part.label for part in pairs.without_composites(chosen)
                if models_key(part.metric, models) and part.label not in known]
    for content in (b"", b"\xff\xfe", b"[]]", b"{}", b"[1]", b'{"cpu fp32|length|": [0.0, 1.0, 0.25]}'):
        (tmp_path / costs.FILE).write_bytes(content)
        assert not costs.read(tmp_path, chosen, models, shipped=False)


def test_costs_are_seconds_per_character(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = RunProgress(sizes={"toy": 2.0, "next": 4.0})
    for dataset, seconds, measured in (("toy", 4.0, True), ("next", 5.0, True), ("next", 0.0, False)):
        progress.part_ended((dataset, "a", (0, 50)), seconds, "scored", measured=measured)
    assert progress.new_costs() == {"a": 9 / 300}


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_lines_are_printed_while_a_part_is_scored(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_SECONDS", 0.02)
    progress = RunProgress(terminal=Progress(stream))
    progress.plan(("toy", "a", (0, 64)))
    with progress.stage("scoring", "toy"):
        until = time.monotonic() + 20
        while stream.getvalue().count("scoring toy  0/1 parts  0 items/s") < 2:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert ("\r\x1b[K" in stream.getvalue()) == stream.isatty()
    assert ("0/1 parts  0 items/s\n" in stream.getvalue()) != stream.isatty()


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
    assert "references" in lines["bert-score"]
    assert "time: unknown" in printed
    assert "to be scored, about 0." in invoke(*argv, "--rescore", "--dry-run").out
