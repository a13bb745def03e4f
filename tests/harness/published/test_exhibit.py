"""Exhibits: kept by a study, read back whatever is in them, and the challenge beside a run."""

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from harness import studies
from harness.commands import study
from harness.commands._output import with_exhibits
from harness.published.exhibit import challenge
from harness.results import exhibits
from harness.results.rows import Correlation, DatasetEntry, Exhibit, Grid, MetricEntry, QualityEntry, Results, Run
from harness.studies import Findings

HOSTILE = "<script>\u202e\x1b[31m\x00 „ü“ 𝔘"
TEST = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}


def exhibit(name: str = "measures") -> Exhibit:
    grid = Grid(HOSTILE, "caption", ("a", HOSTILE), ((HOSTILE, "1"), ("", "")), HOSTILE)
    return Exhibit(name, "study", HOSTILE, "lead", "harness study measures", (grid,), (("<svg/>", HOSTILE),),
                   (HOSTILE,))


def put(out: Path, name: str, content: bytes) -> Path:
    path = out / "studies" / name / exhibits.FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def report(*names: str, origin: str = "imported", options: dict[str, object] | None = None) -> Results:
    """A run of one metric with two columns on some datasets; x is 0.9 everywhere and y 0.8."""
    entries = tuple(DatasetEntry(
        name, name, "dev", "turn", origin, name, 10, 10,
        tuple(QualityEntry(f"q{number}", "overall", 1, 5, 10) for number in range(TEST.get(name, 1))), "", "")
        for name in names)
    return Results(
        run=Run("0", None, 0, "cpu", options or {}, "3.11", "Linux", {}), datasets=entries,
        metrics=(MetricEntry("m", "M", "lexical", ("x", "y"), (), ("turn",), "", "item", "", "m"),),
        correlations=tuple(Correlation(entry.name, quality.name, "m", column, "spearman", 10, value, 0.1, 0.0, 1.0)
                         for entry in entries for quality in entry.qualities
                         for column, value in (("x", 0.9), ("y", 0.8))),
        ranking=())


def grid(found: Exhibit, name: str) -> Grid:
    (one,) = [grid for grid in found.grids if grid.name == name]
    return one


def test_an_exhibit_reads_back_as_it_was_and_what_is_none_is_one_line_that_says_why(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path, "measures", exhibits.encoded(exhibit()))
    whole = exhibits.read(put(tmp_path, "whole", exhibits.encoded(exhibit())))
    assert exhibits.gathered(tmp_path) == ((exhibit(), whole), ())
    assert whole == exhibit("whole"), "it is called what its folder is called"
    short = [{"name": "", "caption": "", "head": ["a"], "rows": [["a", "b"]], "data": ""}]
    changes: list[tuple[dict[str, object], str]] = [
        ({"schema": 2}, "not of form 1"), ({"kind": "challenge"}, "kind"), ({"grids": {}}, "grids: holds {}"),
        ({"title": 3}, "title: should be text, is 3"), ({"grids": ["x"]}, "should be an object"),
        ({"lead": "\ud800"}, "lead: should be"), ({"pictures": [["<svg/>"]]}, "should have 2 entries, has 1"),
        ({"grids": short}, "as long as its head")]
    encoded = json.loads(exhibits.encoded(exhibit()))
    for content, why in (*((json.dumps(encoded | change).encode(), why) for change, why in changes),
                         (b"", "not JSON"), (b"\xff", "UTF-8"), (b"[]", "object"), (b"[" * 100_000, "not JSON")):
        path.write_bytes(content)
        both = with_exhibits(report("fed-turn", origin="sample"), tmp_path).exhibits
        assert [each.name for each in both] == ["whole", "dstc10"]
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("left out: ")
        assert why in line
        assert "harness study measures" in line


