"""Results of a run as DataFrames."""

import dataclasses
import doctest
import functools
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.errors import BadRecord
from harness import api
from harness.api import decisions, estimate, load, power, results, run, runs, score, scores, to_datasets
from harness.cli import main
from harness.errors import BadConfig, BadReport
from tests.conftest import Invoke
from tests.suite_run import SuiteRun

pandas = pytest.importorskip("pandas")


def test_tables_have_every_row_of_the_results(suite_run: SuiteRun) -> None:
    results = load(str(suite_run.out))
    rows = suite_run.results
    for table, expected in ((results.correlations(), rows.correlations), (results.rankings(), rows.ranking),
                            (results.reliability(), rows.reliability), (results.decisions(), rows.decisions),
                            (results.firmness(), rows.firmness), (results.disagreement(), rows.disagreement),
                            (results.comparisons(), [row for target in rows.comparisons for row in target])):
        assert len(table) == len(expected)
        for number in (0, len(expected) - 1):
            values = pandas.Series(dataclasses.asdict(expected[number]))
            assert [*table[values.index].iloc[number].fillna("")] == [*values.fillna("")]
    correlations = results.correlations()
    assert set(correlations["split"]) == {"dev", "test"}
    assert set(correlations.query("quality == 'Fluent'")["dimension"]) == {"fluency"}
    fluent = results.leads("length", "distinct-1", dimension="fluency")
    assert (list(fluent["board"]), list(fluent["targets"])) == (["dev"], [1])
    assert fluent.equals(results.leads("length", "distinct-1", dimension="Fluent"))
    leads = results.leads(board="dev")
    assert (leads["better"] == leads["better"][0]).all()
    assert (leads["established"] == (leads["p"] < 0.05)).all()
    ranked = results.wmt25(["persona-usr"])
    assert set(ranked["split"]) == {"dev"}
    assert [*ranked["column"][-2:]] == ["constant", "random numbers"]
    assert ranked["cluster"][:-2].min() == 1
    assert ranked["cluster"][-2:].isna().all()
    _, *boards = results._repr_html_().split("<p><b>")
    assert len(boards) == len({(row.board, row.origin) for row in rows.ranking})
    assert all("simulated raters" in board and "<td>" in board for board in boards)


def test_leads_leave_out_boards_without_the_column(tmp_path: Path) -> None:
    mine = [{"prompt": f"Q {n}?", "answer": "yes " * (1 + n % 5), "reference": "yes yes", "fun": n} for n in range(9)]
    results = run(["bleu", "length", "random"], ["fed-turn", mine], draws=0, out=tmp_path / "o", home=tmp_path / "h")
    assert set(results.leads()["board"]) >= {"own", "dev"}
    assert set(results.leads("length", "bleu-1")["board"]) == set(results.leads("bleu-1")["board"]) == {
        "own", "own:fun"}


def test_leads_compare_no_column_with_itself(suite_run: SuiteRun) -> None:
    results = load(suite_run.out)
    leader = results.leads(board="dev")["better"][0]
    assert results.leads(second=leader, board="dev").empty
    with pytest.raises(BadConfig):
        results.leads("length", "length")


def test_items_have_ratings_scores_and_texts(suite_run: SuiteRun) -> None:
    results = load(suite_run.out, os.environ["HARNESS_HOME"])
    items = results.items("persona-usr", texts=True)
    assert score("bleu", items)["bleu-1"].tolist() == pytest.approx(items["score:bleu-1"].tolist(), nan_ok=True)
    points = next(points for points in suite_run.results.points if points.dataset == "persona-usr")
    assert items["human:Overall"].tolist() == points.human["Overall"].tolist()
    entries = tuple(dataclasses.replace(entry, fingerprint="0") for entry in results.rows.datasets)
    other = dataclasses.replace(results, rows=dataclasses.replace(results.rows, datasets=entries))
    with pytest.raises(BadReport, match="persona-usr"):
        other.items("persona-usr", texts=True)


