"""Measured figures and the challenge beside print: means within and over datasets; exhibits are read back as kept."""

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import studies
from harness.cli import main
from harness.commands import study
from harness.commands._output import with_exhibits
from harness.published import measured
from harness.published.exhibit import challenge as exhibit_of_challenge
from harness.published.measured import challenge, plain
from harness.results import exhibits, files
from harness.results.rows import (
    Correlation,
    DatasetEntry,
    Exhibit,
    Grid,
    HeatMap,
    MetricEntry,
    QualityEntry,
    Results,
    Run,
)
from harness.studies import Findings

QUALITIES = {"convai2-grade": {"relevance": "relevance"}, "fed-turn": {"Overall": "overall", "Relevant": "relevance"}}
CONSTANT = {"x": 0.9, "y": 0.8}


def made(qualities: Mapping[str, Mapping[str, str]], columns: Mapping[str, tuple[float, ...] | float], *,
         origin: str = "imported", options: Mapping[str, object] | None = None) -> Results:
    """A run on datasets of these qualities and their dimensions; a metric has a value for each quality, or the same."""
    datasets = tuple(DatasetEntry(name, name, "dev", "turn", origin, name, 9, 9, tuple(
        QualityEntry(quality, dimension, 1, 5, 9) for quality, dimension in own.items()), "l", "c")
        for name, own in qualities.items())
    metrics = tuple(MetricEntry(name, name, "toy", (name,), (), ("turn",), "", "item", "", name)
                    for name in columns)
    cells = [(name, quality) for name, own in qualities.items() for quality in own]
    correlations = tuple(Correlation(*cell, name, name, statistic, 9, value * factor, 0.1, 0, 1)
                         for name, values in columns.items() for cell, value in zip(
                             cells, values if isinstance(values, tuple) else [values] * len(cells), strict=True)
                         for statistic, factor in (("spearman", 1.0), ("pearson", 0.5)))
    run = Run("1", None, 0, "cpu", dict(options or {}), "3", "linux", {}, "harness run --all")
    return Results(run, datasets, metrics, correlations, ())


def make(columns: Mapping[str, tuple[float, ...]], **more: Any) -> Results:
    """Each column has a value for (convai2-grade, Overall, Relevant of fed-turn)."""
    return made(QUALITIES, columns, **more)


CONTROLS = {"cosine": (0.4, 0.2, 0.1), "length": (0.0, 0.3, 0.5)}


def rows(report: Results) -> dict[str, measured.MeasuredColumn]:
    return {row.column: row for row in measured.gather(report).rows}


def test_means_within_a_dataset_and_then_over_the_datasets_of_which_a_missing_cell_leaves_none() -> None:
    row = rows(make({"deb": (0.5, 0.1, 0.3)}))["deb"]
    assert row.sets["fed-turn"] == pytest.approx(0.2)  # (0.1 + 0.3) / 2
    assert row.mean == pytest.approx(0.35)  # (0.5 + 0.2) / 2, and not 0.9 / 3
    found = measured.gather(make({"aaa": (0.9, math.nan, 0.3), "deb": (-0.5, 0.1, 0.3), "zzz": (0.1, 0.1, 0.1)}))
    assert [row.column for row in found.rows] == ["zzz", "deb", "aaa"]
    last = found.rows[-1]
    assert not last.complete
    assert math.isnan(last.sets["fed-turn"])
    assert last.sets["convai2-grade"] == 0.9


def test_a_printed_quality_is_found_by_its_name_or_dimension_and_one_not_stated_is_the_overall() -> None:
    """GRADE and DynaEval as printed of their own and other datasets; nothing where ratings were learned."""
    made = make({"dynaeval": (0.4, 0.1, 0.3), "grade": (0.5, 0.2, 0.6)})
    beside = {(column, printed.dataset, printed.quality): (str(printed.value), value, over)
              for column, printed, value, over in measured.printed_beside(made)}
    assert beside["dynaeval", "fed-turn", "relevance"] == ("0.265", 0.3, "Relevant")
    assert beside["dynaeval", "fed-turn", "not stated"] == ("0.323", 0.1, "Overall")
    assert beside["grade", "convai2-grade", "not stated"] == ("0.571", 0.5, "relevance")
    assert ("dynaeval", "fed-turn", "fluency") not in beside
    learned = replace(made, metrics=tuple(replace(entry, learned_on=("fed-turn",)) for entry in made.metrics))
    assert {printed.dataset for _, printed, _, _ in measured.printed_beside(learned)} == {"convai2-grade"}
    assert not list(measured.printed_beside(make({"grade": (0.5, 0.2, 0.6)}, origin="sample")))


