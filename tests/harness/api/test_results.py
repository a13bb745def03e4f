"""Results of a run as DataFrames."""

import dataclasses
import os
from pathlib import Path

import pytest

from harness.api import estimate, load, power, run, score
from harness.cli import main
from harness.errors import BadConfig, BadReport
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
    assert "simulated raters" in results._repr_html_()


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


def test_unknown_names_suggest_the_nearest(suite_run: SuiteRun, tmp_path: Path) -> None:
    results = load(suite_run.out)
    for nearest, call in (
            ("fed-turn", lambda: results.items("fed-tunr")), ("length", lambda: results.leads("lenght")),
            ("sample", lambda: run("length", smaple=3, out=tmp_path)), ("dev", lambda: results.leads(board="dve")),
            ("fluency", lambda: results.leads(dimension="fluencie")),
            ("fed-turn", lambda: results.leads(datasets=["fed-tunr"]))):
        with pytest.raises(BadConfig, match=f"'{nearest}'"):
            call()
    with pytest.raises(BadConfig, match="metric"):
        run([], "fed-turn", out=tmp_path)


def test_run_equals_the_command(tmp_path: Path) -> None:
    results = run(["distinct", "length"], "fed-turn", sample=30, draws=20, out=tmp_path / "a")
    assert main(["run", "--metric", "length", "--metric", "distinct", "--dataset", "fed-turn", "--sample", "30",
                 "--draws", "20", "--out", str(tmp_path / "b")]) == 0
    assert results.rows.run.command == load(tmp_path / "b").rows.run.command
    for name in ("correlations.parquet", "comparisons.parquet", "ranking.parquet", "reliability.parquet"):
        assert (tmp_path / "a" / "report" / name).read_bytes() == (tmp_path / "b" / "report" / name).read_bytes()


def test_tables_of_ratings_in_memory_are_run(tmp_path: Path) -> None:
    frame = pytest.importorskip("pandas").DataFrame({
        "prompt": ["Hi", "Tea?", "Where?"], "answer": ["Yo", "Green tea please", None],
        "fun": [1, 3, 2], "kind": [float("nan"), 2, 3]})
    results = run(["length"], {"teas": frame}, out=tmp_path / "one", home=tmp_path / "home", examples=0)
    assert set(results.correlations()["dataset"]) == {"teas"}
    rows = [{"question": f"Number {n}?", "reply": "yes " * n, "rater_a": n, "rater_b": n % 3} for n in range(1, 6)]
    results = run(["length"], [rows], out=tmp_path / "two", home=tmp_path / "home", examples=0)
    assert results.correlations().query("statistic == 'spearman'")["n"].tolist() == [5]


def test_every_kind_of_table_gives_the_same_correlations(tmp_path: Path) -> None:
    rows = [{"question": f"Number {n}?", "text_b": "yes " * (7 * n % 5), "fun": n, "safe": n % 2} for n in range(6)]
    library = pytest.importorskip("datasets").Dataset.from_list(rows)
    frame = pandas.DataFrame(rows)
    frame.to_csv(tmp_path / "teas.csv", index=False)
    values = [run("length", tables, out=tmp_path / "out", home=tmp_path / "home", columns="response=text_b", draws=0)
              .correlations().query("statistic == 'spearman'")["value"].tolist()
              for tables in (rows, frame, library, [rows], [library], {"teas": library}, [str(tmp_path / "teas.csv")],
                             str(tmp_path / "teas.csv"))]
    assert len(values[0]) == 2
    assert values == values[:1] * len(values)
    with pytest.raises(BadConfig, match="are for tables"):
        run("length", "fed-turn", out=tmp_path / "out", home=tmp_path / "home", columns="response=text_b")


def test_estimate_takes_a_table_in_memory(tmp_path: Path) -> None:
    rows = [{"context": f"hello {number}", "response": "tea " * (1 + number % 7), "system": "ab"[number % 2],
             "overall": 1 + number % 7 if number < 24 else None} for number in range(60)]
    estimates = estimate(pandas.DataFrame(rows), "length", out=tmp_path)
    assert list(estimates["system"]) == ["a", "b"]
    assert list(estimates["rated"]) == [12, 12]
    assert (estimates["high"] - estimates["low"] < estimates["ratings_high"] - estimates["ratings_low"]).all()


def test_power_has_a_row_per_contexts_and_raters(suite_run: SuiteRun) -> None:
    rows = power(load(suite_run.out), "persona-usr", "Overall", pair=("length", "distinct-2"), contexts=(40, 80))
    assert set(rows["quality"]) == {"Overall"}
    assert set(rows["contexts"]) >= {40, 80}
    with pytest.raises(BadConfig, match="'persona-usr'"):
        power(load(suite_run.out), "persona-urs")
