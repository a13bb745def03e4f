"""Every metric as one of Hugging Face evaluate: `from harness.evaluate import load`.

    grade = load("grade")
    grade.compute(predictions=["Yes, green tea."], contexts=[["Do you like tea?"]])

gives {"grade": [...], "mean_grade": ...}: a list of scores for each column, and the mean of those that there are.

A prediction is a response. Beside it may stand, each a list as long as the predictions: `references` (a text or a list
of them), `contexts` (the turns before, the oldest first, as a list or as lines) and `facts`. What a metric does not
need may be left out. `add` and `add_batch` work as with any other metric of that library.

The library loads the same itself, from a script that stands alone and may be a Space of the hub:

    evaluate.load(SCRIPT, "grade")
    evaluate.EvaluationSuite.load(SCRIPT).run("grade")        a metric over the datasets of the boards

The library is optional: the extra [all] brings it, and nothing here is imported without it.
"""

from __future__ import annotations

import functools
import inspect
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import registry as datasets_here
from harness.api.runs import run
from harness.api.scores import score
from harness.errors import BadConfig
from metrics import registry

SCRIPT = str(Path(__file__).with_name("dialogue_harness.py"))
"""What `evaluate.load` and `EvaluationSuite.load` take."""

OPTIONS = frozenset(inspect.signature(score).parameters) - {"metric", "items"}
INPUTS = ("predictions", "references", "contexts", "facts")
DESCRIBED = """
Args:
    predictions: responses, one text each.
    references: for each response the replies of people, a text or a list of texts.
    contexts: for each response the turns before it, the oldest first, as a list of texts or as lines of one text.
    facts: for each response the persona or knowledge, a text or a list of texts.
"""


def load(name: str, **options: Any) -> Any:
    """The metric of that name as an `evaluate.Metric`; `options` are those of `harness.score`, such as encoder."""
    return metric_class()(name, **options)


@functools.cache
def metric_class() -> type[Any]:
    """The class of all metrics, of which the configuration names one; it exists only where the library does."""
    _check_libraries()
    import datasets
    import evaluate

    texts = datasets.Sequence(datasets.Value("string"))
    features = datasets.Features({"predictions": datasets.Value("string"), **dict.fromkeys(INPUTS[1:], texts)})

    class HarnessMetric(evaluate.Metric):  # type: ignore[misc]  # the library has no types
        """A metric of the harness."""

        def __init__(self, config_name: str | None = None, **options: Any) -> None:
            self._asked = config_name or ""
            if not self._asked:
                raise BadConfig(f"name a metric: load(path, 'bleu'); known: {', '.join(registry.names())}")
            self._options = {name: value for name, value in options.items() if name in OPTIONS}
            theirs = {name: value for name, value in options.items() if name not in OPTIONS}
            super().__init__(config_name, **{**theirs, "keep_in_memory": True})

        def _info(self) -> Any:
            card = registry.choose(self._asked).metric.card
            needs = f"Needs {', '.join(card.needs)}." if card.needs else ""
            return evaluate.MetricInfo(description=" ".join(filter(None, (f"{card.title}.", card.notes, needs))),
                                       citation=card.paper, inputs_description=DESCRIBED, features=features)

        def compute(self, **given: Any) -> dict[str, Any] | None:
            """Score what was added and what is given: a list of scores per column, and their mean."""
            inputs = {key: value for key, value in given.items() if key in INPUTS and value is not None}
            if inputs:
                self.add_batch(**inputs)
            if self.writer is None:
                raise BadConfig(f"{self._asked}: nothing to score; compute(predictions=[...]) or add_batch first")
            result: dict[str, Any] | None = super().compute(
                **{key: value for key, value in given.items() if key not in INPUTS})
            return result

        def add_batch(self, **given: Any) -> None:
            """Take in some responses with what stands beside them."""
            super().add_batch(**_filled(self._asked, given))

        def add(self, **given: Any) -> None:
            """Take in one response: prediction, reference, context, fact."""
            self.add_batch(**{f"{key}s": [value] for key, value in given.items() if value is not None})

        def _compute(self, **given: Any) -> dict[str, Any]:
            items = [{"context": context, "response": response, "references": references, "facts": facts}
                     for response, references, context, facts in zip(*(given[key] for key in INPUTS), strict=True)]
            columns = score(self._asked, items, **self._options)
            means = {f"mean_{name}": float(np.nanmean(column)) if np.isfinite(column).any() else np.nan
                     for name, column in columns.items()}
            return {**{name: column.tolist() for name, column in columns.items()}, **means}

    return HarnessMetric


def suite_class() -> type[Any]:
    """A suite of the library: a task for each dataset of the boards, and a metric in the place of a model."""
    _check_libraries()
    import evaluate
    from evaluate.evaluation_suite import SubTask

    class Suite(evaluate.EvaluationSuite):  # type: ignore[misc]  # the library has no types
        """How well a metric agrees with people on every quality of every dataset; `suite` may be cut to some."""

        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.suite = [SubTask("dialogue-metric", card.name, split=card.split)
                          for card in datasets_here.cards().values()]

        def run(self, model_or_pipeline: str) -> list[dict[str, Any]]:
            """The correlations of a metric as rows of `task_name`, column, statistic, value and what goes with it."""
            self.assert_suite_nonempty()
            with tempfile.TemporaryDirectory() as folder:
                names = [task.data for task in self.suite]
                results = run(model_or_pipeline, names, out=folder, draws=0, progress=False)
                rows = results.correlations().to_dict("records")
            return [{"task_name": f"{row['dataset']}/{row['quality']}", **row} for row in rows]

    return Suite


def _check_libraries() -> None:
    """BadConfig where one of the libraries is not here."""
    try:
        import datasets  # noqa: F401
        import evaluate  # noqa: F401
    except ImportError as error:
        raise BadConfig(f"{error.name} is not installed; pip install 'dialogue-harness[all]' brings it") from error


def _filled(asked: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every input, with an empty list of texts for each response where one is left out."""
    if unknown := sorted(given.keys() - set(INPUTS)):
        raise BadConfig(f"{asked}: takes no {unknown[0]!r}; known: {', '.join(INPUTS)}")
    if given.get("predictions") is None:
        raise BadConfig(f"{asked}: predictions are missing")
    filled: dict[str, Any] = {"predictions": list(given["predictions"])}
    for name in INPUTS[1:]:
        values = [()] * len(filled["predictions"]) if given.get(name) is None else list(given[name])
        if len(values) != len(filled["predictions"]):
            raise BadConfig(f"{asked}: {len(values)} {name} for {len(filled['predictions'])} predictions")
        filled[name] = [_texts(value, lines=name != "references") for value in values]
    return filled


def _texts(value: Any, *, lines: bool) -> list[Any]:
    """Texts of one response: a list of them, or one text; None is no text."""
    if value is None:
        return []
    if isinstance(value, str):
        return [line for line in value.split("\n") if line.strip()] if lines else [value]
    return list(value) if isinstance(value, Sequence | np.ndarray) else [value]
