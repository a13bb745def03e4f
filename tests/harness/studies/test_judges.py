"""`harness study judges`: figures by hand, and a tiny model end to end on the sample."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from harness.cli import main
from harness.studies.judges import PROMPT, WAYS, Judgement, findings
from metrics.judges import prompt_file
from metrics.models import gguf
from tests import tiny

pytest.importorskip("torch")


def test_means_are_over_the_qualities_of_a_dataset_then_over_datasets() -> None:
    rows = [Judgement(dataset, quality, "small", way, 9, agreement, agreement / 2, 0.1, 1.0)
            for dataset, quality, agreement in (("a", "x", 0.1), ("a", "y", 0.3), ("b", "x", 0.6)) for way in WAYS]
    found = findings(rows, ["small"], {"small": 12.0})
    assert found.tables[0].rows[0] == ("small", "as shipped", "12", "0.40", "0.20", "0.10", "1.00")
    assert len(found.objects["judgement"]) == 9
    gone = findings([], ["smollm2-135m"], {"smollm2-135m": math.nan})
    assert gone.tables[0].rows[0][2:4] == ("–", "–")
    assert "smollm2-135m 135 M" in gone.remarks[0]


def test_the_first_way_is_the_shipped_question() -> None:
    shipped, own = prompt_file.find("relevance"), prompt_file.find(str(PROMPT))
    first = own.qualities[0]
    assert own.system == shipped.system
    assert own.turn.replace("{description}", first.description) == shipped.turn
    assert own.dialogue.replace("{steps}", first.steps) == shipped.dialogue
    assert [quality.name for quality in own.qualities] == list(WAYS)


def test_a_model_is_asked_in_three_ways(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "models" / "tiny"
    folder.mkdir(parents=True)
    gguf.convert("tiny", tiny.gguf(tmp_path / "tiny.gguf", length=8192), folder)
    argv = ["study", "judges", "--dataset", "convai2-grade", "--limit", "12", "--out", str(tmp_path / "out")]
    assert main([*argv]) == 2
    assert "say which models judge" in capsys.readouterr().err
    assert main([*argv, "--lm", "tiny"]) == 0
    with (tmp_path / "out" / "studies" / "judges" / "judgement.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["way"] for row in rows} == set(WAYS)
    assert all(float(row["shipped"]) == pytest.approx(1) for row in rows if row["way"] == "as-shipped")
