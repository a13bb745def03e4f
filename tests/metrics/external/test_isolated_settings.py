"""What a folder says of how its metric runs, what a process says of itself, and what goes over the pipe."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.dataset import Item, Reference, Utterance
from metrics.errors import BrokenPlugin
from metrics.external.isolation import settings, wire
from metrics.external.isolation.settings import digest
from metrics.external.isolation.wire import WireError, columns_of, description

CARD = {"name": "words", "title": "Words", "columns": ["words"], "family": "control"}
GOOD = {"protocol": 2, "card": CARD}


def written(folder: Path, text: str) -> settings.Settings:
    (folder / "pyproject.toml").write_text(text)
    return settings.read(folder)


def test_everything_that_can_be_said_and_settings_that_cannot_be(tmp_path: Path) -> None:
    """A folder that says nothing runs with the harness, though a .venv lies in it."""
    said = written(tmp_path, "[tool.harness]\ncommand = ['perl', 'x.pl']\ntimeout = 1.5\nenv = ['A']")
    assert (said.command, said.timeout, said.env) == (("perl", "x.pl"), 1.5, ("A",))
    assert said.apart
    (tmp_path / ".venv").mkdir()
    for text in ("", "[tool.other]\nx = 1", "[tool.harness]\ntimeout = 5"):
        assert not written(tmp_path, text).apart
    (tmp_path / "pyproject.toml").unlink()
    assert not settings.read(tmp_path).apart
    for text, message in WRONG.items():
        with pytest.raises(BrokenPlugin, match=message):
            written(tmp_path, text)


WRONG = {
    "x": "is not TOML", "[tool]\nharness = 1": r"\[tool.harness\]",
    "[tool.harness]\npython = 'nowhere'": "nowhere",
    "[tool.harness]\npyhton = 'x'": "'pyhton'.*did you mean 'python'",
    "[tool.harness]\npython = 'x'\ncommand = ['x']": "python or command",
    "[tool.harness]\ncommand = 'perl x.pl'": "command",
    "[tool.harness]\nenv = [1]": "env",
    "[tool.harness]\ntimeout = 0": "timeout",
    "[tool.harness]\ntimeout = nan": "timeout",
    "[tool.harness]\ntimeout = true": "timeout",
}


def test_which_metric_a_folder_holds(tmp_path: Path) -> None:
    for points, names in (("", "none"), ("a = 'a:A'\nb = 'b:B'", "a, b"), ("a = 'a'", "a")):
        written(tmp_path, f"[project.entry-points.'harness.metrics']\n{points}")
        with pytest.raises(BrokenPlugin, match=f"should hold one line.* and names {names}"):
            settings.metric_of(tmp_path)
    written(tmp_path, "[project.entry-points.'harness.metrics']\nb = 'b:B'")
    assert settings.metric_of(tmp_path) == ("b", "b:B")


def test_a_description_with_every_kind_of_option_and_what_is_none() -> None:
    found = description({**GOOD, "environment": ["perl==5"], "options": [
        {"name": "n", "type": "int", "default": 1}, {"name": "x", "type": "float", "default": 1},
        {"name": "w", "choices": ["a", "b"], "default": "b"}, {"name": "f", "type": "file", "default": ""}]})
    assert [default for _, _, default in found.options] == [1, 1.0, "b", ""]
    assert found.card.columns == ("words",)
    assert found.card.levels == ("turn",)
    for more, message in NO_DESCRIPTION:
        with pytest.raises(WireError, match=message):
            description({**GOOD, **more})


NO_DESCRIPTION: list[tuple[dict[str, Any], str]] = [
    ({"protocol": 1}, "speaks protocol 1, and this is 2"),
    ({"card": None}, "its card: should be an object"),
    ({"card": {**CARD, "colour": "red"}}, "its card: has a field 'colour'"),
    ({"card": {**CARD, "columns": "words"}}, "its card, columns: should be a list"),
    ({"card": {**CARD, "columns": ["a\n"]}}, "which is no word"),
    ({"card": {**CARD, "levels": ["song"]}}, "its card, levels: should be one of turn, dialogue"),
    ({"card": {**CARD, "scope": "world"}}, "its card, scope: should be one of item, dataset"),
    ({"card": {**CARD, "revision": True}}, "its card, revision: should be a whole number"),
    ({"card": {**CARD, "title": 1}}, "its card, title: should be text"),
    ({"options": 1}, "its options: should be a list"),
    ({"options": [1]}, "its options: should be an object"),
    ({"options": [{"name": "class", "type": "int", "default": 1}]}, "a name that Python takes"),
    ({"options": [{"name": "score", "type": "int", "default": 1}]}, "a name that Python takes"),
    ({"options": [{"name": "n", "type": "list", "default": []}]}, "one of int, float"),
    ({"options": [{"name": "n", "type": "int", "default": True}]}, "default.* is True"),
    ({"options": [{"name": "n", "choices": ["a"], "default": "b"}]}, "the default among them"),
    ({"options": [{"name": "n", "type": "int", "default": 1}] * 2}, "options of one name"),
    ({"environment": "perl"}, "its environment: should be a list"),
]


def test_the_digest_is_of_what_decides_scores(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("1")
    first = digest(tmp_path)
    for skipped in (".venv/lib/x.py", "results/report/report.json", "__pycache__/x.pyc", "tests/test_x.py",
                    "a.egg-info/x"):
        (tmp_path / skipped).parent.mkdir(parents=True)
        (tmp_path / skipped).write_text("2")
    assert digest(tmp_path) == first
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "words.txt").write_text("3")
    second = digest(tmp_path)
    (tmp_path / "lib" / "words.txt").rename(tmp_path / "lib" / "other.txt")
    assert len({first, second, digest(tmp_path)}) == 3


ITEMS = (
    Item("a", (Utterance("user", "hello\n\0 ü 你好"), Utterance("system", "")), Utterance("system", "hi")),
    Item("b", (), None, (Reference("yes", 0.1), Reference("no", -1.0)), ("a fact",), "bot"),
    Item("c", (), Utterance("", "")),
)


def over(message: dict[str, Any]) -> dict[str, Any]:
    """A message as it arrives."""
    line = wire.encoded(message)
    assert line.count(b"\n") == 1
    return wire.decoded(line)


def test_items_come_back_as_they_were_and_columns_to_the_last_bit() -> None:
    for items in (ITEMS, ()):
        assert wire.items_of(over({"items": [item.record for item in items]})["items"]) == items
    assert over({"text": "x\ud800y \U0001f600"}) == {"text": "x\ufffdy \U0001f600"}
    columns = {"x": np.array([0.1, math.nan, -1e-300, 1 / 3]), "y@z": np.array([1.0, 2.0, 3.0, 4.0])}
    read = columns_of(over({"columns": wire.columns_record(columns)})["columns"])
    assert list(read) == ["x", "y@z"]
    assert all(np.array_equal(read[name], columns[name], equal_nan=True) for name in columns)
    with pytest.raises(WireError, match="column x holds an infinite score"):
        wire.columns_record({"x": np.array([math.inf])})


def test_what_holds_no_scores_and_no_items_is_refused() -> None:
    for columns, message in (
        (b'{"x": [NaN]}', "NaN is no JSON"), (b'{"x": [-Infinity]}', "-Infinity is no JSON"),
        (b'{"x": [true]}', "column x holds True, which is no number"), (b'{"x": [[1]]}', "which is no number"),
        (b'{"x": "12"}', "column x is no list"), (b"[]", "an object of lists"), (b"", "cannot be read as JSON"),
        (b"\xff", "cannot be read as JSON"), (b'{"x": [1' + b"0" * 400 + b"]}", "out of range"),
        (b"[" * 100_000, "cannot be read as JSON"),
    ):
        with pytest.raises(WireError, match=message):
            columns_of(wire.decoded(b'{"columns": ' + columns + b"}\n")["columns"])
    for records in ([{}], [1], {"a": 1}, [{"id": "a", "context": [1]}], 7):
        with pytest.raises(WireError):
            wire.items_of(records)
