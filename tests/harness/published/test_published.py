"""Published tables, a run compared with them, and exhibits, which read back as written."""

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import published, studies
from harness.cli import main
from harness.commands import study
from harness.published import TEST_SETS, Tables, boards, exhibit, ranks_of
from harness.results import entries, exhibits, files, rows
from harness.results.exhibits import Exhibit, Grid
from harness.results.rows import Results
from harness.studies import Findings

QUALITIES = {"convai2-grade": {"relevance": "relevance"}, "fed-turn": {"Overall": "overall", "Relevant": "relevance"}}
CONSTANT = {"x": 0.9, "y": 0.8}


def made(qualities: Mapping[str, Mapping[str, str]], columns: Mapping[str, tuple[float, ...] | float], *,
         origin: str = "imported", options: Mapping[str, object] | None = None) -> Results:
    """Make a run on datasets with these qualities and dimensions; a metric has a value per quality, or one for all."""
    datasets = tuple(entries.DatasetEntry(name, name, "dev", "turn", origin, name, 9, 9, tuple(
        entries.QualityEntry(quality, dimension, 1, 5, 9) for quality, dimension in dimensions.items()), "l", "c")
        for name, dimensions in qualities.items())
    metrics = tuple(entries.MetricEntry(name, name, "toy", (name,), ("turn",), name) for name in columns)
    targets = [(name, quality) for name, dimensions in qualities.items() for quality in dimensions]
    correlations = tuple(rows.Correlation(*target, name, name, statistic, 9, value * factor, 0.1, 0, 1)
                         for name, values in columns.items() for target, value in zip(
                             targets, values if isinstance(values, tuple) else [values] * len(targets), strict=True)
                         for statistic, factor in (("spearman", 1.0), ("pearson", 0.5)))
    run = rows.Run("1", None, 0, "cpu", dict(options or {}), "3", "linux", {}, "harness run --all")
    return Results(run, datasets, metrics, correlations, ())


def report(*names: str, columns: Mapping[str, float] = CONSTANT, **more: Any) -> Results:
    """Make a run on these datasets, whose columns have the same value everywhere."""
    return made({name: {f"q{number}": "overall" for number in range(4 if name.startswith("dstc10") else 1)}
                 for name in names}, columns, **more)


def learned(results: Results, dataset: str) -> Results:
    """Mark all metrics as fitted on a dataset."""
    return replace(results, metrics=tuple(replace(entry, learned_on=(dataset,)) for entry in results.metrics))


def grid(results: Results, name: str) -> Grid:
    return next(grid for grid in exhibit.challenge(results).grids if grid.name == name)


def test_published_tables_keep_every_row_and_digit() -> None:
    sizes = {"dstc10": 238, "mmecrs": 108, "dynaeval": 302, "deb": 256, "yeh2021": 670, "finedeval": 31,
             "dstc11": 16, "dstc12": 15}
    assert sizes.keys() == set(published.NAMES)
    for name, size in sizes.items():
        table = Tables.of(name).rows
        assert len(table) == len(set(table)) == size
        assert len({row.source for row in table}) == 1
        assert sum("uncertain" in row.note for row in table) == (33 if name == "deb" else 0)
    assert [str(row.value) for row in Tables.of("dstc10").rows if (row.metric, row.table, row.dataset) == (
        "Team 3", "Table 2", "all")] == ["0.2020"], "trailing zeros are digits"


def test_tied_rows_share_the_first_place_and_incomplete_ones_cannot_win() -> None:
    first = {(board.name.partition(" (")[0], rule): [name for name, standing in ranks.items() if standing.rank == 1]
             for board in boards() for rule, ranks in board.ranks().items() if rule in ("test", "dev")}
    assert first == {
        ("test, 5 datasets", "test"): ["Team 5"], ("test, 5 datasets", "dev"): ["Team 1"],
        ("test, 11 cells", "test"): ["MME-CRS"], ("test, 11 cells", "dev"): ["Top 3"],
        ("dev, 14 datasets", "test"): ["Team 7"], ("dev, 14 datasets", "dev"): ["Team 7"]}
    a, b = ("a", "p"), ("b", "p")
    toy = ranks_of({"x": {a: 0.1, b: 0.2}, "y": {a: 0.2, b: 0.1}, "z": {a: 0.9}}, {})["test"]
    assert {name: standing.rank for name, standing in toy.items()} == {"x": 1, "y": 1, "z": None}


