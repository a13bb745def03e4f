"""Compositions: the weights by hand, what they are made of, and what happens where something is lacking."""

import dataclasses
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Level
from metrics import evidence as evidences
from metrics import registry
from metrics.composite.mme_crs import Power, best_power, rescaled
from metrics.composite.mme_crs import crs_weights as weights
from metrics.composite.regression import ridge_weights as regressed
from metrics.composition import Composite, compose, named
from metrics.errors import BadOption, CannotScore, MissingResource, UnknownMetric
from metrics.evidence import DatasetEvidence, Evidence, QualityEvidence, Vector
from metrics.metric import signature
from metrics.models.service import Models
from tests.conftest import ROOT, make_item


def rated(dimension: str, *spearman: float) -> QualityEvidence:
    return QualityEvidence(dimension.title(), dimension, 300, np.array(spearman), np.array(spearman))


def measured(name: str, *qualities: QualityEvidence, level: Level = "turn", mean: float = 0.0,
             spread: float = 1.0) -> DatasetEvidence:
    count = len(qualities[0].spearman) if qualities else 2
    return DatasetEvidence(name, level, "f" * 64, "r" * 64, 300, np.full(count, mean), np.full(count, spread),
                           np.eye(count), qualities)


def two() -> Evidence:
    return Evidence(("length", "distinct-1"), (
        measured("a", rated("relevance", 0.3, 0.1), rated("overall", 0.2, -0.5), mean=1.0, spread=2.0),
        measured("b", rated("relevance", 0.1, 0.1), mean=3.0, spread=4.0),
    ))


def composite(requested: str) -> Composite:
    metric = registry.choose(requested).metric
    assert isinstance(metric, Composite)
    return metric


def test_rescaled_correlations_by_hand_with_the_largest_weight_between_a_third_and_a_half() -> None:
    """(0.3, 0.1, −0.4): what is negative counts for nothing, the rest is raised to d and made to sum to 1."""
    expected: dict[Power, tuple[float, ...]] = {"1": (0.75, 0.25, 0), "2": (0.9, 0.1, 0), "3": (27 / 28, 1 / 28, 0)}
    for power, by_hand in expected.items():
        np.testing.assert_allclose(rescaled(np.array([0.3, 0.1, -0.4]), power), by_hand)  # type: ignore[arg-type]
    for useful, power in (((0.5, 0.1, 0.1, 0.1), 1),  # 0.625 already: a larger power moves it further off
                          ((0.2, 0.2, 0.1, 0.1), 1),  # 1/3
                          ((0.2, 0.15, 0.15, 0.15, 0.1), 2),  # 0.27, 0.34
                          ((0.1, 0.1, 0.1, 0.1), 1)):  # 1/4 at every power
        assert best_power(np.array(useful)) == power


def test_a_qualitys_weights_are_the_mean_over_the_datasets_that_have_it_else_its_kin_else_all() -> None:
    np.testing.assert_allclose(weights(two(), "relevance", "1"), [(0.75 + 0.5) / 2, (0.25 + 0.5) / 2])
    np.testing.assert_allclose(weights(two(), "overall", "1"), [1, 0])
    np.testing.assert_allclose(weights(two(), "maintains context", "1"), weights(two(), "relevance", "1"))
    np.testing.assert_allclose(weights(two(), "grammar", "1"), [(0.75 + 1 + 0.5) / 3, (0.25 + 0 + 0.5) / 3])
    np.testing.assert_allclose(weights(two().without("a"), "relevance", "1"), [0.5, 0.5])
    np.testing.assert_allclose(weights(two().without("b"), "relevance", "1"), [0.75, 0.25])


def test_a_regression_is_shrunk_towards_all_qualities() -> None:
    """All: the mean of a's qualities; overall has no kin: its own counts 1, all as 1 more.

    Of one quality and uncorrelated inputs it is r / (1 + λ), as all its datasets say the same.
    """
    one = Evidence(("length", "distinct-1"), (measured("a", rated("overall", 0.4, 0.2)),))
    np.testing.assert_allclose(regressed(one, "overall", 0.25), [0.32, 0.16])
    some = Evidence(("x", "y"), (measured("a", rated("overall", 0.4, 0.0), rated("grammar", 0.0, 0.4)),))
    np.testing.assert_allclose(regressed(some, "overall", 0), [(0.4 + 0.2) / 2, (0 + 0.2) / 2])


def test_the_scale_is_of_turns_and_each_dataset_counts_alike() -> None:
    means, spreads = two().scale()
    np.testing.assert_allclose(means, 2)
    np.testing.assert_allclose(spreads, 3)
    talk = Evidence(two().inputs, (*two().parts, measured("c", rated("depth", 0.1, 0.1), level="dialogue", mean=9)))
    np.testing.assert_allclose(talk.scale()[0], 2)
    table = np.array([[2.0, 5.0, 99.0], [2.0, -1.0, np.nan]])
    np.testing.assert_allclose(Composite().scaled(table, two()), np.array([[0.0, 1.0, 3.0], [0.0, -1.0, np.nan]]))


