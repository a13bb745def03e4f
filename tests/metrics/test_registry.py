"""Metrics by name: found without being imported, chosen with options, refused with the nearest name."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from metrics import registry
from metrics.errors import BadOption, BrokenPlugin, UnknownMetric
from metrics.metric import GROUP, MetricCard, options, signature
from metrics.models.service import Models
from tests.conftest import Invoke, refused
from tests.metrics.embedding import test_bert_score as bert_score_tests
from tests.metrics.lexical import test_lexical as lexical_tests
from tests.metrics.lexical import test_meteor as meteor_tests

ORACLES = {
    "bert-score": bert_score_tests.test_equals_the_package_on_awkward_texts,
    "bleu": lexical_tests.test_bleu_equals_sacrebleu, "chrf": lexical_tests.test_chrf_equals_sacrebleu,
    "delta-bleu": lexical_tests.test_bleu_equals_sacrebleu, "meteor": meteor_tests.test_equals_nltk,
    "rouge-l": lexical_tests.test_rouge_l_equals_rouge_score}
"""The test that shows that a metric equals that of its paper or package."""


def test_options_are_read_from_the_last_brackets_by_their_type() -> None:
    chosen = registry.choose("rouge-l[beta=1.2, references=max]")
    assert options(chosen.metric)["beta"] == 1.2
    assert chosen.label == "rouge-l[beta=1.2,references=max]"
    assert registry.choose("bleu[references=standard]").label == "bleu", "an option at its default is not in the label"
    for requested, parts in (
        (" bleu ", ("bleu", "")), ("judge:a/b[model=references]", ("judge:a/b", "model=references")),
        ("evaluate:a[b]/c.py:f1", ("evaluate:a[b]/c.py:f1", "")),
        ("evaluate:a[b]/c.py[x=1]", ("evaluate:a[b]/c.py", "x=1")),
    ):
        assert registry.split(requested) == parts
    for text, value in (("3", 3), ("0.5", 0.5), ("true", True), ("False", False), ("en", "en")):
        assert repr(registry._value(Any, text)) == repr(value)


def test_the_seed_of_the_run_reaches_a_metric_with_a_seed(home: Path) -> None:
    assert signature(registry.choose("random", seed=5).metric, Models(home))["seed"] == "5"
    assert signature(registry.choose("random[seed=9]", seed=5).metric, Models(home))["seed"] == "9"


def test_refusals_name_the_option_the_choices_or_the_nearest_name() -> None:
    for requested, error, part in (
        ("bleu[references=best]", BadOption, "standard, mean, max, first"),
        ("bleu[reference=max]", BadOption, "'references'"), ("rouge-l[beta=much]", BadOption, "float"),
        ("bleu[references=max", BadOption, "NAME["), ("turns[x=1]", BadOption, "no options"),
        ("judge:a\x1b[31m", BadOption, "printable"), ("rouge", UnknownMetric, "'rouge-l'"),
        ("bleu-4", UnknownMetric, "--metric bleu"),
    ):
        with refused(error, part):
            registry.choose(requested)


@dataclass(frozen=True, slots=True)
class Mine:
    card: ClassVar[MetricCard] = MetricCard(name="mine", title="Mine", columns=("mine",), family="plug-in")

    def score(self, items: Any, models: Any) -> dict[str, Any]:
        return {"mine": [float(len(item.id)) for item in items]}


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch, look_anew: Callable[[], None]) -> Callable[[str, str], None]:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])

    def install(name: str, value: str) -> None:
        look_anew()
        monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint(name, value, GROUP)])

    return install


def test_an_entry_point_names_a_class_or_module_and_shadows_nothing(plug_in: Callable[[str, str], None]) -> None:
    for value in (f"{__name__}:Mine", __name__):
        plug_in("mine", value)
        assert "mine" in registry.names()
        assert registry.choose("mine").metric == Mine()
    plug_in("bleu", "x:Y")
    assert registry.names().count("bleu") == 1
    assert registry.card("bleu").title == "BLEU"
    (ignored,) = registry.ignored_plugins()
    assert "bleu (x:Y)" in ignored


def test_the_signature_of_a_plug_in_holds_its_code(plug_in: object, home: Path) -> None:
    assert "code" in signature(Mine(), Models(home))
    assert "code" not in signature(registry.choose("length").metric, Models(home))


def test_only_the_broken_plug_in_fails(plug_in: Callable[[str, str], None], invoke: Invoke) -> None:
    for name, value, part in (
            ("gone", "no_such_module_anywhere:X", "ModuleNotFoundError"), ("gone", "math:pi", "class"),
            ("gone", "math:nothing", "AttributeError"), ("other", f"{__name__}:Mine", "'mine'"),
            ("gone", "fractions:Fraction", "card")):
        plug_in(name, value)
        with pytest.raises(BrokenPlugin, match=part):
            registry.choose(name)
    assert "gone" in invoke("list", "metrics").out


def test_a_metric_with_a_paper_has_an_oracle_or_departures() -> None:
    cards = {name: registry.card(name) for name in registry.names()}
    assert {name for name, card in cards.items() if card.system == "as published"} == set(ORACLES)
    for name, card in cards.items():
        assert bool(card.departures) != (name in ORACLES) if card.paper else not card.departures, name
        assert bool(card.trained_on) <= bool(card.fitted_on), name
        assert card.system or card.family == "composite", name
