"""Compositions in a run: learned from some datasets, used on others, never scored twice, never ranked on their own."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset, Item, Rating
from benchmarks.storage import store
from harness.cli import main
from harness.learning import calibrate
from harness.published.measured import gather
from harness.results import files
from harness.results.rows import Results
from harness.run import correlate
from harness.scoring import composites
from harness.scoring.composites import same_dialogues
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.coefficients import spearman
from harness.statistics.panel import codes, panel
from metrics import evidence as evidences
from metrics import registry
from metrics.control.length import Length
from metrics.errors import CannotScore
from metrics.evidence import Evidence
from metrics.metric import Column, Columns
from metrics.models.service import Models

INPUTS = "length+distinct-1+repetition"
ASKED = f"weighted[inputs={INPUTS}]"
THREE = ("fed-turn", "persona-usr", "dailydialog-grade")


@pytest.fixture
def real(home: Path) -> dict[str, Dataset]:
    """Three datasets of the sample in the home, as if people had judged them."""
    found = {name: dataclasses.replace(datasets.sample(datasets.card(name)), origin="imported") for name in THREE}
    for dataset in found.values():
        store.save(dataset, home)
    return found


def calibrated(home: Path, *argv: str) -> Evidence:
    assert main(["calibrate", ASKED, "--scores", str(home / "out"), *argv]) == 0
    return evidences.read(evidences.place("weighted", INPUTS.split("+"), home))


def run(home: Path, *metrics: str, data: str = "real", more: Sequence[str] = ()) -> Results:
    argv = [word for name in metrics for word in ("--metric", name)]
    main(["run", *argv, "--data", data, "--draws", "0", "--out", str(home / "out"), *more])
    return files.read(home / "out" / "report")


def test_weights_for_a_dataset_know_nothing_of_its_conversations_by_another_name() -> None:
    group = ("fed-dial", "fed-turn")
    for name in group:
        dataset = datasets.sample(datasets.card(name))
        assert same_dialogues(dataset.card) == group
        assert not {*learned_for(dataset)} & {*group}
    alone = datasets.sample(datasets.card("persona-usr"))
    assert same_dialogues(alone.card) == ("persona-usr",)
    assert {*group} <= {*learned_for(alone)}


def learned_for(dataset: Dataset) -> tuple[str, ...]:
    return composites.weights_evidence(registry.choose("mme-crs").metric, dataset, Models(Path("nowhere"))).datasets


def agree(home: Path, dataset: Dataset, asked: str, *ways: str) -> dict[tuple[str, str], float]:
    """Spearman of every column with every quality, as a run has them, by quality and the column's plain name."""
    chosen = registry.choose(asked)
    scores = Scorer(dataset, Models(home), ScoreStore(home / "out" / "scores")).scores(chosen.metric)
    qualities = correlate.judged(dataset, dataset.card.qualities)
    points = correlate.item_scores(dataset, qualities, {(chosen.label, ""): scores}, ways or ("mean",))
    return {(cell.quality, column): spearman(cell.panel(row))
            for cell in correlate.targets(points, qualities)
            for row, (_, column) in enumerate(cell.names)}


def columns(dataset: Dataset, home: Path) -> list[Column]:
    found: list[Column] = []
    for name in INPUTS.split("+"):
        metric = registry.choose(name.removesuffix("-1")).metric
        found.append(np.asarray(metric.score(dataset.items, Models(home))[name]))
    return found


def rho(scores: Column, human: Column) -> float:
    none = codes([None] * len(human))
    return spearman(panel(scores, human, none, none))