def test_the_teams_stand_by_their_mean_over_the_turn_level_datasets() -> None:
    means = {one.name: round(one.mean(measured.TURNS), 3) for one in challenge(measured.TURNS)}
    assert (means["MME-CRS"], means["Team 8"], means["Deep AM-FM"], len(means)) == (0.450, 0.447, 0.164, 10)
    assert list(means.values()) == sorted(means.values(), reverse=True)
    assert math.isnan(challenge(measured.TURNS)[0].mean(("fed-turn", "nowhere")))
    for column, name in (("bert-score-f", "BERTScore"), ("holistic-coherence", "HolisticEval"), ("usl-h", "USL-H"),
                         ("bleu-4[references=max]", "BLEU-4")):
        assert plain(column) == plain(name)


def test_a_run_of_a_part_cannot_stand_beside_print() -> None:
    for options, flag in (({"limit": 5}, "--limit"), ({"qualities": ["relevance"]}, "--quality")):
        assert measured.partial(make({"deb": (0, 0, 0)}, options=options)) == flag


@pytest.mark.slow
def test_the_cosine_of_the_embedded_encoder_has_its_known_figure(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert main(["import", str(real_data / "human_evaluation_data")]) == 0
    assert main(["run", "--all", "--data", "real", "--metric", "cosine", "--draws", "0", "--out", str(tmp_path)]) == 0
    (row,) = measured.gather(files.read(tmp_path / "report")).rows
    assert row.mean == pytest.approx(0.268, abs=0.0005)


HOSTILE = "<script>\u202e\x1b[31m\x00 „ü“ 𝔘"
TEST = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}


def hostile(name: str = "dimensions") -> Exhibit:
    grid = Grid(HOSTILE, "caption", ("a", HOSTILE), ((HOSTILE, "1"), ("", "")), HOSTILE)
    return Exhibit(name, "study", HOSTILE, "lead", "harness study dimensions", (grid,),
                   (HeatMap(HOSTILE, (HOSTILE,), ((None,),), HOSTILE),), (HOSTILE,))


def put(out: Path, name: str, content: bytes) -> Path:
    path = out / "studies" / name / exhibits.FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def report(*names: str, columns: Mapping[str, float] = CONSTANT, **more: Any) -> Results:
    """A run on these datasets, whose columns have the same value everywhere."""
    return made({name: {f"q{number}": "overall" for number in range(TEST.get(name, 1))} for name in names}, columns,
                **more)


def grid(found: Exhibit, name: str) -> Grid:
    (one,) = [grid for grid in found.grids if grid.name == name]
    return one


def test_an_exhibit_reads_back_as_it_was_and_what_is_none_is_one_line_that_says_why(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path, "dimensions", exhibits.encoded(hostile()))
    whole = exhibits.read(put(tmp_path, "whole", exhibits.encoded(hostile())))
    assert exhibits.gathered(tmp_path) == ((hostile(), whole), ())
    assert whole == hostile("whole"), "it is called what its folder is called"
    short = [{"name": "", "caption": "", "head": ["a"], "rows": [["a", "b"]], "data": ""}]
    changes: list[tuple[dict[str, object], str]] = [
        ({"schema": 1}, "not of form 2"), ({"kind": "challenge"}, "kind"), ({"grids": {}}, "grids: should be a list"),
        ({"title": 3}, "title: should be text, is 3"), ({"grids": ["x"]}, "should be an object"),
        ({"lead": "\ud800"}, "lead: should be"), ({"pictures": []}, "a field 'pictures'"),
        ({"maps": [{"title": "", "labels": ["a"], "values": [[1, 2]], "told": ""}]}, "no square"),
        ({"grids": short}, "as long as its head")]
    encoded = json.loads(exhibits.encoded(hostile()))
    for content, why in (*((json.dumps(encoded | change).encode(), why) for change, why in changes),
                         (b"", "not JSON"), (b"\xff", "UTF-8"), (b"[]", "object"), (b"[" * 100_000, "not JSON")):
        path.write_bytes(content)
        both = with_exhibits(report("fed-turn", origin="sample"), tmp_path).exhibits
        assert [each.name for each in both] == ["whole", "dstc10"]
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("left out: ")
        assert why in line
        assert "harness study dimensions" in line


