"""Metrics of other libraries give the values of the library for each item."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.dataset import Item
from metrics import registry
from metrics.errors import BadOption, BrokenPlugin, MetricError, MissingResource, UnknownMetric
from metrics.external import PREFIXES
from metrics.metric import options, signature
from metrics.models.service import Models
from tests.conftest import make_item, refused

pytestmark = pytest.mark.usefixtures("evaluate_cache")
ITEMS = [
    make_item("one", "hello you", "hello there", "you like tea", context=("what is good", "the tea")),
    make_item("two", "good tea is good", "not the tea", context=("like tea",)),
    make_item("none", "what is the reply", context=()),
    make_item("again", "hello you", "you like tea", context=("the tea",)),
]

SCRIPT = '''
import datasets
import evaluate


class Overlap(evaluate.{kind}):
    def _info(self):
        return evaluate.{kind}Info(description="", citation="", inputs_description="",
                                   features={features})

    def _compute(self, {inputs}):
        {body}
'''
TEXT, TEXTS = "datasets.Value('string')", "datasets.Sequence(datasets.Value('string'))"
SHARED = ("words = set(predictions[0].split()); held = {word for text in references[0] for word in text.split()}; "
          "return {'overlap': [weight * len(words & held) / len(words)]}")


def script(folder: Path, body: str = SHARED, references: str = TEXTS, *, name: str = "overlap", response: str = TEXT,
           arguments: str = "weight=1.0") -> Path:
    parts = {"predictions": response} | ({"references": references} if references else {})
    features = "datasets.Features({" + ", ".join(f"{key!r}: {value}" for key, value in parts.items()) + "})"
    path = folder / f"{name}.py"
    path.write_text(SCRIPT.format(kind="Metric", features=features, inputs=", ".join([*parts, arguments]), body=body))
    return path


def scored(asked: str, items: Sequence[Item], home: Path) -> Any:
    (column,) = registry.choose(asked).metric.score(items, Models(home)).values()
    return column


def test_evaluate_gets_every_reference_as_a_list(tmp_path: Path, home: Path) -> None:
    """'hello you' shares both words with its two references together, and one with each."""
    import evaluate

    path = script(tmp_path)
    module = evaluate.load(str(path))
    column = scored(f"evaluate:{path}", ITEMS, home)
    for item, value in zip(ITEMS, column, strict=True):
        texts = [reference.text for reference in item.references]
        if texts:
            assert item.response is not None
            assert [value] == module.compute(predictions=[item.response.text], references=[texts])["overlap"]
    np.testing.assert_array_equal(column, [1.0, 1 / 3, np.nan, 0.5])
    chosen = registry.choose(f"evaluate:{path}")
    assert chosen.metric.card.columns == (chosen.label,) == ("evaluate:overlap.py",)
    assert chosen.metric.card.needs == ("references",)


def test_a_module_that_takes_one_reference_gets_each_in_turn(tmp_path: Path, home: Path) -> None:
    """Half of the response is in 'hello there', all of it in 'hello you too'; an error rate is negated."""
    path = script(tmp_path, SHARED.replace("references[0]", "references"), TEXT)
    items = [make_item("one", "hello you", "hello there", " ", "hello you too")]
    for references, expected in (("standard", 1.0), ("max", 1.0), ("mean", 0.75), ("first", 0.5)):
        assert scored(f"evaluate:{path}[references={references}]", items, home) == [expected]
    wer = script(tmp_path, "return {'wer': len(references[0])}", TEXT, name="wer")
    assert scored(f"evaluate:{wer}[negated=true]", [make_item("one", "hello", "four", "seventh")], home) == [-4]


def test_a_module_without_references_scores_every_item(tmp_path: Path, home: Path) -> None:
    path = script(tmp_path, "return {'overlap': len(predictions[0].split())}", "", arguments="unit=None")
    assert registry.card(f"evaluate:{path}").needs == ()
    np.testing.assert_array_equal(scored(f"evaluate:{path}", ITEMS, home), [2, 4, 4, 2])
    count = tmp_path / "count.py"
    count.write_text(SCRIPT.format(kind="Measurement", features=f"datasets.Features({{'data': {TEXT}}})", inputs="data",
                                   body="return {'count': len(data[0])}"))
    assert scored(f"evaluate:{count}", ITEMS[:1], home) == [9], "of a measurement the response is the data"


RESULTS: tuple[tuple[str, str, float], ...] = (
    ("{'overlap': 2, 'other': 3}", "", 2), ("{'overlap': 2, 'other': 3}", ":other", 3), ("{'score': [7.5]}", "", 7.5),
    ("{'score': 0.5, 'name': 'x', 'each': [1, 2]}", "", 0.5), ("{'match': True}", "", 1), ("0.25", "", 0.25),
    ("{'score': __import__('numpy').float32(0.5)}", "", 0.5), ("{'a': [[4]], 'b': None}", ":a", 4),
)
NO_NUMBER = (
    ("{'a': 2, 'b': 3}", "", "a, b"), ("{'recall': 2, 'b': 3}", ":recal", "'recall'"),
    ("{'a': 'x', 'b': [1, 2]}", "", ""), ("None", "", ""),
)


def test_the_field_selects_the_value(tmp_path: Path, home: Path) -> None:
    for result, field, expected in RESULTS:
        assert scored(f"evaluate:{script(tmp_path, f'return {result}')}{field}", ITEMS[:1], home) == [expected]
    for result, field, part in NO_NUMBER:
        metric = registry.choose(f"evaluate:{script(tmp_path, f'return {result}')}{field}").metric
        for call in (metric.check_field, lambda metric=metric: metric.score(ITEMS, Models(home))):
            with refused(BadOption, part):
                call()


def test_the_arguments_of_a_module_are_options(tmp_path: Path, home: Path) -> None:
    body = SHARED.replace("weight", "(weight * (power or 1) * (-1 if flag else 1))")
    path = script(tmp_path, body, arguments="weight=1.0, flag=False, power=None, table={}, **more")
    assert set(options(registry.choose(f"evaluate:{path}").metric)) == {"references", "negated", "weight", "flag",
                                                                       "power"}
    chosen = registry.choose(f"evaluate:{path}[flag=true, power=3, weight=2]")
    assert chosen.label.endswith("[flag=True,power=3,weight=2.0]")
    assert chosen.metric.score(ITEMS[:1], Models(home))[chosen.metric.card.name] == [-6]
    with pytest.raises(BadOption, match="'weight'"):
        registry.choose(f"evaluate:{path}[wait=2]")


def test_an_item_without_a_score_is_missing(tmp_path: Path, home: Path) -> None:
    items = [make_item("full", "hello", "tea"), make_item("blank", "", "tea"), make_item("odd", "tea", "tea")]
    indexing = f"evaluate:{script(tmp_path, 'return {0: len(predictions[0].split()[0])}', name='a')}"
    np.testing.assert_array_equal(scored(indexing, items, home), [5, np.nan, 3])
    assert np.isnan(scored(indexing, items[1:2], home)).all()
    divides = script(tmp_path, "return {0: 1 / (predictions[0] == 'hello')}", name="b")
    np.testing.assert_array_equal(scored(f"evaluate:{divides}", items, home), [1, np.nan, np.nan])
    with pytest.raises(MetricError, match="odd: ZeroDivisionError"):
        scored(f"evaluate:{divides}", items[1:], home)
    broken = script(tmp_path, "return {0: {'hello': 1}[predictions[0]]}", name="c")
    with pytest.raises(MetricError, match="odd: KeyError: 'tea'"):
        scored(f"evaluate:{broken}", items, home)


def test_an_edited_script_is_another_metric(tmp_path: Path, home: Path) -> None:
    import evaluate

    path, models = script(tmp_path), Models(home)
    before = signature(registry.choose(f"evaluate:{path}").metric, models)
    assert (before["asked"], before["evaluate"]) == ("evaluate:overlap.py", evaluate.__version__)
    assert before == signature(registry.choose(f"evaluate:{path}").metric, models)
    script(tmp_path, SHARED.replace("1.0", "2.0") + "  # ", arguments="weight=2.0")
    assert signature(registry.choose(f"evaluate:{path}").metric, models)["code"] != before["code"]
    assert scored(f"evaluate:{path}", ITEMS[:1], home) == [2.0]


def test_an_id_is_taken_from_the_librarys_cache(home: Path) -> None:
    import evaluate

    for requested, folder in (("seen", "evaluate-metric--seen"), ("some/seen", "some--seen")):
        cached = Path(evaluate.config.HF_MODULES_CACHE) / "evaluate_modules" / "metrics" / folder / ("0" * 64)
        cached.mkdir(parents=True)
        for package in (cached, cached.parent, cached.parents[1]):
            (package / "__init__.py").touch()
        script(cached, name="seen")
        assert scored(f"evaluate:{requested}:overlap", ITEMS[:1], home) == [1.0]
        assert not evaluate.config.HF_EVALUATE_OFFLINE


def test_a_module_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path) -> None:
    script(tmp_path, name="labels", response="datasets.Value('int32')")
    script(tmp_path, name="floats", references="datasets.Value('float32')")
    script(tmp_path, name="syntax", arguments=")(")
    for name, text in (("package", "import no_such_package_anywhere\n"), ("empty", "x = 1\n"),
                       ("exits", "raise SystemExit(3)\n"), ("opens", "open('not/here')\n")):
        (tmp_path / f"{name}.py").write_text(text)
    for name, part in (
        ("labels", "response"), ("floats", "strings"), ("syntax", "SyntaxError"), ("exits", "SystemExit: 3"),
        ("package", "no_such_package_anywhere"), ("empty", "evaluate.Metric"), ("opens", "FileNotFoundError"),
    ):
        with refused(MissingResource if name == "package" else BrokenPlugin, part):
            registry.choose(f"evaluate:{tmp_path}/{name}.py")


def test_a_library_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name, *more: None if name == "evaluate" else find_spec(name, *more))
    with refused(MissingResource, "[all]"):
        registry.choose("evaluate:wer")


def test_an_unknown_name_is_refused_in_one_line(home: Path) -> None:
    for requested, part in (("evalute:wer", "'evaluate'"), ("bleu:max", "evaluate, judge"), ("judge:", "judge"),
                            (":x", "''"), ("x" * 900 + ":y", "evaluate")):
        with refused(UnknownMetric, part):
            registry.choose(requested)
    for prefix in PREFIXES:
        for name in ("no such thing", "../../nothing", "x" * 5_000, "~nobody/x", "a/b/c:d", "x\ny", "x\x00y", "\udce9",
                     "[", "a[]"):
            with refused(MetricError):
                signature(registry.choose(f"{prefix}:{name}").metric, Models(home))