def test_wrong_arguments_are_refused_by_name_or_the_nearest_is_suggested(suite_run: SuiteRun, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"prompt": ["Hi", "Tea?"], "answer": ["Yo", "Green"]})
    results, try_run = load(suite_run.out), functools.partial(run, out=tmp_path)
    for message, call in (
            ("'fed-turn'", lambda: results.items("fed-tunr")), ("'length'", lambda: results.leads("lenght")),
            ("'sample'", lambda: try_run("length", smaple=3)), ("'dev'", lambda: results.leads(board="dve")),
            ("'fluency'", lambda: results.leads(dimension="fluencie")),
            ("'persona-usr'", lambda: power(results, "persona-urs")),
            ("'fed-turn'", lambda: results.leads(datasets=["fed-tunr"])),
            ("metric", lambda: try_run([], "fed-turn")), ("metric", lambda: try_run([None])),
            ("dataset", lambda: try_run("length", [])), ("table-1", lambda: try_run("length", [None])),
            ("fun", lambda: try_run("length", {"prompt": "Hi", "answer": "Yo", "fun": 1})),
            ("table", lambda: try_run("length", frame)),
            ("sample", lambda: try_run("length", "fed-turn", sample="x")),
            ("seed", lambda: try_run("length", "fed-turn", seed=-1)),
            ("memory", lambda: try_run("length", "fed-turn", executor="ray", memory="much")),
            ("quality", lambda: try_run("length", "fed-turn", quality=5)),
            ("dry_run", lambda: try_run("length", "fed-turn", dry_run=True)),
            ("by", lambda: estimate("fed-turn", "length", by="raters", out=tmp_path)),  # type: ignore[arg-type]
            ("between", lambda: power(results, "fed-turn", between="x")),  # type: ignore[arg-type]
            ("pair", lambda: power(results, "persona-usr", pair=("length",))),
            ("folder", lambda: load(5)), ("results", lambda: power("results", "fed-turn")),  # type: ignore[arg-type]
            ("name", lambda: to_datasets(5)),  # type: ignore[arg-type]
            ("dataset", lambda: power(results, ["persona-usr"])),  # type: ignore[arg-type]
            *((name, functools.partial(power, results, "persona-usr", **{name: value})) for name, value in (
                ("pair", ("length", "length")), ("pair", "length"), ("contexts", [1]), ("contexts", [2.5]),
                ("contexts", 5), ("raters", [0]), ("raters", [-1]), ("raters", [None]))),
            ("overall", lambda: power(results, "persona-usr", "Overal"))):
        with pytest.raises((BadConfig, BadRecord), match=message):
            call()


def test_power_takes_arrays_and_needs_three_ratings(suite_run: SuiteRun) -> None:
    results = load(suite_run.out)
    entries = tuple(dataclasses.replace(entry, qualities=tuple(
        dataclasses.replace(quality, rated=2) for quality in entry.qualities)) for entry in results.rows.datasets)
    few = dataclasses.replace(results, rows=dataclasses.replace(results.rows, datasets=entries))
    with pytest.raises(BadConfig):
        power(few, "persona-usr", "Overall")
    lists = power(results, "persona-usr", "Overall", contexts=[50, 60], raters=[2])
    assert lists.equals(power(results, "persona-usr", "Overall", contexts=np.array([50, 60]), raters=np.array([2.0])))


def test_run_equals_the_command_without_pages(tmp_path: Path, home: Path) -> None:
    results = run(["distinct", "length"], "fed-turn", sample=30, draws=20, out=tmp_path / "a")
    assert (home / "costs.json").is_file()
    assert not (tmp_path / "a" / "site").exists()
    assert main(["run", "--metric", "length", "--metric", "distinct", "--dataset", "fed-turn", "--sample", "30",
                 "--draws", "20", "--out", str(tmp_path / "b")]) == 0
    assert results.rows.run.command == load(tmp_path / "b").rows.run.command
    for name in ("correlations.parquet", "comparisons.parquet", "ranking.parquet", "reliability.parquet"):
        assert (tmp_path / "a" / "report" / name).read_bytes() == (tmp_path / "b" / "report" / name).read_bytes()


