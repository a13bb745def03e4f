"""The measured figures: means within and over datasets, beside what is in print."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import main
from harness.commands import _published
from harness.errors import BadReport
from harness.published import measured
from harness.published.measured import challenge, plain, printed_systems
from harness.results import files
from harness.results.rows import Correlation, DatasetEntry, MetricEntry, QualityEntry, Results, Run

QUALITIES = {"convai2-grade": {"relevance": "relevance"}, "fed-turn": {"Overall": "overall", "Relevant": "relevance"}}
CELLS = tuple((name, quality) for name, qualities in QUALITIES.items() for quality in qualities)


def make(columns: Mapping[str, tuple[float, ...]], *, origin: str = "imported",
         options: Mapping[str, object] | None = None) -> Results:
    """A report of two datasets; each column has a value for (convai2-grade, Overall, Relevant of fed-turn)."""
    datasets = tuple(DatasetEntry(name, name, "dev", "turn", origin, "f", 9, 9, tuple(
        QualityEntry(quality, dimension, 1, 5, 9) for quality, dimension in qualities.items()), "l", "c")
        for name, qualities in QUALITIES.items())
    metrics = tuple(MetricEntry(name, name, "toy", (name,), (), ("turn",), "", "item", "", name)
                    for name in columns)
    correlations = tuple(Correlation(*cell, name, name, statistic, 9, value * factor, 0.1, 0, 1)
                       for name, values in columns.items() for cell, value in zip(CELLS, values, strict=True)
                       for statistic, factor in (("spearman", 1.0), ("pearson", 0.5)))
    run = Run("1", None, 0, "cpu", dict(options or {}), "3", "linux", {}, "harness run --all")
    return Results(run, datasets, metrics, correlations, ())


CONTROLS = {"cosine": (0.4, 0.2, 0.1), "length": (0.0, 0.3, 0.5)}


def rows(report: Results) -> dict[str, measured.MeasuredColumn]:
    return {row.column: row for row in measured.gather(report).rows}


def test_means_within_a_dataset_and_then_over_the_datasets() -> None:
    row = rows(make({"deb": (0.5, 0.1, 0.3)}))["deb"]
    assert row.sets["fed-turn"] == pytest.approx(0.2)  # (0.1 + 0.3) / 2
    assert row.mean == pytest.approx(0.35)  # (0.5 + 0.2) / 2, and not 0.9 / 3


def test_a_missing_cell_leaves_no_mean_and_the_column_comes_last() -> None:
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


def test_published_figures_stand_beside_the_columns_of_their_metrics() -> None:
    found = rows(make({"deb": (0.5, 0.1, 0.3), "deb[negatives=both]": (0.5, 0.1, 0.3), "am": (0, 0, 0),
                       "deep-am-fm": (0, 0, 0)}))
    deb = found["deb"].published
    assert deb is not None
    assert deb == found["deb[negatives=both]"].published
    assert (deb.source, deb.sets["convai2-grade"].value, deb.sets["convai2-grade"].same) == ("yeh2021", 0.504, True)
    assert (deb.sets["fed-turn"].value, deb.sets["fed-turn"].same) == (0.187, False), "of one of its qualities"
    assert math.isnan(deb.mean(("convai2-grade", "fed-turn")))
    assert found["am"].published is None
    baseline = found["deep-am-fm"].published
    assert baseline is not None
    assert baseline.source == "dstc10", "which prints it as it is measured here"
    assert baseline.mean(("convai2-grade", "fed-turn")) == pytest.approx((0.0938 + 0.0509) / 2)
    printed = printed_systems(dict.fromkeys(measured.TURNS, 1))
    for column, name in (("bert-score-f", "BERTScore"), ("holistic-coherence", "HolisticEval"), ("usl-h", "USL-H"),
                         ("bleu-4[references=max]", "BLEU-4")):
        assert printed[plain(column)].name == name
    means = {one.name: round(one.mean(measured.TURNS), 3) for one in challenge(measured.TURNS)}
    assert (means["MME-CRS"], means["Team 8"], means["Deep AM-FM"], len(means)) == (0.450, 0.447, 0.164, 10)
    assert list(means.values()) == sorted(means.values(), reverse=True)


def test_a_run_of_a_part_cannot_stand_beside_print() -> None:
    for options, flag in (({"limit": 5}, "--limit"), ({"qualities": ["relevance"]}, "--quality")):
        with pytest.raises(BadReport, match=flag):
            measured.gather(make({"deb": (0, 0, 0)}, options=options))


def test_a_screenful_keeps_controls_and_what_is_in_print() -> None:
    many = {f"m{number:02}": (0.9, 0.9, 0.9) for number in range(50)}
    found = measured.gather(make({**many, **CONTROLS, "deb": (-0.5, 0.1, 0.3), "bleu-4": (0.5, 0.1, math.nan)}))
    lines = _published.short(found).splitlines()
    names = [line.split("  ")[0] for line in lines]
    assert {"cosine", "length", "deb", "(published)", "challenge: MME-CRS"} <= set(names)
    assert sum(name.startswith("m") for name in names) == _published.MOST - 3
    assert "bleu-4" not in names
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 110
    assert "bleu-4" in _published.text(found, found.rows)


def test_the_table_of_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write(make({"deb": (0.5, 0.1, 0.3)}), tmp_path / "a" / "report")
    assert main(["report", "--out", str(tmp_path / "a"), "--published"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["deb", "0.350", "0.500", "0.200"] in lines
    assert ["(published)", "–", "0.504", "0.187*"] in lines
    assert ["challenge:", "MME-CRS", "0.444", "0.584", "0.304"] in lines
    files.write(make(CONTROLS, origin="sample"), tmp_path / "sample" / "report")
    assert main(["report", "--published", "--out", str(tmp_path / "sample")]) == 2
    assert "none of its turn-level datasets is real" in capsys.readouterr().err


@pytest.mark.slow
def test_the_cosine_of_the_embedded_encoder_has_its_known_figure(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert main(["import", str(real_data / "human_evaluation_data")]) == 0
    assert main(["run", "--all", "--data", "real", "--metric", "cosine", "--draws", "0", "--out", str(tmp_path)]) == 0
    (row,) = measured.gather(files.read(tmp_path / "report")).rows
    assert row.mean == pytest.approx(0.268, abs=0.0005)
