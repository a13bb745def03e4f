"""The rank of a metric among the columns of an earlier run of the sample."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.results import files
from harness.results.rows import RankingRow
from harness.run import placement
from harness.statistics import pooled
from tests.conftest import Invoke
from tests.faults.runs import flags, metric
from tests.faults.runs import report as report_of

RUN = ("run", "--limit", "45", "--draws", "0", "--examples", "0",
       *flags("--dataset", ("persona-usr", "dailydialog-zhao", "fed-turn")),
       *flags("--metric", ("length", "distinct", "context-overlap", "chrf", "rouge-l", "random", "turns")))
Boards = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("earlier")
    assert main([*RUN, "--home", str(folder), "--out", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def expected(earlier: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], RankingRow]:
    """The ranking by Spearman and the rule dev of the same run with the placed metrics, by board and column."""
    folder = tmp_path_factory.mktemp("later")
    assert main([*RUN, "--home", str(folder), "--out", str(folder / "out"), "--metric", "repetition",
                 "--metric", "bleu"]) == 0
    return {(row.board, row.column): row for row in files.read(folder / "out" / "report").ranking
            if (row.rule, row.statistic) == ("dev", "spearman")}


@pytest.fixture
def out(earlier: Path, tmp_path: Path) -> Path:
    return shutil.copytree(earlier, tmp_path / "out")


@pytest.fixture
def boards(out: Path, invoke: Invoke) -> Boards:
    return lambda *names: [json.loads(line) for line in invoke(
        "leaderboard", "--out", out, *flags("--with", names), "--json").out.splitlines()]


def placed_row(board: dict[str, Any]) -> dict[str, Any]:
    (row,) = [row for row in board["neighbours"] if row["column"] == board["column"]]
    assert row["own"]
    return dict(row)


def test_value_and_rank_equal_those_of_a_run_with_the_metric(
        boards: Boards, expected: dict[tuple[str, str], RankingRow]) -> None:
    """BLEU needs references: its board is that of the datasets with references."""
    rows = [row for (name, _), row in expected.items() if name == "dev" and row.metric != "bleu"]
    pair = boards("distinct", "repetition")
    assert [board["metric"] for board in pair] == ["distinct", "repetition"]
    for board in pair:
        row, shown = expected["dev", board["column"]], placed_row(board)
        assert (shown["value"], shown["rank"]) == (row.value, 1 + sum(other.value > row.value for other in rows))
        assert (board["rule"], board["cells"], board["whole"]) == ("dev", row.targets, row.targets)
    (board,) = boards("bleu")
    row = expected["dev-references", board["column"]]
    assert (placed_row(board)["value"], board["cells"]) == (row.value, row.targets)
    assert board["whole"] == expected["dev", "length"].targets > board["cells"]
    assert {row["column"] for row in board["neighbours"] if row["own"]} == {f"bleu-{n}" for n in range(1, 5)}


def test_neighbours_are_compared_as_in_a_run_with_the_metric(boards: Boards, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """At 90 %, because there are few contexts."""
    monkeypatch.setattr(pooled, "ALPHA", 0.9)
    (board,) = boards("repetition")
    shown = [row for row in board["neighbours"] if not row["own"]]
    assert main([*RUN, "--home", str(tmp_path), "--out", str(tmp_path / "later"), "--metric", "repetition"]) == 0
    rows = [row for target in files.read(tmp_path / "later" / "report").comparisons for row in target if row.bh < 0.9]
    assert rows
    for row in shown:
        pairs = [(row["column"], "repetition"), ("repetition", row["column"])]
        worse, better = (sum((test.better, test.worse) == pair for test in rows) for pair in pairs)
        assert (row["better"], row["worse"]) == (better, worse)


def test_a_metric_fitted_on_one_dataset_stays_on_the_board(earlier: Path) -> None:
    report = files.read(earlier / "report")
    report = dataclasses.replace(report, metrics=tuple(dataclasses.replace(
        entry, learned_on=("fed-turn",) * (entry.name == "random")) for entry in report.metrics))
    placed = dataclasses.replace(
        report, metrics=tuple(entry for entry in report.metrics if entry.name == "chrf"),
        correlations=tuple(row for row in report.correlations if row.metric == "chrf"))
    boards = [{row.column for row in board.neighbours} for board in placement.placements(report, placed)]
    assert boards
    assert all("random" in columns for columns in boards)


def test_scores_are_stored_and_results_unchanged(out: Path, invoke: Invoke) -> None:
    before = report_of(out)
    for scored in (True, False):
        printed = invoke("leaderboard", "--out", out, "--with", "repetition")
        assert ("metrics: 1 scored" in printed.err) == scored
        assert all(words in printed.out for words in ("repetition would rank", "length", "simulated raters"))
    assert before == report_of(out)


def test_the_status_is_1_if_nothing_was_scored(out: Path, tmp_path: Path, invoke: Invoke) -> None:
    unscored = metric(tmp_path, "unscored", "from metrics.errors import CannotScore\nraise CannotScore('nothing')")
    invoke("leaderboard", "--out", out, "--with", unscored, status=1)


def test_a_home_without_the_datasets_of_the_run_is_refused(out: Path, tmp_path: Path, invoke: Invoke) -> None:
    report = files.read(out / "report")
    real = tuple(dataclasses.replace(entry, origin="imported") for entry in report.datasets)
    files.write(dataclasses.replace(report, datasets=real), out / "report")
    err = invoke("leaderboard", "--out", out, "--home", tmp_path / "other", "--with", "length", status=2).err
    assert all(part in err for part in ("persona-usr", str(tmp_path / "other"), "--home"))
    (tmp_path / "killed" / "scores").mkdir(parents=True)
    assert f"`harness run --out {tmp_path / 'killed'}`" in invoke(
        "leaderboard", "--out", tmp_path / "killed", "--with", "length", status=2).err


def test_other_items_or_names_are_refused(out: Path, invoke: Invoke) -> None:
    report = files.read(out / "report")
    for line, part in (("length --data real", "real"), ("lenght", "'length'"), ("length --split test", "split test")):
        assert part in invoke("leaderboard", "--out", out, "--with", *line.split(), status=2).err
    others = tuple(dataclasses.replace(entry, fingerprint="0" * 64) for entry in report.datasets)
    files.write(dataclasses.replace(report, datasets=others), out / "report")
    assert "items" in invoke("leaderboard", "--out", out, "--with", "repetition", status=2).err