def test_a_development_dataset_is_scored_with_the_weights_of_the_others(home: Path, real: dict[str, Dataset]) -> None:
    """All of it once more by hand: rho², shares, mean over the two others, spreads from their means, Spearman."""
    calibrated(home)
    ours, others = real["fed-turn"], [real["persona-usr"], real["dailydialog-grade"]]
    scales = [[(np.nanmean(column), np.nanstd(column)) for column in columns(other, home)] for other in others]
    means, spreads = np.mean(scales, axis=0).T
    scaled = np.clip((np.array(columns(ours, home)) - means[:, None]) / spreads[:, None], -3, 3)
    quality = next(one for one in ours.card.qualities if one.dimension == "relevance")
    shares = []
    for other in others:
        for one in correlate.judged(other, other.card.qualities):
            if one.quality.dimension == "relevance":
                useful = np.maximum([rho(column, one.means) for column in columns(other, home)], 0) ** 2
                shares.append(useful / useful.sum())
    assert len(shares) == 1, "of the two others only dailydialog-grade asks for relevance"
    (human,) = correlate.judged(ours, [quality])
    summed = [share * row for share, row in zip(shares[0].tolist(), scaled, strict=True) if share]
    expected = rho(np.sum(summed, axis=0), human.means)
    found = agree(home, ours, f"weighted[inputs={INPUTS},power=2,strength=0]")
    assert found[quality.name, "weighted"] == pytest.approx(expected, abs=1e-5)


def test_a_target_has_the_weights_of_its_quality_which_are_shown(
        home: Path, real: dict[str, Dataset], capsys: pytest.CaptureFixture[str]) -> None:
    calibrated(home)
    found = agree(home, real["persona-usr"], ASKED)
    qualities = [quality.name for quality in real["persona-usr"].card.qualities]
    assert set(found) == {(name, column) for name in qualities for column in ("weighted", "weighted-single")}
    assert any(found[name, "weighted"] != found[name, "weighted-single"] for name in qualities)
    alone = agree(home, real["dailydialog-grade"], ASKED)
    assert len(set(alone.values())) == 1, "of a dataset with one quality it is the same score"
    capsys.readouterr()
    assert main(["show", f"weighted[inputs={INPUTS},strength=0]"]) == 0
    printed = capsys.readouterr().out
    assert "persona-usr, fed-turn, dailydialog-grade" in printed
    assert "uses knowledge: repetition 0.63, distinct-1 0.22, length 0.15" in printed


def test_what_was_learned_on_a_dataset_is_marked_there_and_not_ranked(home: Path, real: dict[str, Dataset]) -> None:
    calibrated(home, "--dataset", "fed-turn", "--dataset", "persona-usr")
    asked = f"weighted[in_sample=True,inputs={INPUTS}]"
    report = run(home, ASKED, asked)
    known = {entry.name: entry.learned_on for entry in report.metrics}
    assert known == {ASKED: (), asked: ("fed-turn", "persona-usr")}
    for row in report.ranking:
        if row.board == "dev":
            assert (row.rank is None, row.covered) == ((row.metric == asked), 1 if row.metric == asked else 16)
    figures = gather(report)
    assert {row.column for row in figures.rows if row.complete and "in_sample" in row.column} == set()
    pages = home / "out" / "site" / "dataset"
    assert "†: fitted on ratings of this dataset" in (pages / "fed-turn.html").read_text()
    assert "†" not in (pages / "dailydialog-grade.html").read_text()
    assert "†" in (home / "out" / "site" / "LEADERBOARD.md").read_text()


