"""Metrics by name: found without being imported, chosen with options, refused with the nearest name."""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.cli import main
from metrics import registry
from metrics.errors import BadOption, BrokenPlugin, UnknownMetric
from metrics.metric import GROUP, MetricCard, options, signature
from metrics.models.service import Models

EXPECTED = {"bleu", "chrf", "meteor", "rouge-l", "delta-bleu", "distinct", "random", "length", "context-overlap",
            "repetition", "turns"}


def test_the_built_in_metrics_are_found() -> None:
    assert set(registry.names()) >= EXPECTED


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_holds_the_metric_of_its_name(name: str) -> None:
    assert registry.card(name).name == name


def test_listing_names_imports_no_metric() -> None:
    code = ("import sys; from metrics import registry; registry.names(); "
            "print([m for m in sys.modules if m.startswith('metrics.lexical.') or m in ('torch', 'nltk')])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_options_are_read_by_their_type() -> None:
    chosen = registry.choose("rouge-l[beta=1.2, references=max]")
    assert options(chosen.metric)["beta"] == 1.2
    assert chosen.label == "rouge-l[beta=1.2,references=max]"


def test_an_option_at_its_default_is_not_in_the_label() -> None:
    assert registry.choose("bleu[references=standard]").label == "bleu"


def test_the_seed_of_the_run_reaches_a_metric_that_has_one(home: Any) -> None:
    assert "seed=5" in signature(registry.choose("random", seed=5).metric, Models(home))
    assert "seed=9" in signature(registry.choose("random[seed=9]", seed=5).metric, Models(home))


@pytest.mark.parametrize(("asked", "part"), [
    ("bleu[references=best]", "one of standard, mean, max, first"),
    ("bleu[reference=max]", "did you mean 'references'"),
    ("rouge-l[beta=much]", "type float"), ("bleu[references=max", "NAME[option=value"), ("turns[x=1]", "it has none"),
])
def test_bad_options_are_refused(asked: str, part: str) -> None:
    with pytest.raises(BadOption) as caught:
        registry.choose(asked)
    assert part in str(caught.value)


def test_an_unknown_metric_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownMetric, match="did you mean 'rouge-l'"):
        registry.card("rouge")


@dataclass(frozen=True, slots=True)
class Mine:
    card: ClassVar[MetricCard] = MetricCard(name="mine", title="Mine", columns=("mine",), family="plug-in")

    def score(self, items: Any, models: Any) -> dict[str, Any]:
        return {"mine": [float(len(item.id)) for item in items]}


@pytest.fixture
def _fresh() -> Any:
    for cached in (registry._plugged_in, registry.metric_class):
        cached.cache_clear()
    yield
    for cached in (registry._plugged_in, registry.metric_class):
        cached.cache_clear()


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("value", [f"{__name__}:Mine", __name__])
def test_an_entry_point_names_a_class_or_its_module(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    point = EntryPoint("mine", value, GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    assert "mine" in registry.names()
    assert registry.choose("mine").metric == Mine()


@pytest.mark.usefixtures("_fresh")
def test_a_plug_in_may_not_shadow_a_built_in_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("bleu", "x:Y", GROUP)])
    assert registry.names().count("bleu") == 1
    assert registry.card("bleu").title == "BLEU"
    assert registry.shadowing() == ("bleu (x:Y) is left out: a built-in metric has that name",)


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize(("name", "value", "part"), [
    ("gone", "no_such_module_anywhere:X", "ModuleNotFoundError"), ("gone", "math:pi", "holds no class"),
    ("gone", "math:nothing", "AttributeError"), ("other", f"{__name__}:Mine", "its card is named 'mine'"),
    ("gone", "fractions:Fraction", "no dataclass"),
])
def test_a_broken_plug_in_costs_itself_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                             tmp_path: Path, name: str, value: str, part: str) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint(name, value, GROUP)])
    with pytest.raises(BrokenPlugin) as caught:
        registry.choose(name)
    assert part in str(caught.value)
    assert main(["list", "metrics"]) == 0
    assert main(["doctor"]) == 0
    assert part in capsys.readouterr().out
    assert main(["run", "--metric", name, "--out", str(tmp_path)]) == 2
    few = {built_in: registry._built_in()[built_in] for built_in in ("bleu", "length")}
    monkeypatch.setattr(registry, "_built_in", functools.cache(lambda: few))
    assert main(["run", "--dataset", "esl", "--out", str(tmp_path)]) == 1
    assert "bleu" in capsys.readouterr().out


@pytest.mark.usefixtures("_fresh")
def test_an_edited_plug_in_is_scored_anew(monkeypatch: pytest.MonkeyPatch, home: Any) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    assert "|code=" in signature(Mine(), Models(home))
    assert "|code=" not in signature(registry.choose("length").metric, Models(home))


def test_a_columns_name_leads_to_its_metric() -> None:
    with pytest.raises(UnknownMetric, match="'bleu-4'; it is a column of 'bleu'"):
        registry.choose("bleu-4")


@pytest.mark.parametrize(("asked", "name", "behind"), [
    ("bleu[references=max]", "bleu", "references=max"), (" bleu ", "bleu", ""),
    ("st:a/b[against=references]", "st:a/b", "against=references"),
    ("evaluate:a[b]/c.py:f1", "evaluate:a[b]/c.py:f1", ""), ("evaluate:a[b]/c.py[x=1]", "evaluate:a[b]/c.py", "x=1"),
])
def test_options_stand_in_the_last_brackets(asked: str, name: str, behind: str) -> None:
    assert registry.split(asked) == (name, behind)


@pytest.mark.parametrize("asked", ["bleu\n", "st:a\x1b[31m", "bleu[smoothing=\x00]"])
def test_a_metric_is_asked_for_in_one_line(asked: str) -> None:
    with pytest.raises(BadOption, match="one line of printable signs"):
        registry.choose(asked)


@pytest.mark.parametrize(("text", "value"), [("3", 3), ("0.5", 0.5), ("true", True), ("False", False), ("en", "en")])
def test_a_value_of_no_known_type_is_read_as_what_it_looks_like(text: str, value: Any) -> None:
    found = registry._plain(text)
    assert (found, type(found)) == (value, type(value))
