"""Composites in a run: learned on some datasets, used on others; inputs are scored once."""

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
from harness.learning.calibrate import calibrate
from harness.published import exhibit
from harness.results import files
from harness.results.rows import Results
from harness.run import correlate
from harness.scoring import pairs
from harness.scoring.scorer import Scorer, weights_evidence
from harness.scoring.store import ScoreStore
from harness.statistics.coefficients import spearman
from harness.statistics.panel import codes, panel
from metrics import evidence as evidences
from metrics import registry
from metrics.composition import Composite
from metrics.control.length import Length
from metrics.errors import CannotScore
from metrics.evidence import Evidence
from metrics.metric import Column, Columns
from metrics.models.service import Models
from tests.conftest import Invoke
from tests.faults.runs import flags

INPUTS = "length+distinct-1+repetition"
WEIGHTED = f"weighted[inputs={INPUTS}]"
THREE = ("fed-turn", "persona-usr", "dailydialog-grade")


@pytest.fixture
def real(home: Path) -> dict[str, Dataset]:
    """Store three datasets of the sample in the home as if people had judged them."""
    real = {name: dataclasses.replace(datasets.sample(datasets.card(name)), origin="imported") for name in THREE}
    for dataset in real.values():
        store.save(dataset, home)
    return real


def calibrated(home: Path, *argv: str) -> Evidence:
    assert main(["calibrate", WEIGHTED, "--scores", str(home / "out"), *argv]) == 0
    (path,) = (home / "calibrations").iterdir()
    return evidences.read(path)


def run(home: Path, *metrics: str, data: str = "real", more: Sequence[str] = ()) -> Results:
    main(["run", *flags("--metric", metrics), "--data", data, "--draws", "0", "--out", str(home / "out"), *more])
    return files.read(home / "out" / "report")


@pytest.mark.parametrize(("name", "group"), [
    ("fed-dial", ("fed-dial", "fed-turn")), ("fed-turn", ("fed-dial", "fed-turn")), ("persona-usr", ("persona-usr",))])
def test_weights_are_not_learned_on_the_same_conversations(name: str, group: tuple[str, ...]) -> None:
    dataset, metric = datasets.sample(datasets.card(name)), registry.choose("mme-crs").metric
    assert pairs.same_dialogues(dataset.card) == group
    learned = weights_evidence(metric, dataset, Models(Path("nowhere"))).datasets
    assert {"fed-dial", "fed-turn", "persona-usr"} - {*learned} == {*group}


def agree(home: Path, dataset: Dataset, name: str, *ways: str) -> dict[tuple[str, str], float]:
    """Return Spearman as a run does, by quality and column."""
    chosen = registry.choose(name)
    scores = Scorer(dataset, Models(home), ScoreStore(home / "out" / "scores")).scores(chosen.metric)
    qualities = correlate.judged(dataset, dataset.card.qualities)
    points = correlate.item_scores(dataset, qualities, {(chosen.label, ""): scores}, ways or ("mean",))
    return {(cell.quality, column): spearman(cell.panel(row))
            for cell in correlate.targets(points, qualities)
            for row, (_, column) in enumerate(cell.names)}


def columns(dataset: Dataset, home: Path) -> list[Column]:
    return [np.asarray(registry.choose(name.removesuffix("-1")).metric.score(dataset.items, Models(home))[name])
            for name in INPUTS.split("+")]


def rho(scores: Column, human: Column) -> float:
    none = codes([None] * len(human))
    return spearman(panel(scores, human, none, none))


def test_weights_are_learned_on_the_other_datasets(home: Path, real: dict[str, Dataset]) -> None:
    """Recompute rho², shares, their mean over the two other datasets, standard deviations, and Spearman's rho."""
    calibrated(home)
    ours, others = real["fed-turn"], [real["persona-usr"], real["dailydialog-grade"]]
    scales = [[(np.nanmean(column), np.nanstd(column)) for column in columns(other, home)] for other in others]
    means, spreads = np.mean(scales, axis=0).T
    scaled = np.clip((np.array(columns(ours, home)) - means[:, None]) / spreads[:, None], -3, 3)
    (other, relevance), = [(other, judged) for other in others
                           for judged in correlate.judged(other, other.card.qualities)
                           if judged.quality.dimension == "relevance"]
    useful = np.maximum([rho(column, relevance.means) for column in columns(other, home)], 0) ** 2
    summed = [share * row for share, row in zip((useful / useful.sum()).tolist(), scaled, strict=True) if share]
    (human,) = correlate.judged(ours, [quality for quality in ours.card.qualities if quality.dimension == "relevance"])
    actual = agree(home, ours, f"weighted[inputs={INPUTS},power=2,strength=0]")
    assert actual[human.quality.name, "weighted"] == pytest.approx(rho(np.sum(summed, axis=0), human.means), abs=1e-5)


