"""`harness run`, end to end on the sample and on datasets made here."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.storage import resources, store
from benchmarks.storage.files import Files
from harness.cli import main
from harness.results import files
from harness.results.entries import BoardId
from harness.results.rows import Results
from harness.run import unchanged
from harness.scoring.lease import exclusive
from metrics.models.resources import LOCATIONS
from tests.conftest import Invoke, make_card
from tests.faults.runs import flags, metric, start
from tests.suite_run import SuiteRun

FEW = ("--metric", "length", "--metric", "random", "--metric", "bleu", "--draws", "0")


def run(out: Path, *argv: str) -> Results:
    main(["run", *argv, "--out", str(out)])
    return files.read(out / "report")


def tree(folder: Path, *excluded: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in excluded}


def test_a_second_run_scores_nothing_and_changes_no_byte(tmp_path: Path, invoke: Invoke) -> None:
    argv = ("run", "--dataset", "esl", "--dataset", "ncm", *FEW, "--out", tmp_path)
    invoke(*argv)
    before = tree(tmp_path, "log.jsonl")
    assert "dataset: 0 scored, " in invoke(*argv).out
    assert tree(tmp_path, "log.jsonl") == before
    invoke("run", "--dataset", "ncm", "--metric", "bleu", "--out", tmp_path, status=1)
    assert before.items() <= tree(tmp_path, "log.jsonl").items(), "no empty board replaces the results"
    assert "dataset: 4 scored, 0 already stored" in invoke(*argv, "--rescore").out
    assert len(list(tmp_path.glob("scores/*/*.parquet"))) == 4, "the old scores are replaced"


def test_neither_order_nor_threads_change_a_byte(tmp_path: Path) -> None:
    names = ["length", "random", "distinct", "rouge-l"]
    for threads in (1, 2):
        with threadpool_limits(threads):
            run(tmp_path / str(threads), "--dataset", "convai2-grade", "--dataset", "fed-dial", "--limit", "40",
                "--permutations", "50", "--draws", "100", *flags("--metric", names[:: 3 - 2 * threads]))
    assert tree(tmp_path / "1" / "report", "timings.json") == tree(tmp_path / "2" / "report", "timings.json")


def test_a_selection_of_sums_keeps_metrics_without_turns(tmp_path: Path) -> None:
    results = run(tmp_path, "--dataset", "esl", "--dataset", "fed-dial", "--metric", "length", "--metric", "repetition",
                  "--aggregate", "sum", "--draws", "0")
    assert {(row.dataset, row.column) for row in results.correlations} == {
        ("esl", "length"), ("esl", "repetition"), ("fed-dial", "length:sum"), ("fed-dial", "repetition")}


def test_an_ascii_terminal_is_enough() -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-m", "dialogue_harness", "list", "metrics"], env=env, check=True,
                   capture_output=True)


def test_run_and_report_print_the_same_json_lines(tmp_path: Path, invoke: Invoke) -> None:
    printed = invoke("run", "--dataset", "esl", "--metric", "length", "--draws", "0", "--json", "--out", tmp_path).out
    assert invoke("report", "--json", "--out", tmp_path).out == printed
    for line in printed.splitlines():
        assert json.loads(line).keys() >= {"split", "dataset", "quality", "metric", "column", "statistic", "n", "value",
                                           "p"}


def imported(home: Path, *, rated: bool = True) -> Dataset:
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items, sample.ratings if rated else (), "imported"), home)
    return sample


def test_sample_real_and_own_data_never_share_an_average(tmp_path: Path, home: Path) -> None:
    imported(home)
    argv = ("--dataset", "esl", "--dataset", "ncm", "--dataset", "jsalt", "--metric", "length", "--draws", "0")
    (tmp_path / "own.csv").write_text("id,response,rating\n" + "\n".join(
        f"{number},{'word ' * (number % 4 + 1)},{number % 4 + 1}" for number in range(8)))
    results = run(tmp_path / "both", *argv, "--dataset", str(tmp_path / "own.csv"))
    assert {(BoardId.parse(row.board).split, row.origin, row.targets) for row in results.ranking} == {
        ("test", "real", 1), ("test", "sample", 2), ("own", "real", 1)}
    values = {row.value for row in results.correlations if (row.dataset, row.statistic) == ("esl", "spearman")}
    assert {row.value for row in results.ranking if (row.board, row.origin, row.statistic) == (
        "test", "real", "spearman")} == values
    for data, entries in (("real", [("esl", "imported")]), ("sample", [(name, "sample") for name in (
            "jsalt", "esl", "ncm")])):
        chosen = run(tmp_path / data, *argv, "--data", data).datasets
        assert [(entry.name, entry.origin) for entry in chosen] == entries


def test_a_dataset_that_is_not_imported_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: datasets.card(name) for name in ("esl", "ncm")}
    monkeypatch.setattr(datasets, "cards", lambda: {**known, "own": make_card("own")})
    results = run(tmp_path / "out", "--all", "--metric", "length", "--draws", "0")
    assert {row.dataset for row in results.correlations} == set(known)
    assert [skip.dataset for skip in results.skips] == ["own"]


def test_a_dataset_that_cannot_be_read_counts_on_every_board(tmp_path: Path, home: Path) -> None:
    imported(home)
    (metadata,) = home.rglob("esl.json")
    metadata.write_text("{")
    ncm = datasets.sample(datasets.card("ncm"))
    store.save(Dataset(ncm.card, ncm.items, ncm.ratings, "imported"), home)
    argv = ("--dataset", "esl", "--dataset", "ncm", "--metric", "length", "--draws", "0", "--out", str(tmp_path))
    assert main(["run", *argv]) == 1
    ranking = files.read(tmp_path).ranking
    assert {row.targets for row in ranking} == {2}
    assert {row.rank for row in ranking} == {None}
    assert any(":" in row.board for row in ranking)


def test_private_ratings_are_joined_to_real_data_only(tmp_path: Path, home: Path) -> None:
    """Sample and challenge use the same ids for test items."""
    sample = imported(home, rated=False)
    rows = [{"dialogue_id": rating.item, "annotations": {rating.quality: list(rating.votes)}}
            for rating in sample.ratings]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    argv = ("--dataset", "esl", "--dataset", "ncm", "--metric", "length", "--draws", "0", "--examples", "1")
    ratings = str(tmp_path / "r.json")
    without, joined, public, few = (run(tmp_path / name, *argv, *more) for name, more in (
        ("without", ()), ("with", ("--ratings", ratings)), ("sample", ("--data", "sample")),
        ("few", ("--ratings", ratings, "--sample", "6"))))
    assert all(row.n == 0 for row in without.correlations if row.dataset == "esl")
    assert repr(joined.correlations) == repr(public.correlations)  # repr, because NaN is not itself
    assert [entry.name for entry in joined.datasets if "Private ratings" in entry.notes] == ["esl"]
    assert len(joined.run.options["ratings sha256"]) == 64
    assert [results.run.options["examples"] for results in (public, joined)] == [1, 0], "examples show ratings"
    assert {row.n for row in few.correlations if row.dataset == "esl"} == {6}
    other = datasets.sample(datasets.card("ncm")).items[0].id
    (tmp_path / "r.csv").write_text(f"item,quality,vote\n{other},appropriateness,1\n")
    assert main(["run", *argv, "--ratings", str(tmp_path / "r.csv"), "--out", str(tmp_path / "refused")]) == 2
    assert not (tmp_path / "refused").exists(), "a refused run leaves no empty folders"


def test_an_exception_fails_only_this_metric_on_this_dataset(suite_run: SuiteRun) -> None:
    results = suite_run.results
    assert [(row.dataset, row.metric, row.error) for row in results.failures] == [
        ("fed-turn", "crashing", "ValueError: odd <b>reply</b> in line 24 of crashing.py")]
    log = (suite_run.out / "log.jsonl").read_text()
    assert "crashing crashed; see " in log
    assert "ValueError: odd" in log
    assert "Traceback" in log, "the terminal shows only its last line"
    pairs = {(row.dataset, row.metric) for row in (*results.correlations, *results.skips, *results.failures)}
    assert len(pairs) == len(results.datasets) * len(results.metrics), "every pair is scored, skipped or failed"
    assert {row.metric for row in results.correlations if row.dataset == "fed-turn"} >= {"length", "distinct"}
    assert {row.dataset for row in results.correlations if row.metric == "crashing"} == {
        "persona-usr", "fed-dial", "jsalt"}


def test_a_reason_is_printed_once(tmp_path: Path, invoke: Invoke) -> None:
    out = tmp_path / "out"
    printed = invoke("run", "--dataset", "esl", "--limit", "20", "--draws", "0", "--metric", "length", "--metric",
                     metric(tmp_path, "crashing", "raise ValueError('odd reply')"), "--out", out, status=1)
    assert f"esl: crashing crashed; see {out / 'log.jsonl'}; `harness check`" in printed.err
    assert "odd reply" not in printed.err
    assert printed.out.count("odd reply") == 1


def test_reasons_contain_no_path_of_the_home(tmp_path: Path, home: Path) -> None:
    (skip,) = run(tmp_path / "out", "--dataset", "esl", "--limit", "20", "--draws", "0", "--metric", "length",
                  "--metric", "panel").skips
    assert str(home) not in skip.reason
    assert skip.reason.endswith(" into models/qwen2.5-coder-1.5b")


def test_publish_draws_the_same_site_from_the_report_alone(suite_run: SuiteRun, tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    invoke("publish", "--out", suite_run.out, "--site", tmp_path / "mine", status=2)
    assert tree(tmp_path / "mine") == {"index.html": b"mine"}, "a foreign folder is not touched"
    invoke("publish", "--out", suite_run.out, "--site", tmp_path / "again")
    assert tree(tmp_path / "again") == tree(suite_run.out / "site")


def test_pages_of_datasets_outside_the_report_are_removed(tmp_path: Path) -> None:
    argv = ("--metric", "length", "--draws", "0", "--dataset", "esl")
    run(tmp_path, *argv, "--dataset", "ncm")
    (tmp_path / "site" / "mine.txt").write_text("kept")
    run(tmp_path, *argv)
    assert [path.name for path in (tmp_path / "site" / "dataset").iterdir()] == ["esl.html"]
    assert (tmp_path / "site" / "mine.txt").exists()


UNCHANGED = "nothing has changed since these results were written"


@pytest.fixture
def again(tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that repeats one command, with more flags if there are any; no WordNet is shipped."""
    monkeypatch.setitem(LOCATIONS, "wordnet", lambda home: [resources.path(home, "wordnet")])
    argv = ("run", "--dataset", "dailydialog-gupta", "--limit", "20", "--draws", "0", "--examples", "0", "--out",
            tmp_path / "out", *flags("--metric", ("length", "meteor", metric(tmp_path, "signs"))))
    return lambda *more: invoke(*argv, *more).out


