"""`harness study`: measures compared on cells whose answers are known, and end to end on the sample."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks.dataset import Quality
from harness import studies
from harness.cli import main
from harness.results.rows import DatasetEntry
from harness.run.correlate import Judged, TargetData
from harness.statistics.estimates import STATISTICS, at_level
from harness.statistics.panel import LEVELS
from harness.statistics.resampled_levels import COEFFICIENTS, Single, Values, has_room
from harness.statistics.resampled_levels import values as resampled
from harness.studies import TargetGroup, measures
from harness.studies._picture import Map, heat_maps
from harness.studies.measures.comparison import DEFAULT, MOST, Amount, MeasureBoard, board, measured, resamples, units

AMOUNT = Amount(halvings=10, draws=60)
SYSTEMS, CONTEXTS = 6, 20


def make_cell(scores: dict[str, np.ndarray], human: np.ndarray, system: np.ndarray | None = None,
              context: np.ndarray | None = None, dataset: str = "toy") -> TargetData:
    """A cell of every system in every context unless told otherwise."""
    system = np.tile(np.arange(SYSTEMS), CONTEXTS) if system is None else system
    context = np.repeat(np.arange(CONTEXTS), SYSTEMS) if context is None else context
    judged = Judged(Quality("overall", 1, 5), tuple((vote,) for vote in human), human.astype(float))
    return TargetData(dataset, judged, tuple((name, name) for name in scores),
                      np.array(list(scores.values()), dtype=float),
                system, context)


def drawn(rng: np.random.Generator, decimals: int = 8) -> np.ndarray:
    return np.round(rng.normal(size=SYSTEMS * CONTEXTS), decimals)


def noisy(rng: np.random.Generator) -> TargetData:
    """Ratings with many ties, and metrics of every sort: with ties, with gaps, good, useless, constant."""
    human = np.round(2 * drawn(rng)) / 2
    good, gaps = human + drawn(rng), drawn(rng)
    gaps[::7] = np.nan
    return make_cell({"good": good, "coarse": np.round(good), "gaps": gaps, "none": drawn(rng),
                      "constant": np.ones_like(human)}, human)


def one_board(*cells: TargetData, amount: Amount = AMOUNT) -> MeasureBoard:
    return board(TargetGroup("real", "real data", cells), [measured(cell, 0, amount) for cell in cells], amount)


def values(cell: TargetData, counts: Single) -> Values:
    return resampled(cell.judged.means, cell.scores, cell.system, cell.context, counts)


def test_on_the_whole_data_a_measure_is_that_of_the_estimates(rng: np.random.Generator) -> None:
    cell = noisy(rng)
    assert set(COEFFICIENTS) <= set(STATISTICS)
    found = values(cell, np.ones((1, 120), dtype=np.float32))
    for (level, statistic), value in found.items():
        expected = [at_level(statistic, level)(cell.panel(row)) for row in range(5)]
        np.testing.assert_allclose(value[0], expected, atol=1e-9, equal_nan=True, err_msg=f"{statistic} {level}")
    assert {level for level, _ in found} == set(LEVELS)
    for row in one_board(cell).rows:
        assert row.values.keys() == {name for tied in row.ranking for name in tied}
        for (name, _), value in row.values.items():
            place = [own for own, _ in cell.names].index(name)
            assert value == pytest.approx(found[row.measure][0, place])


def test_on_a_resample_a_measure_is_that_of_the_rows_drawn(rng: np.random.Generator) -> None:
    cell = noisy(rng)
    counts = rng.integers(0, 3, size=(4, 120)).astype(np.float32)
    found = values(cell, np.vstack([np.ones((1, 120), dtype=np.float32), counts]))
    for number, weights in enumerate(counts, start=1):
        rows = np.repeat(np.arange(120), weights.astype(int))
        part = replace(cell, judged=replace(cell.judged, means=cell.judged.means[rows]), scores=cell.scores[:, rows],
                       system=cell.system[rows], context=cell.context[rows])
        for level in ("items", "within-systems", "over-systems"):
            for statistic in ("pearson", "spearman", "kendall", "kendall-c"):
                expected = [at_level(statistic, level)(part.panel(row)) for row in range(5)]
                np.testing.assert_allclose(found[level, statistic][number], expected, atol=1e-9, equal_nan=True)


def test_a_context_counts_within_contexts_as_often_as_it_is_drawn(rng: np.random.Generator) -> None:
    cell = noisy(rng)
    weight = rng.integers(0, 3, size=CONTEXTS)
    counts = np.vstack([np.ones(120), np.repeat(weight, SYSTEMS)]).astype(np.float32)
    found = values(cell, counts)["within-contexts", "spearman"][1, 0]
    parts = [cell.panel(0).take(cell.context == context) for context in range(CONTEXTS)]
    each = np.array([STATISTICS["spearman"].value(part) for part in parts])
    there = np.isfinite(each)
    assert found == pytest.approx(np.average(each[there], weights=weight[there]))


def test_metrics_whose_relation_is_known(rng: np.random.Generator) -> None:
    """Equal ones are never separated, opposite ones always, and ones far apart are ranked alike by every half."""
    human, score = drawn(rng), drawn(rng)
    same = one_board(make_cell({"one": score, "same": score, "again": 2 * score + 1}, human))
    assert {row.power for row in same.rows} == {0.0}
    apart = {row.measure: row.power for row in one_board(make_cell({"right": human, "wrong": -human}, human)).rows}
    assert all(apart[grouping, name] == 1 for grouping in LEVELS for name in ("pearson", "spearman", "kendall"))
    scores = {f"m{share}": share * human + (10 - abs(share)) / 20 * drawn(rng) for share in (-10, -3, 0, 3, 10)}
    (row,) = [row for row in one_board(make_cell(scores, human)).rows if row.measure == DEFAULT]
    assert (row.consistency, row.spread, row.tau) == pytest.approx((1, 0, 1))


def test_a_grouping_without_room_is_left_out_and_counted(rng: np.random.Generator) -> None:
    full = noisy(rng)
    alone = make_cell({"good": drawn(rng), "none": drawn(rng)}, drawn(rng), system=np.zeros(120, dtype=np.int64),
                      context=np.arange(120), dataset="alone")
    found = one_board(full, alone)
    cells = {row.measure[0]: row.cells for row in found.rows}
    assert (found.cells, cells) == (2, {"items": 2, "within-contexts": 1, "within-systems": 1, "over-systems": 1})


def test_where_a_grouping_has_room() -> None:
    threes = [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    for grouping, system, context, room in (
        ("over-systems", [0, 0, 1, 1], [0, 1, 2, 3], False),
        ("over-systems", [0, 1, 2, 2], [0, 1, 2, 3], True),
        ("within-systems", [0] * 8, range(8), False),
        ("within-systems", [0] * 4 + [1] * 4, range(8), True),
        ("within-contexts", [0] * 15, [*threes, 4, 4, 4], True),
        ("within-contexts", [0] * 12, threes, False),
        ("within-contexts", [0] * 31, [*threes, 4, 4, 4, *range(5, 21)], False),
    ):
        assert has_room(grouping, np.array(system), np.array(context)) is room, (grouping, context)


def test_two_measures_are_compared_on_what_they_share(rng: np.random.Generator) -> None:
    """A metric that is constant in every context, and a cell of one system, stay out of what they have no part in."""
    context = np.repeat(np.arange(CONTEXTS), SYSTEMS)
    scores = {"turns": np.repeat(drawn(rng)[:CONTEXTS], SYSTEMS), "a": drawn(rng), "b": drawn(rng), "c": drawn(rng)}
    found = one_board(make_cell(scores, drawn(rng), context=context))
    known = [row.measure for row in found.rows]
    behind = found.behind[known.index(DEFAULT)]
    assert behind[known.index(DEFAULT)] == (1, 4)
    assert behind[known.index(("within-contexts", "spearman"))] == (1, 3)


def test_the_seed_says_everything_and_the_order_of_metrics_nothing(rng: np.random.Generator) -> None:
    cell = noisy(rng)
    order = [3, 1, 4, 0, 2]
    moved = replace(cell, names=tuple(cell.names[place] for place in order), scores=cell.scores[order])
    first, again, other = (measures.compare([TargetGroup("real", "real data", (each,))], seed, 40)
                           for each, seed in ((cell, 1), (moved, 1), (cell, 2)))
    assert first == again
    assert first.objects != other.objects


def test_halves_and_draws_keep_contexts_whole(rng: np.random.Generator) -> None:
    cell = noisy(rng)
    _, counts = resamples(cell, 0, AMOUNT)
    assert (counts[0] == 1).all()
    assert (counts[AMOUNT.first] + counts[AMOUNT.second] == 1).all()
    assert (counts[AMOUNT.first].sum(axis=1) == 60).all()
    assert (counts[AMOUNT.drawn].sum(axis=1) == 120).all()
    by_context = counts.reshape(len(counts), CONTEXTS, SYSTEMS)
    assert (by_context == by_context[..., :1]).all()
    assert np.array_equal(counts, resamples(cell, 0, AMOUNT)[1])
    assert not np.array_equal(counts, resamples(replace(cell, dataset="other"), 0, AMOUNT)[1])
    # where there are few contexts, items are drawn
    assert units(np.array([0, 0, 1, 1])).tolist() == [0, 1, 2, 3]
    assert units(np.array([7, 7, 1, 2, 3, 4])).tolist() == [4, 4, 0, 1, 2, 3]


def test_of_very_many_items_some_are_taken(rng: np.random.Generator) -> None:
    size = MOST + 500
    human = rng.normal(size=size)
    human[::10] = np.nan
    cell = make_cell({"a": human}, human, system=np.zeros(size, dtype=np.int64), context=np.arange(size))
    rows, counts = resamples(cell, 0, Amount(1, 1))
    assert (len(rows), counts.shape) == (MOST, (4, MOST))
    assert np.isfinite(human[rows]).all()


def test_kinds_of_data_are_apart(rng: np.random.Generator) -> None:
    entries = [DatasetEntry(name, name, "dev", "turn", origin, "", 1, 1, (), "", "", has=has) for name, origin, has in
               (("a", "sample", ()), ("b", "imported", ("references",)), ("c", "fetched", ()))]
    cells = [replace(noisy(rng), dataset=name) for name in "abc"]
    found = {one.name: [cell.dataset for cell in one.targets] for one in studies.target_groups(cells, entries)}
    assert found == {"real": ["b", "c"], "real-references": ["b"], "sample": ["a"]}


def test_the_picture_says_in_words_what_it_shows() -> None:
    values = np.array([[1, -0.5, math.nan], [-0.5, 1, 0], [math.nan, 0, 1]])
    root = ET.fromstring(heat_maps("A <title>", [Map("toy", ("x", "y & z", "w"), values)])[0])  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    assert root.findtext(f"{space}title") == "A <title>"
    assert "from -0.50 (y & z and x) to 0.00 (w and y & z)" in (root.findtext(f"{space}desc") or "")
    assert "y & z and x: −0.50" in [title.text for title in root.iter(f"{space}title")]
    assert "two measures can be compared" in heat_maps("", [Map("", ("x",), np.ones((1, 1)))])[1]


def test_what_cannot_be_studied_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, message in (
        ("measure", "did you mean 'measures'"),
        ("measures --dataset esl --draws 10", "--draws should be 40 or more"),
        ("measures --seed -1", "--seed should be 0 or more"),
        ("measures --limit 0", "--limit should be 1 or more"),
        ("measures --dataset fed-trun", "did you mean 'fed-turn'"),
        ("measures --from .", "measures takes no --from"),
        ("dimensions --metric bleu", "dimensions takes no --metric"),
        ("dimensions --data sample --dataset esl", "has 3 qualities or more"),
        ("dailydialogpp --dataset fed-turn", "dailydialogpp takes no --dataset"),
        ("dailydialogpp --metric length --from nowhere", "nowhere holds no dev.json and test.json of DailyDialog++"),
        ("dailydialogpp --metric length", "DailyDialog++ is not here: `harness fetch --corpora dailydialog_pp`"),
        ("discrimination --metric dynaeval[window=6]", "this study sets window itself"),
        ("discrimination --metric bleu", "none of them was asked for"),
        ("discrimination --metric random", "none of the corpora is here"),
    ):
        assert main(["study", *line.split(), "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert message in error.splitlines()[-1]
        assert error.count("\n") == 1
    assert not (tmp_path / "studies").exists()


def test_measures_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*more: str) -> dict[str, bytes]:
        metrics = [word for name in ("distinct", "length", "random") for word in ("--metric", name)]
        assert main(["study", "measures", "--dataset", "dailydialog-gupta", *metrics, "--draws", "40", "--out",
                     str(tmp_path), *more]) == 0
        return {path.name: path.read_bytes() for path in (tmp_path / "studies" / "measures").iterdir()}

    before = run()
    shown = capsys.readouterr().out
    scores = sorted((tmp_path / "scores").rglob("*.parquet"))
    assert "Spearman's ρ over items" in shown
    assert "bundled sample" in shown
    assert run("--json") == before
    assert sorted((tmp_path / "scores").rglob("*.parquet")) == scores, "kept scores are used again"
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [sum(entry["kind"] == kind for entry in objects) for kind in ("measure", "agreement")] == [20, 190]
    assert {entry["data"] for entry in objects} == {"sample"}
    rows = list(csv.DictReader(before["measure.csv"].decode().splitlines()))
    assert len(rows) == 20
    assert {row["tau"] for row in rows if (row["grouping"], row["coefficient"]) == DEFAULT} == {"1.0"}
    assert sorted(before) == ["agreement.csv", "exhibit.json", "measure.csv", "measures.md", "measures.svg"]