def test_an_input_is_scored_once_whoever_asks_for_it(home: Path, real: dict[str, Dataset],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    plain = Length.score

    def counted(self: Length, items: Sequence[Item], models: Models) -> Columns:
        calls.append(len(items))
        return plain(self, items, models)

    monkeypatch.setattr(Length, "score", counted)
    calibrated(home)
    assert len(calls) == 3, "once for each dataset"
    scores = ScoreStore(home / "out" / "scores")
    for rescore, count in ((False, 3), (True, 4)):
        source = Scorer(real["fed-turn"], Models(home), scores, rescore)
        for asked in (ASKED, "length", f"rank-average[inputs={INPUTS}]", "length"):
            source.scores(registry.choose(asked).metric)
        assert len(calls) == count, "kept from before, but where scoring again was asked for"


def test_what_cannot_be_composed_is_skipped_with_its_reason_and_the_only_dataset_has_no_weights(
        home: Path, real: dict[str, Dataset]) -> None:
    given, unknown = "weighted[inputs=1*length+1*bleu]", "weighted[inputs=length+turns]"
    report = run(home, given, unknown, "length", more=("--dataset", "dailydialog-grade"))
    reasons = {skip.metric: skip.reason for skip in report.skips}
    assert reasons[given] == "its input bleu: no item has references"
    assert "a composition of length, turns: learn them with `harness calibrate weighted`" in reasons[unknown]
    assert {row.metric for row in report.correlations} == {"length"}
    calibrated(home, "--dataset", "fed-turn")
    with pytest.raises(CannotScore, match="this dataset alone"):
        agree(home, real["fed-turn"], ASKED)
    assert agree(home, real["persona-usr"], ASKED)


def test_whole_dialogues_take_the_turns_in_every_way(home: Path, real: dict[str, Dataset]) -> None:
    calibrated(home)
    found = agree(home, datasets.sample(datasets.card("fed-dial")), ASKED, "mean", "sum")
    assert {column for _, column in found} == {"weighted", "weighted-single", "weighted:sum", "weighted-single:sum"}
    assert np.isfinite(list(found.values())).all()


def changed(dataset: Dataset, quality: str, votes: Any) -> Dataset:
    ratings = tuple(Rating(one.item, one.quality, votes(place, one.votes)) if one.quality == quality else one
                    for place, one in enumerate(dataset.ratings))
    return dataclasses.replace(dataset, ratings=ratings)


def test_too_few_ratings_and_constant_ones_are_left_out_with_the_reason(
    home: Path, real: dict[str, Dataset], capsys: pytest.CaptureFixture[str]
) -> None:
    quality = real["fed-turn"].card.qualities[0].name
    store.save(changed(real["fed-turn"], quality, lambda *_: (3.0,)), home)
    few = changed(real["dailydialog-grade"], "relevance", lambda place, votes: votes if place < 7 else ())
    store.save(few, home)
    found = calibrated(home)
    assert found.datasets == ("persona-usr", "fed-turn")
    printed = capsys.readouterr().out
    assert f"left out: fed-turn, {quality}: all ratings are the same" in printed
    assert "left out: dailydialog-grade, relevance: 7 of the drawn items are rated, 20 are needed" in printed
    assert len(found.card["left_out"]) == 2


def test_an_input_with_few_scores_has_no_correlation(real: dict[str, Dataset]) -> None:
    """Three scores in the order of the ratings would agree perfectly."""
    dataset, left_out = real["dailydialog-grade"], calibrate.LeftOut()
    (one,) = correlate.judged(dataset, dataset.card.qualities)
    few = np.full(len(one.means), np.nan)
    few[np.argsort(one.means)[[0, 20, -1]]] = [0.1, 0.2, 0.3]
    rows = np.arange(len(few))
    found = calibrate._rated(dataset, one, ("all", "few"), np.array([one.means, few]), rows, left_out)
    assert found is not None
    np.testing.assert_array_equal(found.spearman, [1, np.nan])
    np.testing.assert_array_equal(np.isfinite(found.ranked), [True, False])
    assert left_out == [
        ("dailydialog-grade, relevance, input few", "3 of the rated items are scored, 20 are needed")]


def test_what_cannot_be_calibrated_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(says: str, *argv: str) -> None:
        assert main(["calibrate", *argv, "--scores", str(home / "out")]) == 2
        assert says in capsys.readouterr().err

    refused("there is none", ASKED)
    constant = datasets.sample(datasets.card("dailydialog-grade"))
    store.save(dataclasses.replace(changed(constant, "relevance", lambda *_: (3.0,)), origin="imported"), home)
    refused("dailydialog-grade, relevance: all ratings are the same", ASKED, "--dataset", "dailydialog-grade")
    refused("has no weights to fit", "length")
    refused("has no weights to fit", "weighted[inputs=1*length+2*turns]")
    refused("0 or more", "mme-avg", "--draw", "-1")
    refused("only the bundled sample is here", ASKED, "--dataset", "humod")
