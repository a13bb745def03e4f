"""`harness run`, end to end on the sample and on datasets made here."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from harness.cli import main
from harness.results import files
from metrics import registry
from metrics.metric import MetricCard

FEW = ("--metric", "length", "--metric", "random", "--metric", "bleu")


def run(out: Path, *argv: str) -> int:
    return main(["run", *argv, "--out", str(out)])


def tree(folder: Path, *leave_out: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in leave_out}


@pytest.mark.slow
def test_everything_on_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--all", "--limit", "6", "--draws", "20") == 0
    printed = capsys.readouterr().out
    assert "bundled sample" in printed
    assert "skipped" in printed
    report = files.read(tmp_path / "report")
    assert [entry.name for entry in report.datasets] == list(datasets.names())
    assert {row.statistic for row in report.correlations} == {"spearman", "pearson", "kendall"}
    assert {row.origin for row in report.ranking} == {"sample"}
    assert (tmp_path / "site" / "index.html").is_file()
    cells = {(row.dataset, row.metric) for row in (*report.correlations, *report.skips)}
    assert len(cells) == 19 * len(registry.names()), "every cell is either there or skipped for a reason"


def test_a_second_run_scores_nothing_and_changes_no_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("--split", "test", *FEW)
    run(tmp_path, *argv)
    before = tree(tmp_path, "log.jsonl")
    capsys.readouterr()
    run(tmp_path, *argv)
    assert "dataset: 0 scored, " in capsys.readouterr().out
    assert tree(tmp_path, "log.jsonl") == before


def test_two_runs_agree_in_all_but_the_timings(tmp_path: Path) -> None:
    for name in "ab":
        run(tmp_path / name, "--dataset", "esl", "--seed", "4", *FEW)
    assert tree(tmp_path / "a" / "report", "timings.json") == tree(tmp_path / "b" / "report", "timings.json")


def test_neither_order_nor_threads_change_a_byte(tmp_path: Path) -> None:
    names = ["length", "random", "distinct", "rouge-l"]
    for number, threads in enumerate("12"):
        argv = [word for name in names[:: 1 - 2 * number] for word in ("--metric", name)]
        env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-m", "dialogue_harness", "run", "--dataset", "convai2-grade", "--dataset",
                        "fed-dial", "--dataset", "dstc6", "--limit", "40", "--permutations", "50", "--draws", "100",
                        "--out", str(tmp_path / threads), *argv], env=env, check=True, capture_output=True)
    assert tree(tmp_path / "1" / "report", "timings.json") == tree(tmp_path / "2" / "report", "timings.json")


def test_the_seed_is_in_the_report_and_in_what_is_random(tmp_path: Path) -> None:
    for seed in "12":
        run(tmp_path / seed, "--dataset", "esl", "--metric", "random", "--seed", seed)
    one, two = (files.read(tmp_path / seed / "report") for seed in "12")
    assert (one.run.seed, two.run.seed) == (1, 2)
    assert one.correlations != two.correlations


def test_a_selection_is_what_is_run(tmp_path: Path) -> None:
    run(tmp_path, "--quality", "relevance", "--split", "dev", "--metric", "length", "--limit", "20")
    report = files.read(tmp_path / "report")
    assert {row.quality.casefold() for row in report.correlations} >= {"relevance"}
    assert all(quality.dimension == "relevance" for entry in report.datasets for quality in entry.qualities)
    assert all(entry.items == 20 and entry.split == "dev" for entry in report.datasets)


def test_a_damaged_part_is_set_aside_and_scored_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, "--dataset", "esl", *FEW)
    before = tree(tmp_path / "report", "timings.json")
    part = next(tmp_path.glob("scores/*/length-*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    capsys.readouterr()
    assert run(tmp_path, "--dataset", "esl", *FEW) == 0
    said = capsys.readouterr()
    assert "set aside" in said.err
    assert "dataset: 1 scored, 1 kept" in said.out
    assert tree(tmp_path / "report", "timings.json") == before


def test_aggregations_are_columns_of_their_own(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "fed-dial", "--metric", "length", "--aggregate", "mean", "--aggregate", "sum")
    assert {row.column for row in files.read(tmp_path / "report").correlations} == {"length", "length:sum"}


def test_a_selection_of_sums_keeps_what_has_no_turns_to_sum(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "esl", "--dataset", "fed-dial", "--metric", "length", "--metric", "repetition",
        "--aggregate", "sum")
    found = {(row.dataset, row.column) for row in files.read(tmp_path / "report").correlations}
    assert found == {("esl", "length"), ("esl", "repetition"), ("fed-dial", "length:sum"), ("fed-dial", "repetition")}


def test_a_poor_terminal_is_enough(tmp_path: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for argv in (["list", "metrics"], ["run", "--dataset", "esl", "--metric", "bleu", "--out", str(tmp_path)]):
        subprocess.run([sys.executable, "-m", "dialogue_harness", *argv], env=env, check=True, capture_output=True)


def test_options_make_a_metric_of_their_own(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "dstc6", "--metric", "rouge-l", "--metric", "rouge-l[references=mean]")
    report = files.read(tmp_path / "report")
    assert {row.column for row in report.correlations} == {"rouge-l", "rouge-l[references=mean]"}
    assert len({entry.signature for entry in report.metrics}) == 2


def test_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, "--dataset", "esl", "--metric", "length", "--json")
    printed = capsys.readouterr().out
    main(["report", "--json", "--out", str(tmp_path)])
    assert capsys.readouterr().out == printed
    for line in printed.splitlines():
        row = json.loads(line)
        assert row.keys() >= {"split", "dataset", "quality", "metric", "column", "statistic", "n", "value", "p"}


def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(tmp_path / "out", "--all", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "to be scored" in printed
    assert "skip: no item has references" in printed
    assert "skip: wordnet" in printed
    assert not (tmp_path / "out").exists()


def real_esl(home: Path) -> Dataset:
    sample = datasets.sample(datasets.card("esl"))
    real = Dataset(sample.card, sample.items, sample.ratings, "imported")
    store.save(real, home)
    return real


def test_sample_and_real_data_never_share_an_average(tmp_path: Path, home: Path) -> None:
    real_esl(home)
    run(tmp_path, "--split", "test", "--metric", "length")
    report = files.read(tmp_path / "report")
    cells = {row.origin: row.targets for row in report.ranking}
    assert cells == {"real": 1, "sample": 10}
    rows = [row for row in report.ranking if row.origin == "real" and row.statistic == "spearman"]
    (alone,) = [row for row in report.correlations if row.dataset == "esl" and row.statistic == "spearman"]
    assert {row.value for row in rows} == {alone.value}


def test_only_real_data_or_only_the_sample(tmp_path: Path, home: Path) -> None:
    real_esl(home)
    run(tmp_path / "real", "--split", "test", "--metric", "length", "--data", "real")
    run(tmp_path / "sample", "--split", "test", "--metric", "length", "--data", "sample")
    real, sample = (files.read(tmp_path / name / "report") for name in ("real", "sample"))
    assert [entry.name for entry in real.datasets] == ["esl"]
    assert {entry.origin for entry in sample.datasets} == {"sample"}
    assert len(sample.datasets) == 5


def test_private_ratings_are_joined_at_evaluation(tmp_path: Path, home: Path) -> None:
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items, (), "imported"), home)
    rows = [{"dialogue_id": rating.item, "annotations": {rating.quality: list(rating.votes)}}
            for rating in sample.ratings]
    (tmp_path / "private.json").write_text(json.dumps(rows))
    run(tmp_path / "without", "--dataset", "esl", "--metric", "length")
    run(tmp_path / "with", "--dataset", "esl", "--metric", "length", "--ratings", str(tmp_path / "private.json"))
    run(tmp_path / "sample", "--dataset", "esl", "--metric", "length", "--data", "sample")
    without, joined, open_ = (files.read(tmp_path / name / "report").correlations
                              for name in ("without", "with", "sample"))
    assert all(math.isnan(row.value) and row.n == 0 for row in without)
    assert repr(joined) == repr(open_)  # repr, because NaN is not itself


@dataclass(frozen=True)
class Broken:
    """Fails as foreign code does: with an error of its own, over two lines."""

    card: ClassVar[MetricCard] = MetricCard("broken", "Broken", ("broken",), "toy")

    def score(self, items: Any, models: Any) -> Any:
        raise OSError("no such model\nat all")


@pytest.fixture
def _broken(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("broken", f"{__name__}:Broken", group)])
    for cached in (registry._plugged_in, registry.metric_class):
        cached.cache_clear()
    yield
    for cached in (registry._plugged_in, registry.metric_class):
        cached.cache_clear()


@pytest.mark.usefixtures("_broken")
def test_a_crash_costs_its_cell_alone_and_the_exit_status_says_so(tmp_path: Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--dataset", "esl", "--metric", "broken", "--metric", "length") == 1
    report = files.read(tmp_path / "report")
    assert [(row.dataset, row.metric) for row in report.failures] == [("esl", "broken")]
    assert {row.metric for row in report.correlations} == {"length"}
    assert "OSError: no such model" in capsys.readouterr().err


def test_rescoring_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, "--dataset", "esl", *FEW)
    capsys.readouterr()
    run(tmp_path, "--dataset", "esl", *FEW, "--rescore")
    assert len(list(tmp_path.glob("scores/*/*.parquet"))) == 2, "the old parts are gone"
    assert "dataset: 2 scored, 0 kept" in capsys.readouterr().out


def test_a_damaged_dataset_costs_itself_alone(tmp_path: Path, home: Path) -> None:
    real_esl(home)
    (home / "datasets" / "esl.json").write_text("{")
    assert run(tmp_path, "--split", "test", "--metric", "length") == 1
    report = files.read(tmp_path / "report")
    assert [row.dataset for row in report.failures] == ["esl"]
    assert "import or fetch it again" in report.failures[0].error
    assert len(report.datasets) == 4
    assert main(["doctor"]) == 0


def test_private_votes_never_reach_the_sample(tmp_path: Path, home: Path) -> None:
    """Sample and challenge number their test items alike; only real data takes private votes."""
    sample = datasets.sample(datasets.card("esl"))
    other = next(item.id for item in datasets.sample(datasets.card("ncm")).items)
    store.save(Dataset(sample.card, sample.items, (), "imported"), home)
    (tmp_path / "r.csv").write_text(f"item,quality,vote\n{sample.items[0].id},appropriateness,1\n")
    assert run(tmp_path / "out", "--split", "test", "--metric", "length", "--ratings", str(tmp_path / "r.csv")) == 0
    report = files.read(tmp_path / "out" / "report")
    assert [entry.name for entry in report.datasets if "Private ratings joined: 1 votes" in entry.notes] == ["esl"]
    assert len(report.run.options["ratings sha256"]) == 64
    (tmp_path / "r.csv").write_text(f"item,quality,vote\n{other},appropriateness,1\n")
    assert run(tmp_path / "out", "--split", "test", "--metric", "length", "--ratings", str(tmp_path / "r.csv")) == 2


def test_reference_metrics_are_ranked_where_all_can_take_part(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "dstc6", "--dataset", "fed-turn", *FEW)
    rows = [row for row in files.read(tmp_path / "report").ranking if row.statistic == "spearman"]
    assert {row.column for row in rows if row.board == "dev" and row.rank} == {"length", "random"}
    ranked = {row.column: row.targets for row in rows if row.board == "dev-references" and row.rank}
    assert ranked == dict.fromkeys(("length", "random", "bleu-1", "bleu-2", "bleu-3", "bleu-4"), 1)


def test_a_strangers_folder_is_not_overwritten(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "esl", "--metric", "length")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    assert main(["publish", "--out", str(tmp_path), "--site", str(tmp_path / "mine")]) == 2
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["index.html"]


def test_publish_draws_the_same_site_from_the_report_alone(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "esl", *FEW)
    shutil.rmtree(tmp_path / "scores")
    main(["publish", "--out", str(tmp_path), "--site", str(tmp_path / "again")])
    assert tree(tmp_path / "again") == tree(tmp_path / "site")


def test_pages_of_datasets_that_left_the_report_go(tmp_path: Path) -> None:
    run(tmp_path, "--dataset", "esl", "--dataset", "ncm", "--metric", "length")
    (tmp_path / "site" / "mine.txt").write_text("kept")
    run(tmp_path, "--dataset", "esl", "--metric", "length")
    assert [path.name for path in (tmp_path / "site" / "dataset").iterdir()] == ["esl.html"]
    assert (tmp_path / "site" / "mine.txt").exists()


def test_the_command_in_the_report_repeats_the_run(tmp_path: Path) -> None:
    argv = ("--dataset", "esl", "--metric", "rouge-l[stem=true]", "--metric", "random", "--seed", "3", "--limit", "30")
    run(tmp_path / "a", *argv)
    command = files.read(tmp_path / "a" / "report").run.command
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path / "b")]) == 0
    assert tree(tmp_path / "a" / "report", "timings.json") == tree(tmp_path / "b" / "report", "timings.json")


def test_with_adds_to_what_was_chosen(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom metrics.metric import MetricCard\n\n\n"
        "@dataclass(frozen=True, slots=True)\nclass Words:\n"
        "    card: ClassVar[MetricCard] = MetricCard(name='words', title='W', columns=('words',), family='control')\n\n"
        "    def score(self, items, models):\n"
        "        return {'words': [float(len(item.response.text.split())) for item in items]}\n")
    (tmp_path / "run.toml").write_text('[run]\nmetric = ["bleu"]\nwith = ["length"]\ndataset = ["dailydialog-gupta"]\n'
                                       'limit = 5\ndraws = 0\n')
    asked = ["run", "--config", str(tmp_path / "run.toml"), "--out", str(tmp_path / "out")]
    assert main(asked) == 0
    assert {entry.name for entry in files.read(tmp_path / "out" / "report").metrics} == {"bleu", "length"}
    assert main([*asked, "--with", str(tmp_path / "words.py")]) == 0
    report = files.read(tmp_path / "out" / "report")
    assert {entry.name for entry in report.metrics} == {"bleu", "words"}
    assert "--with ./words.py" in report.run.command
    assert str(tmp_path) not in repr(report.run)
