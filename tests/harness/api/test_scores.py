"""`from harness import score`: the scores of a run, for items, datasets and dicts."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import SYSTEM, USER, Item
from harness import score
from harness.api import run
from harness.api import scores as api
from harness.cli import main
from harness.errors import BadConfig
from harness.scoring import pairs
from harness.scoring.store import ScoreStore
from metrics.control.length import Length
from metrics.errors import CannotScore, UnknownMetric
from metrics.models.service import Choice, Models
from metrics.registry import choose
from tests.faults.runs import flags

TEA = {"context": ["hello", "Do you like tea?"], "response": "Yes, green tea.", "references": ["I love green tea."]}


def plain(item: Item) -> dict[str, object]:
    return {"context": [{"speaker": turn.speaker, "text": turn.text} for turn in item.context],
            "response": item.response.text if item.response else "",
            "references": [reference.text for reference in item.references], "facts": list(item.facts)}


def test_scores_equal_those_of_a_run(tmp_path: Path, home: Path, tiny_encoder: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Covers a lexical metric, a composite and a network, whose weights are loaded once."""
    from metrics.models import encoder

    dataset = datasets.sample(datasets.card("persona-usr"))
    names = ("bleu", "chrf[word_order=2]", "rank-average[inputs=length+chrf]", "cosine")
    assert main(["run", "--out", str(tmp_path), "--dataset", "persona-usr", *flags("--metric", names), "--draws", "0",
                 "--encoder", str(tiny_encoder)]) == 0
    loaded: list[object] = []
    monkeypatch.setattr(encoder, "Encoder", lambda *args, made=encoder.Encoder: loaded.append(args) or made(*args))
    for name in names:
        key = pairs.store_key(choose(name, seed=0).metric, dataset, Models(home, Choice(encoder=str(tiny_encoder))))
        stored = ScoreStore(tmp_path / "scores").get(dataset.fingerprint, key)
        assert stored is not None
        forms = (dataset, dataset.items) if name == names[2] else (dataset, dataset.items, [*map(plain, dataset.items)])
        for items in forms:
            scores = score(name, items, encoder=str(tiny_encoder))  # type: ignore[arg-type]
            np.testing.assert_equal(scores, dict(stored.columns))
    assert len(loaded) == 1


def test_speakers_alternate_backwards_from_the_response() -> None:
    item = api._item(0, TEA)
    assert [turn.speaker for turn in item.context] == [SYSTEM, USER]
    assert api._item(0, {**TEA, "context": "hello\n\nDo you like tea?\n"}) == item
    item = api._item(0, {"dialogue": ["a", {"speaker": "system", "text": "b"}], "facts": "one\ntwo"})
    assert [(turn.speaker, turn.text) for turn in item.context] == [("first", "a"), ("system", "b")]
    assert (item.response, item.facts) == (None, ("one", "two"))
    (turn, _) = api._item(0, {"dialogue": [{"role": "assistant", "content": "c"}, "d"]}).context
    assert (turn.speaker, turn.text) == (SYSTEM, "c")
    dialogue = {"dialogue": ["one two", "one two three", "one"]}
    assert score("length", [dialogue])["length"] == [2.0], "without names every turn is scored"


def test_system_prompts_are_left_out() -> None:
    prompt, hello = {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}
    reply = {"role": "assistant", "content": "Yo"}
    assert [turn.text for turn in api._item(0, {"context": [prompt, hello], "response": "Yo"}).context] == ["Hi"]
    assert [turn.text for turn in api._item(0, {"dialogue": [prompt, hello, reply]}).context] == ["Hi", "Yo"]
    assert len(api._item(0, {"dialogue": [hello, prompt]}).context) == 2