def test_means_are_within_then_over_datasets() -> None:
    """A missing target leaves no mean."""
    columns = {"aaa": (0.9, math.nan, 0.3), "deb": (0.5, 0.1, 0.3), "zzz": (0.6, 0.7, 0.7)}
    first, row, last = exhibit.gather(made(QUALITIES, columns), "dev", exhibit.TURNS)
    assert (row.column, row.sets["fed-turn"]) == ("deb", pytest.approx(0.2))  # (0.1 + 0.3) / 2
    assert row.mean == pytest.approx(0.35)  # (0.5 + 0.2) / 2, not 0.9 / 3
    assert (first.column, last.column, last.complete, last.sets["convai2-grade"]) == ("zzz", "aaa", False, 0.9)
    assert math.isnan(last.sets["fed-turn"])


def test_published_qualities_are_matched_by_name_or_dimension() -> None:
    """Values of GRADE and DynaEval on their own and other datasets; none where a metric learned from ratings."""
    results = made(QUALITIES, {"dynaeval": (0.4, 0.1, 0.3), "grade": (0.5, 0.2, 0.6)})
    pairs = {(column, printed.dataset, printed.quality): (str(printed.value), value, over)
             for column, printed, value, over in exhibit.printed_beside(results)}
    assert pairs["dynaeval", "fed-turn", "relevance"] == ("0.265", 0.3, "Relevant")
    assert pairs["dynaeval", "fed-turn", "not stated"] == ("0.323", 0.1, "Overall")
    assert pairs["grade", "convai2-grade", "not stated"] == ("0.571", 0.5, "relevance")
    assert ("dynaeval", "fed-turn", "fluency") not in pairs
    assert {printed.dataset for _, printed, _, _ in exhibit.printed_beside(learned(results, "fed-turn"))} == {
        "convai2-grade"}
    assert not list(exhibit.printed_beside(made(QUALITIES, {"grade": (0.5, 0.2, 0.6)}, origin="sample")))


def test_published_aggregations_stand_beside_the_same_of_this_run() -> None:
    """Aggregations of turn scores that the run lacks, such as the sum, are left out; the best of four has its note."""
    results = made({"fed-dial": {"Coherent": "coherence"}}, {"usr": 0.3, "usr:max": 0.2, "usr[encoder=x]:product": 0.1})
    shown = {(row[0], row[4], row[5], row[-1].split()[-1]) for row in grid(results, "beside-print").rows
             if row[2] == "coherence"}
    assert shown == {("usr", "0.194", "0.300", "strategies"), ("usr", "0.194", "0.300", "mean"),
                     ("usr:max", "0.021", "0.200", "max"), ("usr[encoder=x]:product", "0.158", "0.100", "product")}


def test_teams_are_ordered_by_their_turn_level_mean() -> None:
    means = {row.column: round(row.mean, 3) for row in exhibit.teams(exhibit.TURNS)}
    assert (means["MME-CRS"], means["Team 8"], means["Deep AM-FM"], len(means)) == (0.450, 0.447, 0.164, 10)
    assert math.isnan(exhibit.teams(("fed-turn", "nowhere"))[0].mean)
    assert exhibit.plain_name("bert-score-f[references=max]") == exhibit.plain_name("BERTScore")