def test_what_is_kept_of_a_study(tmp_path: Path) -> None:
    table = Grid("real", "Caption", ("a",), (("<1>",),), "real data")
    kept = studies.files("dimensions", "C", Findings(
        (table,), ("remark",), {"pair": [{"a": math.nan, "b": [-0.0, "=x"], "c": "=x"}], "none": []},
        (HeatMap("M", ("x",), ((1.0,),), "In words."),), ("m: broke",)))
    assert kept["pair.csv"] == b"a,b,c\n,\"[0.0, \"\"=x\"\"]\",'=x\n"
    assert b"In words." in kept["dimensions.svg"]
    assert kept.keys() == {"dimensions.md", "exhibit.json", "pair.csv", "dimensions.svg"}
    assert "| \\<1\\> |" in kept["dimensions.md"].decode()
    found = exhibits.read(put(tmp_path, "dimensions", kept[exhibits.FILE]))
    assert found.lead.startswith("How the qualities that people rate hang together,")
    assert replace(found, title="T", lead="L") == Exhibit(
        "dimensions", "study", "T", "L", "C", (table,), (HeatMap("M", ("x",), ((1.0,),), "In words."),),
        ("remark", "Failed, and not in the study: m: broke."))


def test_the_command_of_a_study_is_without_the_folders_of_a_machine() -> None:
    parser = argparse.ArgumentParser()
    study.configure(parser)
    args = parser.parse_args(["dailydialogpp", "--metric", "deb[negatives=both]", "--from", "/home/x/data/dd",
                              "--limit", "3", "--encoder", "/models/bert", "--out", "/tmp/out", "--draws", "400"])
    assert study.command(args) == (
        "harness study dailydialogpp --metric 'deb[negatives=both]' --limit 3 --from dd --encoder ./bert")


def test_the_challenge_says_who_wins_under_which_rule() -> None:
    found = exhibit_of_challenge(report("fed-turn", origin="sample"))
    rows = [(row[1].partition(":")[0], row[2]) for row in grid(found, "winners").rows]
    assert rows[:3] == [("test rule", "Team 5"), ("dev rule", "Team 1"), ("Borda", "Team 5")]
    first, *_ = grid(found, "dstc10-Table 2").rows
    assert first[:7] == ("Team 5", "0.2963", "1", "0.2964", "1", "0.2849", "2")


def test_a_run_stands_beside_the_challenge_on_the_same_real_datasets_alone_development_and_test() -> None:
    found = exhibit_of_challenge(report("fed-turn", "persona-usr"))
    shown = grid(found, "dev-here")
    assert shown.head == ("metric or team", "whose", "mean of 2 turn-level datasets", "persona-usr", "fed-turn")
    assert shown.rows[0] == ("x", "this run", "0.900", "0.900", "0.900")
    (baseline,) = [row for row in shown.rows if row[0] == "Deep AM-FM"]
    assert baseline == ("Deep AM-FM", "challenge, as printed", "0.098", "0.144", "0.051")  # of 0.1442 and 0.0509
    assert "2 of the challenge's 14 development datasets" in shown.data
    given = report(*TEST)
    shown = grid(exhibit_of_challenge(given), "test-here")
    assert [row[:3] for row in shown.rows[:3]] == [
        ("x", "this run", "0.9000"), ("y", "this run", "0.8000"), ("Team 5", "challenge, as printed", "0.2963")]
    learned = replace(given, metrics=tuple(replace(entry, learned_on=("esl",)) for entry in given.metrics))
    assert all(row[1] != "this run" for row in grid(exhibit_of_challenge(learned), "test-here").rows)


def test_the_sample_and_parts_of_datasets_stand_beside_nothing() -> None:
    for run in (report("fed-turn", origin="sample"), report("fed-turn", options={"limit": 5})):
        found = exhibit_of_challenge(run)
        assert not [one for one in found.grids if one.name.endswith("-here")]
        assert "nothing of it stands" in found.remarks[0]