def test_a_run_names_the_results_that_it_replaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run without scores replaces none."""
    run("length", ["fed-turn", "persona-usr"], data="sample", draws=0, out=tmp_path).publish()
    skipped = run("bleu", "fed-turn", data="sample", out=tmp_path)
    with pytest.raises(BadConfig):
        skipped.publish()
    assert (tmp_path / "site" / "metric" / "length.html").exists()
    capsys.readouterr()
    run("length", "fed-turn", data="sample", draws=0, out=tmp_path)
    assert "persona-usr" in capsys.readouterr().err


def test_every_kind_of_table_gives_the_same_correlations(tmp_path: Path) -> None:
    rows = [{"question": f"Number {n}?", "text_b": "yes " * (7 * n % 5), "fun": n, "safe": n % 2} for n in range(6)]
    library = pytest.importorskip("datasets").Dataset.from_list(rows)
    frame = pandas.DataFrame(rows)
    frame.to_csv(tmp_path / "teas.csv", index=False)
    values = [run("length", tables, out=tmp_path / "out", home=tmp_path / "home", columns="response=text_b", draws=0)
              .correlations().query("statistic == 'spearman'")["value"].tolist()
              for tables in (rows, frame, library, [rows], [library], {"teas": library}, {"teas": iter(rows)},
                             [str(tmp_path / "teas.csv")], str(tmp_path / "teas.csv"))]
    assert len(values[0]) == 2
    assert values == values[:1] * len(values)
    missing = frame.assign(text_b=[None, None, *frame["text_b"][2:]])  # row 0 and row 5 are without text already
    results = run("length", {"mine": missing}, out=tmp_path / "out", home=tmp_path / "home", columns="response=text_b")
    assert set(results.correlations()["n"]) == {3}
    with pytest.raises(BadConfig):
        run("length", "fed-turn", out=tmp_path / "out", home=tmp_path / "home", columns="response=text_b")


def test_arguments_may_be_strings_and_numbers_of_numpy(tmp_path: Path) -> None:
    flags = {"quality": "overall", "sample": np.int64(9), "seed": np.int64(3), "draws": 0}
    results = run("length", "fed-dial", aggregate="sum", out=tmp_path, **flags)
    assert results.rows.run.seed == 3
    assert [results.rows.run.options[name] for name in ("sample", "aggregations")] == [9, ["sum"]]


def test_folders_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run("length", "fed-turn", draws=0, out="~/out").out == load("~/out").out == tmp_path / "out"
    assert load("~/out").publish("~/site") == (tmp_path / "site" / "index.html").resolve()


def test_lists_in_a_frame_are_read_like_those_in_its_file(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}], "answer": "Tea",
             "references": ["Ya", "Ye"], "ratings": {"fun": [n, n + 1]}} for n in range(3)]
    pandas.DataFrame(rows).to_parquet(file := tmp_path / "file.parquet")
    frame = pandas.read_parquet(file)
    tables = {"file": str(file), "frame": frame, "dicts": frame.to_dict("records")}
    run("length", tables, out=tmp_path / "out", home=tmp_path / "home", draws=0)
    stored = [registry.load(name, tmp_path / "home") for name in tables]
    assert [len(stored[0].items[0].context), len(stored[0].items[0].references)] == [2, 2]
    assert [(dataset.items, dataset.ratings) for dataset in stored] == [(stored[0].items, stored[0].ratings)] * 3


def test_printing_and_publishing_are_those_of_the_commands(suite_run: SuiteRun, tmp_path: Path, invoke: Invoke) -> None:
    results = load(suite_run.out)
    assert str(results).strip() == invoke("report", "--out", suite_run.out).out.strip()
    assert results.publish(tmp_path / "site") == (tmp_path / "site" / "index.html").resolve()
    for page in ("index.html", "metric/length.html"):
        assert (tmp_path / "site" / page).read_bytes() == (suite_run.out / "site" / page).read_bytes()


def test_examples_of_the_python_interface_give_the_printed_results(tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(["length", "distinct"], "fed-turn", draws=0, permutations=20)
    tried = 0
    for module in (api, decisions, results, runs, scores):
        counts = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        assert not counts.failed, module.__name__
        tried += counts.attempted
    assert tried > 15
