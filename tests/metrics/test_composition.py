"""Composites: weights by hand, inputs, evidence, and missing pieces."""

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
from metrics.composite.regression import ridge_weights
from metrics.composition import Composite, compose, input_signatures, named
from metrics.errors import BadOption, CannotScore, MissingResource, UnknownMetric
from metrics.evidence import DatasetEvidence, Evidence, QualityEvidence
from metrics.metric import signature
from metrics.models import checkpoint
from metrics.models.service import Models
from tests.conftest import ROOT, make_item


def rated(dimension: str, *spearman: float) -> QualityEvidence:
    return QualityEvidence(dimension.title(), dimension, 300, np.array(spearman), np.array(spearman))


def measured(name: str, *qualities: QualityEvidence, level: Level = "turn", mean: float = 0.0,
             spread: float = 1.0) -> DatasetEvidence:
    count = len(qualities[0].spearman)
    return DatasetEvidence(name, level, "f" * 64, "r" * 64, 300, np.full(count, mean), np.full(count, spread),
                           np.eye(count), qualities)


TWO = Evidence(("length", "distinct-1"), (
    measured("a", rated("relevance", 0.3, 0.1), rated("overall", 0.2, -0.5), mean=1.0, spread=2.0),
    measured("b", rated("relevance", 0.1, 0.1), mean=3.0, spread=4.0),
))


def composite(requested: str) -> Composite:
    metric = registry.choose(requested).metric
    assert isinstance(metric, Composite)
    return metric