def test_one_score_is_the_mean_over_the_qualities_and_each_quality_has_its_own() -> None:
    metric, table = composite("mme-crs[power=1,strength=0]"), np.array([[5.0, 2.0], [2.0, 5.0]])
    found = compose(metric, table, two(), ("relevance", "overall"))
    np.testing.assert_allclose(found["mme-crs@relevance"], [0.625, 0.375])
    np.testing.assert_allclose(found["mme-crs@overall"], [1, 0])
    np.testing.assert_allclose(found["mme-crs-single"], [(0.625 + 1) / 2, 0.375 / 2])
    np.testing.assert_array_equal(found["mme-crs"], found["mme-crs-single"])
    raw = np.array([[5.0], [2.0]])  # raw scores are summed as printed
    np.testing.assert_allclose(
        compose(composite("mme-crs[power=1,scale=none,strength=0]"), raw, two(), ("overall",))["mme-crs@overall"], [5])
    np.testing.assert_allclose(compose(composite("mme-avg[scale=none]"), raw, two(), ())["mme-avg"], [3.5])
    assert len(composite("mme-avg").made_of()) == 7
    with pytest.raises(CannotScore, match="this dataset alone"):
        compose(composite("mme-crs"), np.zeros((2, 1)), two().without("a").without("b"), ("overall",))


def test_weights_of_a_quality_are_shrunk_towards_those_of_all() -> None:
    """Relevance has shares (0.75, 0.25) and (0.5, 0.5), overall (1, 0): mean of all three (0.75, 0.25)."""
    for strength in (1.0, 2.0):
        kindred = (2 * 0.625 + strength * 0.75) / (2 + strength)  # relevance alone is there of its kin
        own = (2 * 0.625 + strength * kindred) / (2 + strength)
        np.testing.assert_allclose(weights(two(), "relevance", "1", strength), [own, 1 - own])
    np.testing.assert_allclose(weights(two(), "relevance", "1", 0.0), [0.625, 0.375])
    for unknown in (0.0, 1.0, np.inf):
        np.testing.assert_allclose(weights(two(), "a name of no dataset", "1", unknown), [0.75, 0.25])
    np.testing.assert_allclose(weights(two(), "overall", "1", np.inf), [0.75, 0.25])


def test_ranks_are_averaged_and_weights_that_are_given_take_the_scores_as_they_are(tmp_path: Path) -> None:
    table = np.array([[1.0, 5.0, 5.0, np.nan], [0.3, 0.2, 0.1, 0.0]])
    found = compose(composite("rank-average"), table, Evidence(("x", "y"), ()), ())
    expected = [(1 / 3 + 1) / 2, (2.5 / 3 + 0.75) / 2, (2.5 / 3 + 0.5) / 2, np.nan]
    np.testing.assert_allclose(found["rank-average"], expected)
    metric = composite("weighted[inputs=2*length+0.5*distinct-1+3*log(length)]")
    assert not metric.learns
    columns = metric.score([make_item("a", "one two two")], Models(tmp_path))
    np.testing.assert_allclose(columns["weighted"], [2 * 3 + 0.5 * 2 / 3 + 3 * np.log(4)])


def test_inputs_are_metrics_columns_and_variants() -> None:
    found = named("bleu[references=max,lowercase=true]/bleu-2+sm-ll+length+usr/usr-mlm")
    assert [(one.chosen.label, one.column) for one in found] == [
        ("bleu[lowercase=True,references=max]", "bleu-2"), ("sm", "sm-ll"), ("length", "length"), ("usr", "usr-mlm")]
    seven = {"mme-fm", "mme-rm", "mme-tcm", "mme-em", "sm-ll", "sm-nce", "sm-ppl"}
    for without, gone in (("none", set()), ("sm", {"sm-ll", "sm-nce", "sm-ppl"}), ("rm+tcm", {"mme-rm", "mme-tcm"})):
        assert {part.column for part in composite(f"mme-crs[without={without}]").made_of()} == seven - gone
    published = composite("mme-crs[recipe=paper,encoder=mine]")
    assert "small heads" not in "".join(published.card.departures)
    assert [part.chosen.label for part in published.made_of()] == [
        *(f"mme-{part}[encoder=mine,recipe=paper]" for part in ("fm", "rm", "tcm", "em")), *3 * ["sm[encoder=mine]"]]
    default, more = (registry.choose(name).metric.made_of() for name in ("regression", "regression[inputs=+bleu]"))
    assert [part.name for part in more] == [*(part.name for part in default), "bleu"]