@pytest.mark.slow
def test_cosine_of_the_embedded_encoder_has_its_known_value(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert main(["import", str(real_data / "human_evaluation_data")]) == 0
    assert main(["run", "--all", "--data", "real", "--metric", "cosine", "--draws", "0", "--out", str(tmp_path)]) == 0
    (row,) = exhibit.gather(files.read(tmp_path / "report"), "dev", exhibit.TURNS)
    assert row.mean == pytest.approx(0.268, abs=0.0005)


HOSTILE = "<script>\u202e\x1b[31m\x00 „ü“ 𝔘"


def hostile(name: str = "dimensions") -> Exhibit:
    grid = Grid(HOSTILE, "caption", ("a", HOSTILE), ((HOSTILE, "1"), ("", "")), HOSTILE, shaded=True)
    return Exhibit(name, "study", HOSTILE, "lead", "harness study dimensions", (grid,), (HOSTILE,))


def put(out: Path, name: str, content: bytes) -> Path:
    path = out / "studies" / name / exhibits.FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_exhibits_read_back_and_broken_ones_are_reported(tmp_path: Path) -> None:
    path = put(tmp_path, "dimensions", exhibits.encoded(hostile()))
    whole = exhibits.read(put(tmp_path, "whole", exhibits.encoded(hostile())))
    assert exhibits.read_all(tmp_path) == ((hostile(), whole), ())
    assert whole == hostile("whole"), "its name is that of its folder"
    short = [{"name": "", "caption": "", "head": ["a"], "rows": [["a", "b"]], "data": ""}]
    changes: list[tuple[dict[str, object], str]] = [
        ({"schema": 1}, "schema"), ({"kind": "challenge"}, "kind"), ({"title": 3}, "title"), ({"grids": short}, "head"),
        ({"grids": [short[0] | {"shaded": "x"}]}, "shaded")]
    encoded = json.loads(exhibits.encoded(hostile()))
    for content, why in (*((json.dumps(encoded | change).encode(), why) for change, why in changes), (b"", "JSON")):
        path.write_bytes(content)
        studies, (line,) = exhibits.read_all(tmp_path)
        assert [exhibit.name for exhibit in studies] == ["whole"]
        assert why in line
        assert "harness study dimensions" in line


def test_files_of_a_study(tmp_path: Path) -> None:
    table = Grid("real", "Caption", ("a",), (("<1>",),), "real data")
    written = studies.files("dimensions", "C", Findings(
        (table,), ("remark",), {"pair": [{"a": math.nan, "b": [-0.0, "=x"], "c": "=x"}], "none": []},
        ("m: broke",)))
    assert written.keys() == {"dimensions.md", "exhibit.json", "pair.csv"}
    assert written["pair.csv"] == b"a,b,c\n,\"[0.0, \"\"=x\"\"]\",'=x\n"
    assert "| \\<1\\> |" in written["dimensions.md"].decode()
    assert replace(exhibits.read(put(tmp_path, "dimensions", written[exhibits.FILE])), title="T", lead="L") == Exhibit(
        "dimensions", "study", "T", "L", "C", (table,), (
            "remark", "Failed and left out: m: broke."))


def test_commands_of_studies_name_no_folders() -> None:
    parser = argparse.ArgumentParser()
    study.configure(parser)
    args = parser.parse_args(["dailydialogpp", "--metric", "deb[negatives=both]", "--from", "/home/x/data/dd",
                              "--limit", "3", "--encoder", "/models/bert", "--out", "/tmp/out", "--draws", "400"])
    assert study.command(args) == (
        "harness study dailydialogpp --metric 'deb[negatives=both]' --limit 3 --from dd --encoder ./bert")


def test_exhibit_names_the_winner_under_each_rule() -> None:
    sample = report("fed-turn", origin="sample")
    winners = [(row[1].partition(":")[0], *row[2:]) for row in grid(sample, "winners").rows]
    assert winners[:3] == [
        ("test rule", "Team 5", "0.2964", "Team 8", "0.2822", "10"),
        ("dev rule", "Team 1", "0.3056", "Team 5", "0.2849", "10"), ("Borda", "Team 5", "39", "Team 1", "38", "10")]
    assert grid(sample, "dstc10-Table 2").rows[0][:7] == ("Team 5", "0.2963", "1", "0.2964", "1", "0.2849", "2")


def test_run_is_compared_with_published_numbers_on_the_same_datasets() -> None:
    shown = grid(report("fed-turn", "persona-usr"), "dev-here")
    assert shown.rows[0] == ("x", "this run", "0.900", "0.900", "0.900")
    (baseline,) = [row for row in shown.rows if row[0] == "Deep AM-FM"]
    assert baseline == ("Deep AM-FM", "challenge, as published", "0.098", "0.144", "0.051")  # of 0.1442 and 0.0509
    assert [row[:3] for row in grid(report(*TEST_SETS), "test-here").rows[:3]] == [
        ("x", "this run", "0.9000"), ("y", "this run", "0.8000"), ("Team 5", "challenge, as published", "0.2963")]
    assert "test-here" not in {grid.name for grid in exhibit.challenge(learned(report(*TEST_SETS), "esl")).grids}


def test_sample_and_partial_runs_are_not_compared_with_papers() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"origin": "sample"}, "the bundled sample"), ({"options": {"limit": 5}}, "--limit"),
        ({"options": {"qualities": ["relevance"]}}, "--quality"))
    for more, remark in cases:
        shown = exhibit.challenge(report("fed-turn", **more))
        assert not [grid for grid in shown.grids if grid.name.endswith("-here")]
        assert remark in shown.remarks[0]