def written(home: Path, name: str, evidence: Evidence) -> Path:
    path = evidences.user_path(name, evidence, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(evidences.text(name, evidence))
    return path


def test_rescaled_correlations_by_hand() -> None:
    """A negative correlation counts as 0; the others are raised to d and made to sum to 1."""
    expected: dict[Power, tuple[float, ...]] = {"1": (0.75, 0.25, 0), "2": (0.9, 0.1, 0), "3": (27 / 28, 1 / 28, 0)}
    for power, by_hand in expected.items():
        np.testing.assert_allclose(rescaled(np.array([0.3, 0.1, -0.4]), power), by_hand)  # type: ignore[arg-type]


def test_the_best_power_has_its_largest_weight_between_a_third_and_a_half() -> None:
    for useful, power in (((0.5, 0.1, 0.1, 0.1), 1),  # 0.625 already: a larger power moves it further away
                          ((0.2, 0.2, 0.1, 0.1), 1),  # 1/3
                          ((0.2, 0.15, 0.15, 0.15, 0.1), 2),  # 0.27, 0.34
                          ((0.1, 0.1, 0.1, 0.1), 1)):  # 1/4 at every power
        assert best_power(np.array(useful)) == power


def test_evidence_of_each_encoder_has_a_file_of_its_own(home: Path) -> None:
    signatures = [{name: {"encoder": encoder} for name in TWO.inputs} for encoder in ("a@1", "b@2", "b@2 bf16")]
    paths = [written(home, "weighted", dataclasses.replace(TWO, signatures=signed)) for signed in signatures]
    assert paths[0] != paths[1] == paths[2]
    assert [evidences.find("weighted", signed, home).signatures["length"]["encoder"] for signed in signatures] == [
        "a@1", "b@2 bf16", "b@2 bf16"]


def test_weights_are_the_mean_over_datasets_of_the_quality_its_kin_or_all() -> None:
    for evidence, dimension, expected in (
        (TWO, "relevance", [(0.75 + 0.5) / 2, (0.25 + 0.5) / 2]), (TWO, "overall", [1, 0]),
        (TWO, "maintains context", [(0.75 + 0.5) / 2, (0.25 + 0.5) / 2]),
        (TWO, "grammar", [(0.75 + 1 + 0.5) / 3, (0.25 + 0 + 0.5) / 3]),
        (TWO.without("a"), "relevance", [0.5, 0.5]), (TWO.without("b"), "relevance", [0.75, 0.25]),
    ):
        np.testing.assert_allclose(weights(evidence, dimension, "1"), expected)


def test_weights_are_shrunk_towards_kin_and_all() -> None:
    """Relevance has shares (0.75, 0.25) and (0.5, 0.5), overall (1, 0): mean of all three (0.75, 0.25)."""
    for strength in (1.0, 2.0):
        kindred = (2 * 0.625 + strength * 0.75) / (2 + strength)  # relevance is the only quality of its kin
        shrunk = (2 * 0.625 + strength * kindred) / (2 + strength)
        np.testing.assert_allclose(weights(TWO, "relevance", "1", strength), [shrunk, 1 - shrunk])
    np.testing.assert_allclose(weights(TWO, "relevance", "1", 0.0), [0.625, 0.375])
    for strength in (0.0, 1.0, np.inf):
        np.testing.assert_allclose(weights(TWO, "a name of no dataset", "1", strength), [0.75, 0.25])
    np.testing.assert_allclose(weights(TWO, "overall", "1", np.inf), [0.75, 0.25])


def test_a_regression_is_shrunk_towards_all_qualities() -> None:
    """With uncorrelated inputs it is r / (1 + λ); overall has no kin, so it and the mean of all have weight 1 each."""
    one = Evidence(("length", "distinct-1"), (measured("a", rated("overall", 0.4, 0.2)),))
    np.testing.assert_allclose(ridge_weights(one, "overall", 0.25), [0.32, 0.16])
    both = Evidence(("x", "y"), (measured("a", rated("overall", 0.4, 0.0), rated("grammar", 0.0, 0.4)),))
    np.testing.assert_allclose(ridge_weights(both, "overall", 0), [(0.4 + 0.2) / 2, (0 + 0.2) / 2])


def test_the_scale_averages_turn_level_datasets() -> None:
    np.testing.assert_allclose(TWO.scale(), [[2, 2], [3, 3]])
    talk = Evidence(TWO.inputs, (*TWO.parts, measured("c", rated("depth", 0.1, 0.1), level="dialogue", mean=9)))
    np.testing.assert_allclose(talk.scale()[0], 2)
    table = np.array([[2.0, 5.0, 99.0], [2.0, -1.0, np.nan]])
    np.testing.assert_allclose(Composite().scaled(table, TWO), np.array([[0.0, 1.0, 3.0], [0.0, -1.0, np.nan]]))


def test_each_quality_has_a_column_and_the_single_score_is_their_mean() -> None:
    columns = compose(composite("mme-crs[power=1,strength=0]"), np.array([[5.0, 2.0], [2.0, 5.0]]), TWO,
                      ("relevance", "overall"))
    np.testing.assert_allclose(columns["mme-crs@relevance"], [0.625, 0.375])
    np.testing.assert_allclose(columns["mme-crs@overall"], [1, 0])
    np.testing.assert_allclose(columns["mme-crs-single"], [(0.625 + 1) / 2, 0.375 / 2])
    np.testing.assert_array_equal(columns["mme-crs"], columns["mme-crs-single"])
    with pytest.raises(CannotScore):
        compose(composite("mme-crs"), np.zeros((2, 1)), TWO.without("a").without("b"), ("overall",))


def test_scale_none_mixes_raw_scores() -> None:
    raw = np.array([[5.0], [2.0]])
    columns = compose(composite("mme-crs[power=1,scale=none,strength=0]"), raw, TWO, ("overall",))
    np.testing.assert_allclose(columns["mme-crs@overall"], [5])
    np.testing.assert_allclose(compose(composite("mme-avg[scale=none]"), raw, TWO, ())["mme-avg"], [3.5])


def test_ranks_are_averaged() -> None:
    table = np.array([[1.0, 5.0, 5.0, np.nan], [0.3, 0.2, 0.1, 0.0]])
    columns = compose(composite("rank-average"), table, Evidence(("x", "y")), ())
    expected = [(1 / 3 + 1) / 2, (2.5 / 3 + 0.75) / 2, (2.5 / 3 + 0.5) / 2, np.nan]
    np.testing.assert_allclose(columns["rank-average"], expected)


def test_fixed_weights_mix_raw_scores(tmp_path: Path) -> None:
    metric = composite("weighted[inputs=2*length+0.5*distinct-1+3*log(length)]")
    assert not metric.learns
    columns = metric.score([make_item("a", "one two two")], Models(tmp_path))
    np.testing.assert_allclose(columns["weighted"], [2 * 3 + 0.5 * 2 / 3 + 3 * np.log(4)])
    plus = composite("weighted[inputs=0.7*cosine[encoder=mine+dialogue]+0.3*deb]")
    assert [part.name for part in plus.made_of()] == ["cosine[encoder=mine+dialogue]", "deb"]
    np.testing.assert_array_equal(plus.weights(TWO, ""), [0.7, 0.3])


def test_inputs_are_metrics_columns_and_variants() -> None:
    inputs = named("bleu[references=max,lowercase=true]/bleu-2+sm-ll+length+usr/usr-mlm")
    assert [(part.chosen.label, part.column) for part in inputs] == [
        ("bleu[lowercase=True,references=max]", "bleu-2"), ("sm", "sm-ll"), ("length", "length"), ("usr", "usr-mlm")]
    seven = {"mme-fm", "mme-rm", "mme-tcm", "mme-em", "sm-ll", "sm-nce", "sm-ppl"}
    for without, ablated in (("none", set()), ("sm", {"sm-ll", "sm-nce", "sm-ppl"}), ("rm+tcm", {"mme-rm", "mme-tcm"})):
        assert {part.column for part in composite(f"mme-crs[without={without}]").made_of()} == seven - ablated
    published = composite("mme-crs[recipe=paper,encoder=mine]")
    assert "small heads" not in "".join(published.card.departures)
    assert [part.chosen.label for part in published.made_of()] == [
        *(f"mme-{part}[encoder=mine,recipe=paper]" for part in ("fm", "rm", "tcm", "em")), *3 * ["sm[encoder=mine]"]]
    default, more = (composite(name).made_of() for name in ("regression", "regression[inputs=+bleu]"))
    assert [part.name for part in more] == [*(part.name for part in default), "bleu"]


def test_invalid_inputs_are_refused() -> None:
    for text, error, part in (("length+length", BadOption, "repetitions"), ("length+", BadOption, "repetitions"),
                              ("mme-avg", BadOption, "input"), ("bleu/bleu-9", BadOption, "columns"),
                              ("lenght", UnknownMetric, "length")):
        with pytest.raises(error, match=part):
            named(text)
    with pytest.raises(BadOption):
        composite("weighted[inputs=2*length+distinct-1]").made_of()
    for name in ("mme-crs[strength=-1]", "weighted[strength=nan]", "regression[strength=-0.5]", "regression[ridge=-1]"):
        with pytest.raises(BadOption, match=name.partition("[")[2].partition("=")[0]):
            composite(name)


def test_evidence_reads_back_as_written(tmp_path: Path) -> None:
    alike = np.array([[1, 0.25], [0.25, 1]])
    part = dataclasses.replace(measured("a", rated("overall", 0.5, float("nan"))), alike=alike)
    evidence = Evidence(("length", "distinct-1"), (part,), {"length": {"revision": "1"}}, card={"seed": 3})
    back = evidences.read(written(tmp_path, "x", evidence))
    np.testing.assert_array_equal(back.parts[0].alike, alike)
    np.testing.assert_array_equal(back.parts[0].qualities[0].spearman, [0.5, np.nan])
    assert (back.inputs, back.signatures, back.card) == (evidence.inputs, evidence.signatures, evidence.card)
    assert back.identity.startswith("x@")
    for content in (b"", b"{}", b"[1]", b'{"name": "x", "datasets": [{"dataset": 1}]}'):
        (tmp_path / "x.json").write_bytes(content)
        with pytest.raises(MissingResource):
            evidences.read(tmp_path / "x.json")


def test_evidence_serves_some_of_its_inputs_in_any_order(tmp_path: Path) -> None:
    written(tmp_path, "weighted", TWO)
    evidence = evidences.find("regression", {"distinct-1": {}, "length": {}}, tmp_path)
    assert evidence.inputs == ("distinct-1", "length")
    np.testing.assert_array_equal(evidence.parts[0].qualities[0].spearman, [0.1, 0.3])
    with pytest.raises(MissingResource):
        evidences.find("weighted", {"length": {}, "no-such-column": {}}, tmp_path)


def test_evidence_of_the_same_scores_is_preferred(tmp_path: Path) -> None:
    written(tmp_path, "weighted",
            Evidence(("length",), (measured("b", rated("overall", 0.1)),), {"length": {"revision": "9"}}))
    written(tmp_path, "other",
            Evidence(("length", "turns"), (measured("c", rated("overall", 0.1, 0.1)),), {"length": {"revision": "1"}}))
    for revision, dataset in ((1, "c"), (9, "b"), (5, "b")):
        assert evidences.find("weighted", {"length": {"revision": str(revision)}}, tmp_path).datasets == (dataset,)


def test_the_signature_has_inputs_weights_and_changed_scores(tmp_path: Path) -> None:
    path = written(tmp_path, "weighted", Evidence(("length", "turns"), (measured("a", rated("overall", 0.1, 0.2)),)))
    signed = signature(composite("weighted[inputs=length+turns]"), Models(tmp_path))
    assert (signed["length: metric"], signed["length: unit"], signed["turns: metric"]) == ("length", "words", "turns")
    assert signed["weights weighted"].startswith(evidences.read(path).identity)
    assert signed["weights weighted"].endswith("length, turns")


def test_shipped_evidence_covers_every_composite(tmp_path: Path) -> None:
    """It comes from the embedded encoder and at least seven of the ten datasets, none with simulated raters."""
    for name, folder in (("regression", "regression"), ("weighted", "regression"), ("mme-crs", "mme-crs")):
        evidence = evidences.find(name, input_signatures(composite(name), Models(tmp_path)), tmp_path)
        assert evidence.identity == evidences.read(checkpoint.SHIPPED / folder / evidences.FILE).identity
        assert len(evidence.datasets) >= 7
        shares = composite(name).weights(evidence.without("fed-turn"), "relevance")
        assert np.isfinite(shares).all()
        assert np.ptp(shares) > 0


def test_the_composite_of_the_documentation_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "metrics.md").read_text(), re.DOTALL)
    module = types.ModuleType("best")
    monkeypatch.setitem(sys.modules, "best", module)
    exec(compile(code, "docs/metrics.md", "exec"), module.__dict__)  # noqa: S102
    signatures = {name: signature(registry.choose(name.removesuffix("-1")).metric, Models(tmp_path))
                  for name in TWO.inputs}
    written(tmp_path, "best", dataclasses.replace(TWO, signatures=signatures))
    columns = module.Best("length+distinct-1").score([make_item("a", "one two two")], Models(tmp_path))
    np.testing.assert_allclose(columns["best"], [(3 - 2) / 3])