def test_each_quality_has_its_own_weights(home: Path, real: dict[str, Dataset], invoke: Invoke) -> None:
    calibrated(home)
    several = agree(home, real["persona-usr"], WEIGHTED)
    qualities = [quality.name for quality in real["persona-usr"].card.qualities]
    assert set(several) == {(name, column) for name in qualities for column in ("weighted", "weighted-single")}
    assert any(several[name, "weighted"] != several[name, "weighted-single"] for name in qualities)
    assert len(set(agree(home, real["dailydialog-grade"], WEIGHTED).values())) == 1, "the dataset has one quality"
    printed = invoke("show", f"weighted[inputs={INPUTS},strength=0]").out
    assert "uses knowledge: repetition 0.63, distinct-1 0.22, length 0.15" in printed


def test_weights_learned_on_a_dataset_are_not_ranked_there(home: Path, real: dict[str, Dataset]) -> None:
    calibrated(home, "--dataset", "fed-turn", "--dataset", "persona-usr")
    fitted = f"weighted[in_sample=True,inputs={INPUTS}]"
    report = run(home, WEIGHTED, fitted)
    assert {entry.name: entry.learned_on for entry in report.metrics} == {
        WEIGHTED: (), fitted: ("fed-turn", "persona-usr")}
    assert {(row.metric, row.rank is None, row.covered) for row in report.ranking if row.board == "dev"} == {
        (WEIGHTED, False, 16), (fitted, False, 1)}  # over the other dataset alone
    assert {dataset for (name, _), row in exhibit.columns(report).items() for dataset, _ in row if name == fitted} == {
        "dailydialog-grade"}
    pages = home / "out" / "site" / "dataset"
    assert "†" in (pages / "fed-turn.html").read_text()
    assert "†" not in (pages / "dailydialog-grade.html").read_text()
    assert "†" in (home / "out" / "site" / "LEADERBOARD.md").read_text()