def test_what_cannot_be_an_input_says_why(tmp_path: Path) -> None:
    for text, message in (("length+length", "each once"), ("length+", "each once"), ("mme-avg", "cannot be an input"),
                          ("bleu/bleu-9", "has the columns")):
        with pytest.raises(BadOption, match=message):
            named(text)
    with pytest.raises(UnknownMetric, match="length"):
        named("lenght")
    with pytest.raises(BadOption, match=r"0\.7\*A\+0\.3\*B"):
        composite("weighted[inputs=2*length+distinct-1]").made_of()
    for content in (b"", b"{}", b"[1]", b'{"name": "x", "datasets": [{"dataset": 1}]}'):
        (tmp_path / "x.json").write_bytes(content)
        with pytest.raises(MissingResource, match="harness calibrate"):
            evidences.read(tmp_path / "x.json")


def written(home: Path, name: str, evidence: Evidence) -> Path:
    path = evidences.place(name, evidence.inputs, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(evidences.text(name, evidence))
    return path


def test_evidence_reads_back_as_it_was_written_and_some_of_its_inputs_are_enough_in_any_order(tmp_path: Path) -> None:
    alike = np.array([[1, 0.25], [0.25, 1]])
    was = Evidence(("length", "distinct-1"), (
        DatasetEvidence("a", "turn", "f", "r", 9, np.array([1.0, 2.0]), np.array([3.0, 4.0]), alike,
                (rated("overall", 0.5, float("nan")),)),), {"length": "length|r1"}, card={"seed": 3})
    back = evidences.read(written(tmp_path, "x", was))
    (one,) = back.parts
    np.testing.assert_array_equal(one.alike, alike)
    np.testing.assert_array_equal(one.qualities[0].spearman, [0.5, np.nan])
    assert (back.inputs, back.signatures, back.card, one.drawn) == (was.inputs, was.signatures, was.card, 9)
    assert back.identity.startswith("x@")
    written(tmp_path, "weighted", two())
    found = evidences.find("regression", {"distinct-1": "", "length": ""}, tmp_path)
    assert found.inputs == ("distinct-1", "length")
    np.testing.assert_array_equal(found.parts[0].qualities[0].spearman, [0.1, 0.3])
    with pytest.raises(MissingResource, match="harness calibrate"):
        evidences.find("weighted", {"length": "", "no-such-column": ""}, tmp_path)


def test_evidence_of_the_same_scores_goes_before_that_of_others(tmp_path: Path) -> None:
    other = Evidence(("length",), (measured("b", rated("overall", 0.1)),), {"length": "length|r9"})
    same = Evidence(("length", "turns"), (measured("c", rated("overall", 0.1, 0.1)),), {"length": "length|r1"})
    written(tmp_path, "weighted", other)
    written(tmp_path, "other", same)
    assert evidences.find("weighted", {"length": "length|r1"}, tmp_path).datasets == ("c",)
    assert evidences.find("weighted", {"length": "length|r9"}, tmp_path).datasets == ("b",)
    assert evidences.find("weighted", {"length": "length|r5"}, tmp_path).datasets == ("b",)


def test_the_signature_holds_inputs_and_weights_and_tells_of_other_scores(tmp_path: Path) -> None:
    path = written(tmp_path, "weighted", Evidence(("length", "turns"), (measured("a", rated("overall", 0.1, 0.2)),)))
    signed = signature(composite("weighted[inputs=length+turns]"), Models(tmp_path))
    assert "|input=length|length|r1|unit=words|input=turns|turns|r1" in signed
    assert f"|weights={evidences.read(path).identity}, learned on" in signed
    assert signed.endswith("learned on other scores of length, turns")


def test_every_shipped_composition_reads_and_covers_its_inputs(tmp_path: Path) -> None:
    """Weights of seven of the ten datasets at least, none from what the sample's simulated raters said."""
    for name in ("regression", "weighted", "mme-crs"):
        inputs: dict[str, str] = dict.fromkeys((one.name for one in composite(name).made_of()), "")
        found = evidences.find(name, inputs, tmp_path)
        assert len(found.datasets) >= 7
        shares: Vector = composite(name).weights(found.without("fed-turn"), "relevance")
        assert np.isfinite(shares).all()
        assert np.ptp(shares) > 0


def test_the_rule_of_the_documentation_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "metrics.md").read_text(), re.DOTALL)
    module = types.ModuleType("best")
    monkeypatch.setitem(sys.modules, "best", module)
    exec(compile(code, "docs/metrics.md", "exec"), module.__dict__)  # noqa: S102
    metric = module.Best("length+distinct-1")
    assert isinstance(metric, Composite)
    signatures = {name: signature(registry.choose(name.removesuffix("-1")).metric, Models(tmp_path))
                  for name in two().inputs}
    written(tmp_path, "best", dataclasses.replace(two(), signatures=signatures))
    found = metric.score([make_item("a", "one two two")], Models(tmp_path))
    np.testing.assert_allclose(found["best"], [(3 - 2) / 3])