def test_what_is_kept_of_a_study(tmp_path: Path) -> None:
    table = Grid("real", "Caption", ("a",), (("<1>",),), "real data")
    kept = studies.files("measures", "C", Findings(
        (table,), ("remark",), {"pair": [{"a": math.nan, "b": [-0.0, "=x"], "c": "=x"}], "none": []},
        (("<svg/>", "In words."),), ("m: broke",)))
    assert {name: kept[name] for name in kept if not name.endswith(("md", "json"))} == {
        "pair.csv": b"a,b,c\n,\"[0.0, \"\"=x\"\"]\",'=x\n", "measures.svg": b"<svg/>"}
    assert "| \\<1\\> |" in kept["measures.md"].decode()
    found = exhibits.read(put(tmp_path, "measures", kept[exhibits.FILE]))
    assert found.lead.startswith("How much the choice of a measure matters:")
    assert replace(found, title="T", lead="L") == Exhibit(
        "measures", "study", "T", "L", "C", (table,), (("<svg/>", "In words."),),
        ("remark", "Failed, and not in the study: m: broke."))


def test_the_command_of_a_study_is_without_the_folders_of_a_machine() -> None:
    parser = argparse.ArgumentParser()
    study.configure(parser)
    args = parser.parse_args(["dailydialogpp", "--metric", "deb[negatives=both]", "--from", "/home/x/data/dd",
                              "--limit", "3", "--encoder", "/models/bert", "--out", "/tmp/out", "--json", "--draws",
                              "400"])
    assert study.command(args) == (
        "harness study dailydialogpp --metric 'deb[negatives=both]' --limit 3 --from dd --encoder ./bert")


def test_the_challenge_says_who_wins_under_which_rule() -> None:
    found = challenge(report("fed-turn", origin="sample"))
    rows = [(row[1].partition(":")[0], row[2]) for row in grid(found, "winners").rows]
    assert rows[:3] == [("test rule", "Team 5"), ("dev rule", "Team 1"), ("Borda", "Team 5")]
    first, *_ = grid(found, "dstc10-Table 2").rows
    assert first[:7] == ("Team 5", "0.2963", "1", "0.2964", "1", "0.2849", "2")
    assert grid(found, "checks").rows[-1][0] == "all"
    assert sum(int(number) for number in grid(found, "checks").rows[-1][1:]) == 168
    assert len(grid(found, "differs").rows) == int(grid(found, "checks").rows[-1][3])


def test_a_run_stands_beside_the_challenge_on_the_same_real_datasets_alone() -> None:
    found = challenge(report("fed-turn", "persona-usr"))
    shown = grid(found, "dev-here")
    assert shown.head == ("metric or team", "whose", "mean of 2 turn-level datasets", "persona-usr", "fed-turn")
    assert shown.rows[0] == ("x", "this run", "0.900", "0.900", "0.900")
    (baseline,) = [row for row in shown.rows if row[0] == "Deep AM-FM"]
    assert baseline == ("Deep AM-FM", "challenge, as printed", "0.098", "0.144", "0.051")  # of 0.1442 and 0.0509
    assert "2 of the challenge's 14 development datasets" in shown.data


def test_a_picture_has_the_printed_mean_of_a_metric_beside_that_of_the_run() -> None:
    run = report("fed-turn", "persona-usr")
    named = replace(run, metrics=(replace(run.metrics[0], columns=("deep-am-fm", "y"), parameters=3_000_000),),
                    correlations=tuple(replace(row, column="deep-am-fm") if row.column == "x" else row
                                       for row in run.correlations))
    ((svg, words),) = challenge(named).pictures
    assert words.endswith("deep-am-fm, 3 M here printed 0.10, here 0.90 on 2.")  # of 0.1442 and 0.0509
    assert svg.count("<circle") == 4, "two of the line, two of the key"
    assert challenge(run).pictures == ()


def test_the_sample_and_parts_of_datasets_stand_beside_nothing() -> None:
    for run in (report("fed-turn", origin="sample"), report("fed-turn", options={"limit": 5})):
        found = challenge(run)
        assert not [one for one in found.grids if one.name.endswith("-here")]
        assert "nothing of it stands" in found.remarks[0]


def test_a_run_with_all_test_datasets_stands_beside_the_teams_there() -> None:
    given = report(*TEST)
    shown = grid(challenge(given), "test-here")
    assert [row[:3] for row in shown.rows[:3]] == [
        ("x", "this run", "0.9000"), ("y", "this run", "0.8000"), ("Team 5", "challenge, as printed", "0.2963")]
    learned = replace(given, metrics=(replace(given.metrics[0], learned_on=("esl",)),))
    assert all(row[1] != "this run" for row in grid(challenge(learned), "test-here").rows)
