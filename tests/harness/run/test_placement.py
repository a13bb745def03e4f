"""Where a metric would stand: beside a small run of the sample."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.cli import main
from harness.results import files
from harness.results.rows import RankingRow
from harness.run import placement
from harness.run.compare import generator
from harness.statistics.permutation import all_pairs_by_permutation, below_draws
from harness.statistics.significance import holm

DATASETS = ("persona-usr", "dailydialog-zhao", "fed-turn")
BEFORE = ("length", "distinct", "context-overlap", "chrf", "rouge-l", "random", "turns")
TRIED = ("repetition", "bleu")


def run(folder: Path, metrics: tuple[str, ...], limit: int = 45) -> Path:
    flags = [part for name in metrics for part in ("--metric", name)]
    flags += [part for name in DATASETS for part in ("--dataset", name)]
    assert main(["run", "--home", str(folder / "home"), "--out", str(folder / "out"), "--limit", str(limit), "--draws",
                 "0", "--examples", "0", *flags]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without the metrics that are tried."""
    return run(tmp_path_factory.mktemp("earlier"), BEFORE)


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with them, to which the answers are compared."""
    return run(tmp_path_factory.mktemp("later"), (*BEFORE, *TRIED))


@pytest.fixture
def out(earlier: Path, tmp_path: Path) -> Path:
    return shutil.copytree(earlier, tmp_path / "out")


def boards(capsys: pytest.CaptureFixture[str], out: Path, name: str, *more: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["leaderboard", "--out", str(out), "--with", name, "--json", *more]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def standing(out: Path, board: str, column: str) -> RankingRow:
    (found,) = [row for row in files.read(out / "report").ranking
                if (row.board, row.rule, row.statistic, row.column) == (board, "dev", "spearman", column)]
    return found


def own_line(board: dict[str, Any]) -> dict[str, Any]:
    (line,) = [row for row in board["neighbours"] if row["column"] == board["column"]]
    assert line["own"]
    return dict(line)


def test_a_metric_without_some_cells_is_ranked_on_those_it_has(
        out: Path, later: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """BLEU wants references, which one dataset has not: its board is the one of those that have."""
    (board,) = boards(capsys, out, "bleu")
    truth = standing(later, "dev-references", board["column"])
    assert (own_line(board)["value"], board["cells"]) == (truth.value, truth.targets)
    assert board["whole"] == standing(later, "dev", "length").targets > board["cells"]
    assert {row["column"] for row in board["neighbours"] if row["own"]} == {f"bleu-{n}" for n in range(1, 5)}


def test_value_and_rank_are_those_of_a_run_with_the_metrics(
        out: Path, later: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_distinct, repetition = boards(capsys, out, "distinct", "--with", "repetition")
    truth = [row for row in files.read(later / "report").ranking
             if (row.board, row.rule, row.statistic) == ("dev", "dev", "spearman") and row.metric != "bleu"]
    for board in (with_distinct, repetition):
        (own,) = [row for row in truth if row.column == board["column"]]
        line = own_line(board)
        assert (line["value"], line["rank"]) == (own.value, 1 + sum(row.value > own.value for row in truth))
        assert (board["rule"], board["cells"], board["whole"]) == ("dev", own.targets, own.targets)
    assert (with_distinct["metric"], repetition["metric"]) == ("distinct", "repetition")


def test_tests_are_perm_both_on_the_same_scores_adjusted_over_all_that_is_shown(
        out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted again from the stores: each neighbour on each cell, Holm over all; at 90 %, few contexts being there."""
    monkeypatch.setattr(placement, "ALPHA", 0.9)
    (board,) = boards(capsys, out, "repetition")
    shown = [row for row in board["neighbours"] if not row["own"]]
    report = files.read(out / "report")
    p, won = [], []
    for points in report.points:
        (entry,) = (entry for entry in report.datasets if entry.name == points.dataset)
        (part,) = (out / "scores" / entry.fingerprint[:20]).glob("repetition-*.parquet")
        own = pq.read_table(part).column("score:repetition").to_numpy()
        for quality, human in points.human.items():
            for row in shown:
                found = all_pairs_by_permutation(
                    human, np.array([own, points.scores[row["metric"], row["column"]]]), "spearman",
                    rng=generator(0, points.dataset, quality), context=points.contexts)
                p.append(below_draws(found, 1000)[0, 1])
                won.append((row["column"], found.delta[0, 1] > 0))
    sure = holm(np.array(p)) < 0.9
    assert board["tests"] == np.isfinite(p).sum()
    assert sure.any()
    for row in shown:
        assert row["better"] == sum(one and better for one, (name, better) in zip(sure, won, strict=True)
                                    if name == row["column"])
        assert row["worse"] == sum(one and not better for one, (name, better) in zip(sure, won, strict=True)
                                   if name == row["column"])


def test_the_second_time_nothing_is_scored(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name for path in (out / "report").iterdir()}, (out / "report" / "report.json").read_bytes()
    assert main(["leaderboard", "--out", str(out), "--with", "repetition"]) == 0
    assert "metrics: 1 scored, 0 kept" in capsys.readouterr().err
    assert main(["leaderboard", "--out", str(out), "--with", "repetition"]) == 0
    told = capsys.readouterr()
    assert "metrics: 1 scored" not in told.err
    assert "repetition would rank" in told.out
    assert "length" in told.out
    assert "simulated raters" in told.out
    assert before == ({path.name for path in (out / "report").iterdir()}, (out / "report" / "report.json").read_bytes())


def test_other_items_than_those_of_the_report_are_refused(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = files.read(out / "report")
    other = [dataclasses.replace(entry, fingerprint="0" * 64) for entry in report.datasets]
    files.write(dataclasses.replace(report, datasets=tuple(other)), out / "report")
    assert main(["leaderboard", "--out", str(out), "--with", "repetition"]) == 2
    assert "the items here are not those of the report" in capsys.readouterr().err


def test_what_cannot_be_is_said_in_one_line(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, more, part in (("length", ("--data", "real"), "no real datasets"),
                             ("length", ("--split", "test"), "no sample datasets in the split test"),
                             ("lenght", (), "did you mean 'length'")):
        assert main(["leaderboard", "--out", str(out), "--with", name, *more]) == 2
        assert part in capsys.readouterr().err
