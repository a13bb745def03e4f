"""The rank of a metric beside an earlier run of the sample."""

import dataclasses
import json
import shutil
from collections.abc import Callable
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
Boards = Callable[..., list[dict[str, Any]]]


def run(folder: Path, *metrics: str) -> Path:
    flags = [part for name in metrics for part in ("--metric", name)]
    flags += [part for name in DATASETS for part in ("--dataset", name)]
    assert main(["run", "--home", str(folder / "home"), "--out", str(folder / "out"), "--limit", "45", "--draws", "0",
                 "--examples", "0", *flags]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without the placed metrics."""
    return run(tmp_path_factory.mktemp("earlier"), *BEFORE)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[RankingRow]:
    """The ranking by Spearman and the rule dev of the same run with the placed metrics."""
    report = files.read(run(tmp_path_factory.mktemp("later"), *BEFORE, "repetition", "bleu") / "report")
    return [row for row in report.ranking if (row.rule, row.statistic) == ("dev", "spearman")]


@pytest.fixture
def out(earlier: Path, tmp_path: Path) -> Path:
    return shutil.copytree(earlier, tmp_path / "out")


@pytest.fixture
def boards(out: Path, capsys: pytest.CaptureFixture[str]) -> Boards:
    def placed(*names: str) -> list[dict[str, Any]]:
        capsys.readouterr()
        flags = [part for name in names for part in ("--with", name)]
        assert main(["leaderboard", "--out", str(out), *flags, "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return placed


def own_row(board: dict[str, Any]) -> dict[str, Any]:
    (row,) = [row for row in board["neighbours"] if row["column"] == board["column"]]
    assert row["own"]
    return dict(row)


def test_a_metric_without_some_targets_is_ranked_on_its_own(boards: Boards, expected: list[RankingRow]) -> None:
    """BLEU needs references: its board is that of the datasets with references."""
    (board,) = boards("bleu")
    rows = {(row.board, row.column): row for row in expected}
    row = rows["dev-references", board["column"]]
    assert (own_row(board)["value"], board["cells"]) == (row.value, row.targets)
    assert board["whole"] == rows["dev", "length"].targets > board["cells"]
    assert {row["column"] for row in board["neighbours"] if row["own"]} == {f"bleu-{n}" for n in range(1, 5)}


def test_value_and_rank_are_those_of_a_run_with_the_metric(boards: Boards, expected: list[RankingRow]) -> None:
    rows = [row for row in expected if row.board == "dev" and row.metric != "bleu"]
    both = boards("distinct", "repetition")
    assert [board["metric"] for board in both] == ["distinct", "repetition"]
    for board in both:
        (row,) = [row for row in rows if row.column == board["column"]]
        shown = own_row(board)
        assert (shown["value"], shown["rank"]) == (row.value, 1 + sum(other.value > row.value for other in rows))
        assert (board["rule"], board["cells"], board["whole"]) == ("dev", row.targets, row.targets)


def test_neighbours_are_compared_by_perm_both_adjusted_over_all_shown(out: Path, boards: Boards,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed again from the stores, at 90 % because there are few contexts."""
    monkeypatch.setattr(placement, "ALPHA", 0.9)
    (board,) = boards("repetition")
    shown = [row for row in board["neighbours"] if not row["own"]]
    report = files.read(out / "report")
    fingerprints = {entry.name: entry.fingerprint[:20] for entry in report.datasets}
    p, better = [], []
    for points in report.points:
        (part,) = (out / "scores" / fingerprints[points.dataset]).glob("repetition-*.parquet")
        own = pq.read_table(part).column("score:repetition").to_numpy()
        for quality, human in points.human.items():
            tests = [all_pairs_by_permutation(
                human, np.array([own, points.scores[row["metric"], row["column"]]]), "spearman",
                rng=generator(0, points.dataset, quality), context=points.contexts) for row in shown]
            p.append([below_draws(test, 1000)[0, 1] for test in tests])
            better.append([test.delta[0, 1] > 0 for test in tests])
    sure = holm(np.array(p)) < 0.9
    assert board["tests"] == np.isfinite(p).sum()
    assert sure.any()
    assert [row["better"] for row in shown] == (sure & better).sum(axis=0).tolist()
    assert [row["worse"] for row in shown] == (sure & ~np.array(better)).sum(axis=0).tolist()


def test_scores_are_stored_and_results_unchanged(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (out / "report").rglob("*") if path.is_file()}
    for scored in (True, False):
        assert main(["leaderboard", "--out", str(out), "--with", "repetition"]) == 0
        printed = capsys.readouterr()
        assert ("metrics: 1 scored" in printed.err) == scored
        for words in ("repetition would rank", "length", "simulated raters"):
            assert words in printed.out
    assert before == {path: path.read_bytes() for path in (out / "report").rglob("*") if path.is_file()}


def test_other_items_or_names_are_refused(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, more, words in (("length", ("--data", "real"), "no real datasets"),
                              ("length", ("--split", "test"), "no sample datasets in the split test"),
                              ("lenght", (), "did you mean 'length'"),
                              ("repetition", (), "the items here are not those of the report")):
        if name == "repetition":
            report = files.read(out / "report")
            others = [dataclasses.replace(entry, fingerprint="0" * 64) for entry in report.datasets]
            files.write(dataclasses.replace(report, datasets=tuple(others)), out / "report")
        assert main(["leaderboard", "--out", str(out), "--with", name, *more]) == 2
        assert words in capsys.readouterr().err
