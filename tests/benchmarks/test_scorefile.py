"""Score files: every form read alike, and every problem told at once with its line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import registry
from benchmarks.dataset import Quality
from benchmarks.formats.scorefile import EVERY, Expected, ScoreFile, counts, expected, read, template, told
from benchmarks.formats.scorefile.expected import folded
from tests.conftest import make_dataset

IDS = ("toy_0", "toy_1", "toy_2")
WANTED = Expected({"toy": IDS}, {"toy": ("overall", "Natural")})
GOOD = "dialogue_id,score\ntoy_0,0.5\ntoy_1,-2\ntoy_2,1e-3\n"
VALUES = [0.5, -2.0, 0.001]


def found(folder: Path, content: str | bytes, name: str = "mine.csv", wanted: Expected = WANTED) -> ScoreFile:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path, wanted)


def parquet(folder: Path, **columns: object) -> bytes:
    pq.write_table(pa.table(columns), folder / "made")
    return (folder / "made").read_bytes()


def records(ids: tuple[str, ...] = IDS) -> list[dict[str, object]]:
    return [{"dialogue_id": name, "model": "m", "score": value} for name, value in zip(ids, VALUES, strict=True)]


FORMS = {
    "mine.csv": GOOD,
    "semicolon.csv": GOOD.replace(",", ";"),
    "tab.csv": GOOD.replace(",", "\t"),
    "mine.TSV": GOOD.replace(",", "\t"),
    "windows.csv": GOOD.replace("\n", "\r\n"),
    "bom.csv": b"\xef\xbb\xbf" + GOOD.encode(),
    "blanks.csv": "\tDialogue_ID , Score\n toy_0 , 0.5\n\ntoy_1,-2 \ntoy_2,1e-3",
    "turned.csv": "score,item\n0.5,toy_0\n-2,toy_1\n1e-3,toy_2\n",
    "more.csv": "id,raw_output,score\ntoy_0,\"{\n\"\"a\"\": 1,\n}\",0.5\ntoy_1,\"=1+1\",-2\ntoy_2,,1e-3\n",
    "mine.jsonl": "".join(json.dumps(record) + "\n" for record in records()),
    "blank.ndjson": "\n".join(["", *(json.dumps(record) for record in records()), ""]),
    "list.json": json.dumps(records(), indent=1),
    "object.json": json.dumps(dict(zip(IDS, VALUES, strict=True))),
    "quoted.jsonl": "".join(json.dumps(record | {"score": str(record["score"])}) + "\n" for record in records()),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_scores(name: str, tmp_path: Path) -> None:
    read_ = found(tmp_path, FORMS[name], name)
    assert [one for one in read_.problems if not one.note] == []
    assert list(read_.scores) == [("toy", EVERY)]
    np.testing.assert_array_equal(read_.scores["toy", EVERY], VALUES)
    assert read_.digest == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


@pytest.mark.parametrize(("ids", "scores"), [
    (pa.array(IDS), pa.array(VALUES)), (pa.array(IDS, pa.large_string()), pa.array(VALUES)),
    (pa.array(IDS, pa.string_view()), pa.array(VALUES)), (pa.array(IDS).dictionary_encode(), pa.array(VALUES)),
    (pa.array(IDS), pa.array(["0.5", "-2", "1e-3"])), (pa.array(IDS), pa.array(VALUES).dictionary_encode()),
], ids=["strings", "large", "views", "dictionary", "numbers as text", "numbers as dictionary"])
def test_parquet_gives_the_same_scores(ids: object, scores: object, tmp_path: Path) -> None:
    content = parquet(tmp_path, dialogue_id=ids, votes=[[1, 2]] * 3, score=scores)
    read_ = found(tmp_path, content, "mine.parquet")
    np.testing.assert_array_equal(read_.scores["toy", EVERY], VALUES)
    assert [(one.kind, one.id) for one in read_.problems] == [("extra column", "votes")]
    assert read_.unit == "row"


def test_the_score_for_a_quality_goes_before_that_for_all(tmp_path: Path) -> None:
    read_ = found(tmp_path, GOOD + "toy_1|overall,7\ntoy_2|overall,9\n")
    assert read_.problems == ()
    np.testing.assert_array_equal(read_.on("toy", "overall"), [0.5, 7, 9])
    np.testing.assert_array_equal(read_.on("toy", "Natural"), VALUES)


def test_a_quality_that_is_not_scored_is_missing_as_a_whole(tmp_path: Path) -> None:
    read_ = found(tmp_path, "dialogue_id,score\ntoy_0|overall,1\ntoy_1|overall,2\n")
    assert [(one.kind, one.id, one.text, one.count) for one in read_.problems] == [
        ("missing", "toy", "no item has a score for Natural", 3),
        ("missing", "toy_2", "has no score for overall", 1)]
    assert read_.fatal == ()
    assert read_.on("toy", "Natural") is None
    np.testing.assert_array_equal(read_.on("toy", "overall"), [1, 2, np.nan])


def test_what_nobody_rated_needs_no_score(tmp_path: Path) -> None:
    dataset = make_dataset(["a", "b"], [(1.0,), ()])
    wanted = expected([dataset])
    assert wanted.unrated == {("toy", "overall"): frozenset({"toy_00001"})}
    assert found(tmp_path, "dialogue_id,score\ntoy_00000|overall,1\n", wanted=wanted).problems == ()
    private = make_dataset(["a", "b"], [(), ()])
    assert expected([private]).unrated == {}, "where nobody rated anything the ratings are private"


def test_an_item_of_two_datasets_is_scored_in_both(tmp_path: Path) -> None:
    wanted = Expected({"one": ("a", "b"), "two": ("b", "c")}, {"one": ("q",), "two": ("q",)})
    read_ = found(tmp_path, "dialogue_id,score\na,1\nb,2\nc,3\n", wanted=wanted)
    assert {dataset: list(read_.on(dataset, "q")) for dataset in read_.datasets} == {"one": [1, 2], "two": [2, 3]}


def test_datasets_that_are_not_in_it_are_missing_or_left_alone(tmp_path: Path) -> None:
    wanted = Expected({"toy": IDS, "other": ("x", "y")}, {"toy": ("overall",), "other": ("q",)})
    (problem,) = found(tmp_path, GOOD, wanted=wanted).problems
    assert (problem.kind, problem.id, problem.count, problem.fatal) == ("missing", "other", 2, False)
    assert read(tmp_path / "mine.csv", wanted, whole=False).problems == ()


NUMBERS = {
    "": "missing", "nan": "no number", "N/A": "no number", "null": "no number", '"1,5"': "no number",
    "0x10": "no number", "1_000": "no number", "１２": "no number", "1e": "no number", "--1": "no number",
    "1 2": "no number", "=cmd()": "no number", "+SUM(A1)": "no number", "<b>1</b>": "no number", "True": "no number",
    "1" * 401: "no number", "inf": "infinite", "-Infinity": "infinite", "1e400": "infinite", "-1e999999999": "infinite",
    "\x1b[31m1": "no number", "1\u202e": "no number", "٣": "no number",
}


@pytest.mark.parametrize("cell", NUMBERS)
def test_what_is_no_number_is_told_with_its_line_and_its_score_is_missing(cell: str, tmp_path: Path) -> None:
    read_ = found(tmp_path, f"dialogue_id,score\ntoy_0,1\ntoy_1,{cell}\ntoy_2,2\n")
    (problem,) = read_.problems
    assert (problem.kind, problem.line, problem.id) == (NUMBERS[cell], 3, "toy_1")
    assert problem.fatal == (NUMBERS[cell] != "missing")
    assert problem.text.isascii()
    assert problem.text.isprintable()
    np.testing.assert_array_equal(read_.scores["toy", EVERY], [1, np.nan, 2])


@pytest.mark.parametrize("cell", ["1", "+1.", ".5", "-0.25e-3", "1E5", "007", "1e-400", "0" * 300 + "1"])
def test_decimal_numbers_are_taken_as_python_reads_them(cell: str, tmp_path: Path) -> None:
    read_ = found(tmp_path, f"dialogue_id,score\ntoy_0,{cell}\ntoy_1,2\ntoy_2,3\n")
    assert read_.problems == ()
    assert read_.scores["toy", EVERY][0] == float(cell)


@pytest.mark.parametrize(("value", "kind"), [
    ("null", "missing"), ("true", "no number"), ("[1]", "no number"), ('{"a": 1}', "no number"), ('"x"', "no number"),
    ("NaN", "no number"), ("Infinity", "infinite"), ("1e400", "infinite"), ("9" * 400, "infinite"), ('""', "missing"),
])
def test_values_of_json_that_are_no_number(value: str, kind: str, tmp_path: Path) -> None:
    lines = '{"id": "toy_0", "score": 1}\n\n{"id": "toy_1", "score": ' + value + '}\n{"id": "toy_2", "score": 2}\n'
    (problem,) = found(tmp_path, lines, "mine.jsonl").problems
    assert (problem.kind, problem.line, problem.id) == (kind, 3, "toy_1")


UNKNOWN = {
    "toy_9": (False, "did you mean 'toy_2'"), "zebra": (False, "is no known item"), "": (True, "has no id"),
    "Toy_0": (True, "looks like"), "toy_0\u200b": (True, "looks like"), "ｔoy_0": (True, "looks like"),
    "toy_0\xa0": (True, "looks like"), "toy_0|Overall": (True, "looks like"),
    "toy_0|overal": (False, "toy has no quality 'overal'; known: overall, Natural; did you mean 'overall'"),
    "=HYPERLINK(1)": (False, "is no known item"), "../../etc/passwd": (False, "is no known item"),
    "<script>alert(1)</script>": (False, "is no known item"), "\x1b]0;x\x07": (False, "is no known item"),
    "t\u043ey_0": (False, "is no known item"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_ids_that_are_not_known_are_not_taken(name: str, tmp_path: Path) -> None:
    read_ = found(tmp_path, f'{GOOD}"{name}",3\n')
    (problem,) = read_.problems
    fatal, text = UNKNOWN[name]
    assert (problem.kind, problem.line, problem.fatal) == ("unknown", 5, fatal)
    assert text in problem.text
    assert (problem.id + problem.text).isascii()
    assert (problem.id + problem.text).isprintable()
    np.testing.assert_array_equal(read_.scores["toy", EVERY], VALUES)


def test_an_id_in_two_unicode_forms_is_told() -> None:
    assert folded("caf\u00e9_1") == folded("cafe\u0301_1 ")
    wanted = Expected({"toy": ("caf\u00e9_1",)}, {"toy": ("q",)})
    assert wanted.lookalike("cafe\u0301_1") == "caf\u00e9_1"


def test_a_file_of_other_ids_is_refused(tmp_path: Path) -> None:
    read_ = found(tmp_path, "dialogue_id,score\nother_0,1\nother_1,2\n")
    (whole,) = read_.fatal
    assert whole.text == "none of its 2 ids is an item of toy"


@pytest.mark.parametrize("again", ["toy_1,-2", "toy_1,5", " toy_1 ,5"])
def test_an_id_that_stands_there_twice_is_refused_with_both_lines(again: str, tmp_path: Path) -> None:
    read_ = found(tmp_path, f"{GOOD}\n{again}\n")
    (problem,) = read_.problems
    assert (problem.kind, problem.line, problem.text) == ("duplicate", 6, "stands on line 3 already")
    assert problem.fatal
    np.testing.assert_array_equal(read_.scores["toy", EVERY], [0.5, np.nan, 0.001])


def test_constant_scores_are_told(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, "dialogue_id,score\ntoy_0,2\ntoy_1,2\ntoy_2,2\n").problems
    assert (problem.kind, problem.id, problem.fatal) == ("constant", "toy", False)


def test_everything_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    read_ = found(tmp_path, "dialogue_id,note,score\ntoy_0,,x\nother,,1\ntoy_1,,inf\ntoy_1,,4\n")
    kinds = [(one.kind, one.line) for one in read_.problems]
    assert kinds == [("extra column", 1), ("no number", 2), ("unknown", 3), ("infinite", 4), ("duplicate", 5),
                     ("missing", 0)]
    assert counts(read_.problems)["missing"] == 1


def test_of_many_problems_the_first_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    read_ = found(tmp_path, GOOD + "".join(f"far_{number},1\n" for number in range(100)))
    lines = list(told(read_.problems, read_.unit))
    assert len(lines) == 21
    assert lines[0].startswith("unknown: line 5: far_0: ")
    assert lines[-1] == "unknown: and 80 more"
    assert counts(read_.problems) == {"unknown": 100}


UNREADABLE = {
    "no header": ("toy_0,1\n", 1, "has no column dialogue_id and score"),
    "empty": ("", 1, "has no column dialogue_id and score (it has: none)"),
    "no score": ("dialogue_id,value\ntoy_0,1\n", 1, "has no column score"),
    "ratings": ("dialogue_id,annotations.overall\ntoy_0,1\n", 1, "hold what people said"),
    "two ids": ("id,item,score\na,b,1\n", 1, "has the columns item and id"),
    "twice": ("id,score,Score\na,1,2\n", 1, "has the column score twice"),
    "open quote": (GOOD + '"toy_0,1\ntoy_1,2\n', 5, "a quote opens here that never closes"),
    "stray quote": (GOOD + '"toy_0"x,1\n', 5, "is no table"),
    "carriage return": (GOOD + "toy_0,1\rtoy_1,2\n", 5, "carriage return"),
    "null byte": (GOOD + "toy_0\0,1\n", 5, "null byte"),
    "latin-1": (GOOD.encode() + "été,1\n".encode("latin-1"), 5, "byte 0xe9 at place 1 is no UTF-8"),
    "utf-16": (GOOD.encode("utf-16"), 1, "UTF-16"),
    "pickle": (b"\x80\x04\x95\x00", 1, "a pickle"),
    "zip": (b"PK\x03\x04 and more", 1, "an archive"),
    "long line": (GOOD + "x" * (1 << 20) + ",1\n", 5, "longer than 1,048,576 bytes"),
    "long row over lines": (GOOD + ('"' + "x" * 999 + '\n",') * 1100, 1050, "longer than 1,048,576 bytes"),
    "long cell": (GOOD + "x" * 200_000 + ",1\n", 5, "field larger than field limit"),
    "too many lines": (GOOD + "\n" * 30_000, 20_721, "more than 20,720 lines"),
    "too many rows": (GOOD + "toy_0,1\n" * 2000, 1038, "more than 1,036 rows"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_table_that_cannot_be_read_says_where_it_stops(case: str, tmp_path: Path) -> None:
    content, line, text = UNREADABLE[case]
    read_ = found(tmp_path, content)
    (problem,) = read_.problems
    assert (problem.kind, problem.line, problem.fatal) == ("unreadable", line, True)
    assert text in problem.text
    assert read_.scores == {}


@pytest.mark.parametrize(("content", "line", "text"), [
    ('{"id": "toy_0", "score": 1}\n{"id": \n', 2, "is no JSON"), ("[1]\n", 1, "is no object"),
    ("{}\n", 1, "has no field"), ('{"id": 5, "score": 1}\n', 1, "its id is no text"),
    ('{"id": "a", "score": 1, "score": 2}\n', 1, "has the field score twice"), ("[" * 100_000, 1, "is no JSON"),
    ('{"id": "a", "score": ' + "9" * 5000 + "}\n", 1, "is no JSON that can be read"),
    ('{"dialogue_id": "a", "annotations.x": [1]}\n', 1, "hold what people said"),
])
def test_json_lines_that_cannot_be_read(content: str, line: int, text: str, tmp_path: Path) -> None:
    problem = found(tmp_path, content, "mine.jsonl").fatal[0]
    assert (problem.kind, problem.line) == ("unreadable", line)
    assert text in problem.text


def test_rows_that_cannot_be_read_are_told_with_all_else(tmp_path: Path) -> None:
    table = found(tmp_path, "id,score\ntoy_0\ntoy_1,1\n\ntoy_2,1,5\ntoy_9,2\n")
    assert [(one.kind, one.line, one.text[:10]) for one in table.problems] == [
        ("unreadable", 2, "1 values f"), ("unreadable", 5, "3 values f"), ("unknown", 6, "is no know"),
        ("missing", 0, "has no sco"), ("missing", 0, "has no sco")]
    lines = found(tmp_path, '{"id": "toy_0", "score": 1}\n{"id"\n[]\n{"id": "toy_1", "score": x}\n', "mine.jsonl")
    assert [one.line for one in lines.fatal] == [2, 3, 4]
    assert table.rows == 2
    assert lines.rows == 1


@pytest.mark.parametrize(("content", "text"), [
    ("3", "is neither a list"), ("[[]]", "is no object"), ("{", "is no JSON"), ("[" * 100_000, "is no JSON"),
    (b'{"\xff": 1}', "is no UTF-8"), ('{"toy_0": 1, "toy_0": 2}', "stands on record 1 already"),
])
def test_json_that_cannot_be_taken(content: str | bytes, text: str, tmp_path: Path) -> None:
    assert any(text in one.text for one in found(tmp_path, content, "mine.json").fatal)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_a_template_asks_for_what_is_expected_and_nothing_else(ending: str, tmp_path: Path) -> None:
    dataset = registry.sample(registry.card("fed-dial"))
    keys = template.keys([dataset])
    content = template.packed(keys, ending)
    read_ = found(tmp_path, content, f"mine{ending}", expected([dataset]))
    assert {one.kind for one in read_.problems} == {"missing"}
    assert len(keys) == len(dataset.items) * 11 - sum(not rating.votes for rating in dataset.ratings)
    assert sum(one.line > 0 for one in read_.problems) == len(keys)
    assert template.keys([dataset], "item") == tuple(item.id for item in dataset.items)


def test_test_sets_are_scored_by_item_unless_asked_otherwise() -> None:
    dataset = make_dataset(["a"], [(1.0,)], split="test", qualities=(Quality("overall"), Quality("Natural")))
    assert template.keys([dataset]) == ("toy_00000",)
    assert template.keys([dataset], "quality") == ("toy_00000|overall", "toy_00000|Natural")


def test_where_nothing_is_expected_everything_is_unknown(tmp_path: Path) -> None:
    read_ = found(tmp_path, GOOD, wanted=Expected({}, {}))
    assert counts(read_.problems) == {"unknown": 4}
    assert read_.scores == {}