def test_nothing_is_done_again_if_nothing_has_changed(again: Callable[..., str], tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    first = again()
    assert UNCHANGED not in first
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    monkeypatch.setattr("harness.commands.run.run_plan", None)
    assert again() == first.replace("2 scored, 0 already", "0 scored, 2 already") + UNCHANGED + "\n"
    assert [json.loads(line)["metric"] for line in again("--json").splitlines()].count("signs") == 3
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == times


def test_a_run_waits_for_another_that_writes_to_the_same_folder(tmp_path: Path) -> None:
    with exclusive(Files(tmp_path), print), start(*FEW, "--dataset", "esl", "--out", str(tmp_path),
                                                 "--store", str(tmp_path / "store")) as process:
        assert process.stderr is not None
        assert any(f"{tmp_path}: in use" in line for line in process.stderr)
        assert not (tmp_path / "report").exists()
        process.kill()


def test_every_change_is_noticed(again: Callable[..., str], home: Path, tmp_path: Path,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs, outputs, and a resource that was missing; modification times do not matter."""
    again()
    out, wordnet = tmp_path / "out", resources.path(home, "wordnet")
    page, report = out / "site" / "index.html", out / "report" / "report.json"
    score = next(out.glob("scores/*/*.parquet"))
    wordnet.parent.mkdir(parents=True)
    changes: dict[str, Callable[[], object]] = {
        "a page is cut": lambda: page.write_bytes(page.read_bytes()[:-1000]),
        "the report is edited": lambda: report.write_bytes(report.read_bytes() + b" "),
        "the state is cut": lambda: (out / "state.json").write_text("{"),
        "a plug-in is edited": lambda: metric(tmp_path, "signs", "right = [1 + one for one in right]"),
        "a dataset is imported": lambda: store.save(datasets.load("dailydialog-gupta", home), home),
        "a missing resource arrives": lambda: wordnet.write_bytes(b"no archive")}
    score.with_name("another-0.parquet").write_bytes(b"scores of another run do not matter")
    for name, change in changes.items():
        assert UNCHANGED in again(), f"before {name}"
        change()
        assert UNCHANGED not in again(), name
    assert UNCHANGED not in again(), "only scoring shows that the resource is broken, so it is tried again"
    wordnet.unlink()
    assert UNCHANGED not in again("--seed", "1")
    assert UNCHANGED not in again("--seed", "1", "--rescore")
    os.utime(page, (0, 0))
    assert UNCHANGED in again("--seed", "1")
    monkeypatch.setattr(unchanged, "_installed_packages", lambda: ["evaluate-1.0.dist-info"])
    assert UNCHANGED not in again("--seed", "1")


def test_metrics_without_models_come_first(tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed while a model reads leaves a board that says what it lacks; the next run completes it."""
    pytest.importorskip("torch")
    command = ["run", "--dataset", "dailydialog-gupta", "--limit", "5", "--metric", "length", "--metric", "cosine",
               "--out", tmp_path]
    page = tmp_path / "site" / "index.html"
    with monkeypatch.context() as patch:
        patch.setattr("metrics.embedding.cosine.Cosine.score", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        assert f"first board, 1 of 2 metrics\nleaderboard: {page}\n" in invoke(*command, status=130).err
    assert "first board, 1 of 2 metrics" in page.read_text()
    assert "first board" not in invoke(*command).err + page.read_text()


def test_adding_a_metric_gives_the_bytes_of_a_new_run(tmp_path: Path) -> None:
    argv = ("--metric", "bleu", "--metric", "length", "--dataset", "dailydialog-gupta", "--limit", "30", "--draws", "9")
    kept, fresh = tmp_path / "kept", tmp_path / "fresh"
    run(kept, *argv)
    run(kept, *argv, "--with", "distinct")
    shutil.copytree(kept / "scores", fresh / "scores")  # they contain the time that scoring took
    run(fresh, *argv, "--with", "distinct")
    assert [tree(kept / part) for part in ("report", "site")] == [tree(fresh / part) for part in ("report", "site")]