def test_invalid_items_are_refused() -> None:
    for part, *items in (
            ("items[0]", "hello"), ("items[1]", TEA, {"contexts": [], "response": "a"}), ("items[0]", {"context": "a"}),
            ("items[0].context[0]", {"context": [1], "response": "a"})):
        with pytest.raises(BadConfig, match=re.escape(part)):
            score("length", items)  # type: ignore[arg-type]
    for items in ([{"context": ["hello"], "response": "hi"}], []):
        with pytest.raises(CannotScore):
            score("bleu", items)
    for metric, other in ((["bleu", "length"], [TEA]), (None, [TEA]), ("length", 5), ("length", "tea"),
                          ("length", {"context": [["a"]], "response": ["b"]}), ("length", [TEA, {"dialogue": ["a"]}]),
                          ("length", [{**TEA, "id": "x"}, {**TEA, "id": "x"}])):
        with pytest.raises(BadConfig):
            score(metric, other)  # type: ignore[arg-type]
    for call in (lambda: score(Length(), [TEA]), lambda: run([Length()])):  # type: ignore[arg-type, list-item]
        with pytest.raises(BadConfig, match="Length"):
            call()
    with pytest.raises(UnknownMetric, match="'length'"):
        score("lenght", [TEA])


def test_items_without_a_response_have_no_score() -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (None, float("nan"), pandas.NA):
        rows = [TEA, {**TEA, "response": missing}, {**TEA, "references": missing, "context": missing}]
        for items in (rows, pandas.DataFrame(rows), iter(rows)):
            np.testing.assert_equal(score("length", items)["length"], [3, np.nan, 3])
        with pytest.raises(CannotScore):
            score("length", rows[1])
    assert score("length", TEA)["length"].tolist() == [3]


def test_tables_have_an_item_per_row_and_ignore_other_columns(tmp_path: Path) -> None:
    pandas, datasets = pytest.importorskip("pandas"), pytest.importorskip("datasets")
    rows = [{"context": ["Tea?"], "response": "Green tea, please."}, {"context": ["Hi", "Ho"], "response": "Bye!"}]
    expected = score("length", rows)["length"]
    columns = {name: [row[name] for row in rows] for name in ("context", "response")}
    columns |= {"split": ["a", "b"], "n": [1, 2]}
    pandas.DataFrame({**columns, "system": ["a", None]}).to_parquet(file := tmp_path / "items.parquet")
    for table in ([{**row, "split": "a"} for row in rows], pandas.read_parquet(file),
                  datasets.Dataset.from_dict(columns)):
        assert score("length", table)["length"].tolist() == expected.tolist()
    named = {"context": [["Tea?"]], "response": ["Green tea"], "reference": ["Green tea"]}
    assert score("rouge-l", datasets.Dataset.from_dict(named)) == score("rouge-l", pandas.DataFrame(named)) == {
        "rouge-l": [1.0]}
    with pytest.raises(BadConfig):
        score("length", pandas.DataFrame({"prompt": ["Ho"], "reply": ["Hi"]}))


def test_rows_of_a_frame_are_items() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"response": ["Green tea", "No"], "reference": "Green tea", "n": 1})
    assert score("rouge-l", frame.iloc[0])["rouge-l"].tolist() == [1]
    assert score("rouge-l", [row for _, row in frame.iterrows()])["rouge-l"].tolist() == [1, 0]


def test_items_may_hold_arrays_and_references_without_weight() -> None:
    for weight in ({}, {"weight": None}, {"weight": float("nan")}):
        references = np.array([{"text": "I love green tea.", **weight}])
        assert api._item(0, {**TEA, "context": np.array(TEA["context"]), "references": references}) == api._item(0, TEA)
    with pytest.raises(BadConfig, match="weight"):
        api._item(0, {**TEA, "references": [{"text": "Tea.", "weight": [1]}]})


def test_polars_frames_are_tables() -> None:
    polars = SimpleNamespace(columns=("response",), to_dict=None, to_dicts=lambda: [{"response": "Green tea"}])
    assert score("length", polars)["length"].tolist() == [2]  # type: ignore[arg-type]


def test_tables_with_both_reference_and_references_are_refused() -> None:
    table = {"response": ["Green tea"], "references": [["Green tea"]], "reference": ["No"]}
    for columns in (table, dict(reversed(table.items()))):
        with pytest.raises(BadConfig):
            score("bleu", pytest.importorskip("pandas").DataFrame(columns))