def test_an_input_is_scored_once(home: Path, real: dict[str, Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
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
        for name in (WEIGHTED, "length", f"rank-average[inputs={INPUTS}]", "length"):
            source.scores(registry.choose(name).metric)
        assert len(calls) == count


def test_a_composite_without_scores_has_a_reason(home: Path, real: dict[str, Dataset]) -> None:
    weighted, unknown = "weighted[inputs=1*length+1*bleu]", "weighted[inputs=length+turns]"
    report = run(home, weighted, unknown, "length", more=("--dataset", "dailydialog-grade"))
    reasons = {skip.metric: skip.reason for skip in report.skips}
    assert [part for part in ("bleu", "references") if part not in reasons[weighted]] == []
    assert "`harness calibrate weighted`" in reasons[unknown]
    assert {row.metric for row in report.correlations} == {"length"}
    calibrated(home, "--dataset", "fed-turn")
    with pytest.raises(CannotScore):
        agree(home, real["fed-turn"], WEIGHTED)
    assert agree(home, real["persona-usr"], WEIGHTED)


def test_aggregations_of_turns_are_composed(home: Path, real: dict[str, Dataset]) -> None:
    calibrated(home)
    values = agree(home, datasets.sample(datasets.card("fed-dial")), WEIGHTED, "mean", "sum")
    assert {column for _, column in values} == {"weighted", "weighted-single", "weighted:sum", "weighted-single:sum"}
    assert np.isfinite(list(values.values())).all()


def of_quality_file(home: Path, dataset: Dataset, *, plain: bool = True) -> str:
    """Write scores that fall with the position of the item, but rise for Relevant."""
    rows = [row for index, item in enumerate(dataset.items)
            for row in ([f"{item.id},{-index}"] * plain + [f"{item.id}|Relevant,{index}"])]
    path = home / "both.csv"
    path.write_text("\n".join(["dialogue_id,score", *rows]))
    return f"scores:{path}"


def test_inputs_are_mixed_by_their_columns_for_the_quality(home: Path) -> None:
    dataset = datasets.sample(datasets.card("fed-turn"))
    file = of_quality_file(home, dataset)
    rising = np.arange(float(len(dataset.items)))
    scorer = Scorer(dataset, Models(home))
    weighted = scorer.scores(registry.choose(f"weighted[inputs=2*{file}+1*log({file})]").metric).columns
    np.testing.assert_allclose(weighted["weighted@relevance"], 2 * rising + np.log1p(rising))
    np.testing.assert_allclose(weighted["weighted@overall"], -2 * rising - np.log1p(rising))
    of_qualities = [column for name, column in weighted.items() if "@" in name]
    np.testing.assert_allclose(weighted["weighted-single"], np.mean(of_qualities, axis=0))
    ranks = scorer.scores(registry.choose(f"rank-average[inputs={file}]").metric).columns
    np.testing.assert_array_equal(ranks["rank-average@relevance"], ranks["rank-average"][::-1])
    assert ranks.keys() == {"rank-average", "rank-average@relevance"}


def test_weights_are_learned_from_columns_of_the_quality(home: Path, real: dict[str, Dataset]) -> None:
    ours = dataclasses.replace(real["fed-turn"], card=dataclasses.replace(real["fed-turn"].card, qualities=tuple(
        quality for quality in real["fed-turn"].card.qualities if quality.name == "Relevant")))
    inputs = f"{of_quality_file(home, ours, plain=False)}+length"
    metric = registry.choose(f"weighted[inputs={inputs}]").metric
    assert isinstance(metric, Composite)
    evidence = calibrate(metric, [Scorer(ours, Models(home))], Models(home), 0, 0, [], "")
    rising = np.arange(float(len(ours.items)))
    (human,) = correlate.judged(ours, ours.card.qualities)
    assert evidence.qualities[0].spearman[0] == pytest.approx(rho(rising, human.means))
    assert evidence.parts[0].means[0] == pytest.approx(rising.mean())


def changed(dataset: Dataset, quality: str, votes: Any) -> Dataset:
    ratings = tuple(Rating(rating.item, quality, votes(index, rating.votes)) if rating.quality == quality else rating
                    for index, rating in enumerate(dataset.ratings))
    return dataclasses.replace(dataset, ratings=ratings)


def test_few_and_constant_ratings_are_left_out(home: Path, real: dict[str, Dataset],
                                               capsys: pytest.CaptureFixture[str]) -> None:
    quality = real["fed-turn"].card.qualities[0].name
    store.save(changed(real["fed-turn"], quality, lambda *_: (3.0,)), home)
    store.save(changed(real["dailydialog-grade"], "relevance", lambda index, votes: votes if index < 7 else ()), home)
    evidence = calibrated(home)
    assert evidence.datasets == ("persona-usr", "fed-turn")
    printed = capsys.readouterr().out
    assert f"fed-turn, {quality}: " in printed
    assert "dailydialog-grade, relevance: 7 " in printed
    assert len(evidence.card["left_out"]) == 2


def test_impossible_calibrations_are_refused(home: Path, invoke: Invoke) -> None:
    def refused(part: str, *argv: str) -> None:
        assert part in invoke("calibrate", *argv, "--scores", home / "out", status=2).err

    refused("dataset", WEIGHTED)
    constant = datasets.sample(datasets.card("dailydialog-grade"))
    store.save(dataclasses.replace(changed(constant, "relevance", lambda *_: (3.0,)), origin="imported"), home)
    refused("dailydialog-grade, relevance", WEIGHTED, "--dataset", "dailydialog-grade")
    refused("weights", "length")
    refused("weights", "weighted[inputs=1*length+2*turns]")
    refused("0 or more", "mme-avg", "--draw", "-1")
    refused("sample", WEIGHTED, "--dataset", "humod")
