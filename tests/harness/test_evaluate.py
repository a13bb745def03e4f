"""Every metric as one of Hugging Face evaluate."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import evaluate as ours
from harness import score
from harness.errors import BadConfig
from harness.evaluate import load
from metrics.errors import CannotScore

pytest.importorskip("evaluate")
pytestmark = pytest.mark.usefixtures("evaluate_cache")

RESPONSES = ["Yes, green tea.", "no", ""]
REFERENCES = [["I love green tea.", "Green tea, yes."], ["not at all"], ["maybe"]]
CONTEXTS = [["hello", "Do you like tea?"], ["Do you like tea?"], []]


def truth(metric: str) -> dict[str, list[float]]:
    items = [{"context": context, "response": response, "references": references}
             for context, response, references in zip(CONTEXTS, RESPONSES, REFERENCES, strict=True)]
    return {name: column.tolist() for name, column in score(metric, items).items()}


def test_compute_gives_the_columns_and_their_means() -> None:
    for metric in ("bleu", "context-overlap", "rouge-l[references=max]"):
        computed: dict[str, Any] = load(metric).compute(predictions=RESPONSES, references=REFERENCES, contexts=CONTEXTS)
        for name, column in truth(metric).items():
            np.testing.assert_array_equal(computed.pop(name), column)
            assert computed.pop(f"mean_{name}") == pytest.approx(np.nanmean(column))
        assert computed == {}


def test_batches_come_together_and_a_text_is_a_reference_or_the_lines_of_a_context() -> None:
    metric = load("chrf")
    metric.add_batch(predictions=RESPONSES[:2], references=REFERENCES[:2])
    metric.add(prediction=RESPONSES[2], reference=REFERENCES[2])
    assert metric.compute()["chrf"] == truth("chrf")["chrf"]
    assert metric.compute(predictions=RESPONSES[:1], references=REFERENCES[:1])["chrf"] == truth("chrf")["chrf"][:1]
    assert metric.compute(predictions=RESPONSES, references=[texts[0] for texts in REFERENCES]) == metric.compute(
        predictions=RESPONSES, references=[texts[:1] for texts in REFERENCES])
    lines = load("context-overlap").compute(predictions=RESPONSES, contexts=["\n".join(turns) for turns in CONTEXTS])
    np.testing.assert_equal(lines["context-overlap"], truth("context-overlap")["context-overlap"])


def test_it_is_a_metric_of_the_library_with_declared_inputs() -> None:
    import datasets
    import evaluate

    metric = load("bleu")
    assert isinstance(metric, evaluate.Metric)
    assert metric.features["predictions"] == datasets.Value("string")
    assert set(metric.features) == {"predictions", "references", "contexts", "facts"}
    assert "Needs references." in metric.description
    together = evaluate.combine([load("length"), metric]).compute(predictions=RESPONSES, references=REFERENCES)
    assert {"length", "mean_length", "bleu-4"} <= set(together)


def test_the_library_loads_every_metric_from_one_script(tmp_path: Path) -> None:
    import evaluate

    script = shutil.copy(ours.SCRIPT, tmp_path / "anywhere.py")  # as in a Space of one's own: nothing lies beside it
    for path, metric in ((ours.SCRIPT, "chrf"), (str(script), "bleu[references=max]")):
        loaded: Any = evaluate.load(path, metric, seed=1)
        computed = loaded.compute(predictions=RESPONSES, references=REFERENCES, contexts=CONTEXTS)
        for name, column in truth(metric).items():
            np.testing.assert_array_equal(computed[name], column)
    with pytest.raises(BadConfig, match=r"name a metric: .* bleu"):
        evaluate.load(ours.SCRIPT)


def test_a_suite_of_the_library_runs_a_metric_over_the_boards() -> None:
    import evaluate

    suite: Any = evaluate.EvaluationSuite.load(ours.SCRIPT)
    assert len(suite.suite) >= 19
    suite.suite = [task for task in suite.suite if task.data in ("fed-turn", "jsalt")]
    rows = suite.run("length")
    assert {row["task_name"] for row in rows} >= {"fed-turn/Overall", "jsalt/appropriateness"}
    assert all(-1 <= row["value"] <= 1 for row in rows if row["statistic"] == "spearman")


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotScore, match="no item has references"):
        load("bleu").compute(predictions=["a"])
    for inputs, message in (({"predictions": ["a"], "references": ["a", "b"]}, "2 references for 1 predictions"),
                            ({"references": ["a"]}, "predictions are missing"), ({}, "nothing to score")):
        with pytest.raises(BadConfig, match=message):
            load("bleu").compute(**inputs)
    with pytest.raises(BadConfig, match="takes no 'responses'"):
        load("bleu").add_batch(responses=["a"])
    ours.metric_class.cache_clear()
    monkeypatch.setitem(sys.modules, "evaluate", None)
    with pytest.raises(BadConfig, match=r"evaluate is not installed; pip install 'dialogue-harness\[all\]'"):
        load("bleu")
    monkeypatch.undo()
    ours.metric_class.cache_clear()
