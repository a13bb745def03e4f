"""Score files: all formats are read identically, and all problems are listed with their lines."""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Quality
from benchmarks.formats.scorefile import ALL_QUALITIES, Expected, ScoreFile, counts, describe, expected, read
from benchmarks.formats.scorefile.expected import template, template_keys
from benchmarks.formats.scorefile.rows import SUFFIXES
from tests.conftest import make_dataset

IDS = ("toy_0", "toy_1", "toy_2")
WANTED = Expected({"toy": IDS}, {"toy": ("overall", "Natural")})
HEAD = "dialogue_id,score\n"
GOOD = f"{HEAD}toy_0,0.5\ntoy_1,-2\ntoy_2,1e-3\n"
VALUES = [0.5, -2.0, 0.001]


def read_text(folder: Path, content: str | bytes, name: str = "mine.csv", wanted: Expected = WANTED) -> ScoreFile:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path, wanted)


def test_every_format_gives_the_same_scores(tmp_path: Path) -> None:
    for name, content in {
        "mine.csv": GOOD, "semicolon.csv": GOOD.replace(",", ";"), "tab.csv": GOOD.replace(",", "\t"),
        "mine.TSV": GOOD.replace(",", "\t"), "windows.csv": GOOD.replace("\n", "\r\n"),
        "bom.csv": b"\xef\xbb\xbf" + GOOD.encode(), "mine.csv.gz": gzip.compress(GOOD.encode()),
        "blanks.csv": "\tDialogue_ID , Score\n toy_0 , 0.5\n\ntoy_1,-2 \ntoy_2,1e-3",
        "turned.csv": "score,item\n0.5,toy_0\n-2,toy_1\n1e-3,toy_2\n",
        "more.csv": "id,raw_output,score\ntoy_0,\"{\n\"\"a\"\": 1,\n}\",0.5\ntoy_1,\"=1+1\",-2\ntoy_2,,1e-3\n",
    }.items():
        file = read_text(tmp_path, content, name)
        assert [problem for problem in file.problems if not problem.is_remark] == [], name
        assert list(file.scores) == [("toy", ALL_QUALITIES)], name
        np.testing.assert_array_equal(file.scores["toy", ALL_QUALITIES], VALUES, name)
        content = (tmp_path / name).read_bytes()
        assert file.digest == hashlib.sha256(gzip.decompress(content) if "gz" in name else content).hexdigest()


def test_a_score_for_a_quality_precedes_one_for_all(tmp_path: Path) -> None:
    file = read_text(tmp_path, GOOD + "toy_1|overall,7\ntoy_2|overall,9\n")
    assert file.problems == ()
    np.testing.assert_array_equal(file.on("toy", "overall"), [0.5, 7, 9])
    np.testing.assert_array_equal(file.on("toy", "Natural"), VALUES)
    file = read_text(tmp_path, f"{HEAD}toy_0|overall,1\ntoy_1|overall,2\n")
    assert [(problem.kind, problem.id, problem.count) for problem in file.problems] == [
        ("missing", "toy", 3), ("missing", "toy_2", 1)]
    assert file.fatal == ()
    assert file.on("toy", "Natural") is None
    np.testing.assert_array_equal(file.on("toy", "overall"), [1, 2, np.nan])


def test_scores_are_read_from_the_named_column(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("dialogue_id,score,Wit\ntoy_0,1,0.5\ntoy_1,1,-2\ntoy_2,1,1e-3\n")
    np.testing.assert_array_equal(read(path, WANTED, column="wit").scores["toy", ALL_QUALITIES], VALUES)
    np.testing.assert_array_equal(read(path, WANTED, column="humour").scores["toy", ALL_QUALITIES], [1, 1, 1])
    assert len(read(path, WANTED, column="annotations.wit").fatal) == 1


def test_unrated_items_need_no_score(tmp_path: Path) -> None:
    wanted = expected([make_dataset(["a", "b"], [(1.0,), ()])])
    assert wanted.unrated == {("toy", "overall"): frozenset({"toy_00001"})}
    assert read_text(tmp_path, f"{HEAD}toy_00000|overall,1\n", wanted=wanted).problems == ()
    assert expected([make_dataset(["a", "b"], [(), ()])]).unrated == {}, "without any votes the ratings are private"


def test_datasets_may_share_items_or_be_missing(tmp_path: Path) -> None:
    wanted = Expected({"one": ("a", "b"), "two": ("b", "c")}, {"one": ("q",), "two": ("q",)})
    file = read_text(tmp_path, f"{HEAD}a,1\nb,2\nc,3\n", wanted=wanted)
    assert {dataset: list(file.on(dataset, "q")) for dataset in file.datasets} == {"one": [1, 2], "two": [2, 3]}
    wanted = Expected({"toy": IDS, "other": ("x", "y")}, {"toy": ("overall",), "other": ("q",)})
    (problem,) = read_text(tmp_path, GOOD, wanted=wanted).problems
    assert (problem.kind, problem.id, problem.count, problem.fatal) == ("missing", "other", 2, False)
    assert read(tmp_path / "mine.csv", wanted, all_datasets=False).problems == ()
    nothing = read_text(tmp_path, GOOD, wanted=Expected({}, {}))
    assert (counts(nothing.problems), nothing.scores) == ({"unknown": 4}, {})


def test_only_decimal_numbers_are_scores(tmp_path: Path) -> None:
    for kind, texts in {
        "missing": [""],
        "no number": ["nan", "N/A", "null", '"1,5"', "0x10", "1_000", "１２", "1e", "--1", "1 2", "=cmd()", "<b>1</b>",
                      "True", "1" * 401, "\x1b[31m1", "1\u202e", "٣"],
        "infinite": ["inf", "-Infinity", "1e400", "-1e999999999"],
    }.items():
        for text in texts:
            file = read_text(tmp_path, f"{HEAD}toy_0,1\ntoy_1,{text}\ntoy_2,2\n")
            (problem,) = file.problems
            assert (problem.kind, problem.line, problem.id, problem.fatal) == (kind, 3, "toy_1", kind != "missing")
            assert problem.text.isascii()
            assert problem.text.isprintable()
            np.testing.assert_array_equal(file.scores["toy", ALL_QUALITIES], [1, np.nan, 2])
    for text in ("1", "+1.", ".5", "-0.25e-3", "1E5", "007", "1e-400", "0" * 300 + "1"):
        file = read_text(tmp_path, f"{HEAD}toy_0,{text}\ntoy_1,2\ntoy_2,3\n")
        assert file.problems == ()
        assert file.scores["toy", ALL_QUALITIES][0] == float(text)


def test_unknown_and_repeated_ids_are_listed(tmp_path: Path) -> None:
    no_item = dict.fromkeys(("zebra", "=HYPERLINK(1)", "<script>alert(1)</script>", "\x1b]0;x\x07", "t\u043ey_0", ""),
                            "")
    for name, text in {
        **no_item, **dict.fromkeys(("Toy_0", "toy_0\u200b", "ｔoy_0", "toy_0\xa0"), "'toy_0'"), "toy_9": "'toy_2'",
        "toy_0|overal": "'overall'",
    }.items():
        file = read_text(tmp_path, f'{GOOD}"{name}",3\n')
        (problem,) = file.problems
        assert (problem.kind, problem.line, problem.fatal) == ("unknown", 5, not name), name
        assert text in problem.text
        assert problem.text.isascii()
        assert (problem.id + problem.text).isprintable()
        np.testing.assert_array_equal(file.scores["toy", ALL_QUALITIES], VALUES)
    for again in ("toy_1,-2", "toy_1,5", " toy_1 ,5"):
        file = read_text(tmp_path, f"{GOOD}\n{again}\n")
        (problem,) = file.fatal
        assert (problem.kind, problem.line) == ("duplicate", 6)
        assert "line 3" in problem.text
        np.testing.assert_array_equal(file.scores["toy", ALL_QUALITIES], [0.5, np.nan, 0.001])
    assert len(read_text(tmp_path, f"{HEAD}other_0,1\nother_1,2\n").fatal) == 1


def test_all_problems_are_listed_by_line(tmp_path: Path) -> None:
    file = read_text(tmp_path, "dialogue_id,note,score\ntoy_0,,x\nother,,1\ntoy_1,,inf\ntoy_1,,4\n")
    assert [(problem.kind, problem.line) for problem in file.problems] == [
        ("extra column", 1), ("no number", 2), ("unknown", 3), ("infinite", 4), ("duplicate", 5), ("missing", 0)]
    file = read_text(tmp_path, "id,score\ntoy_0\ntoy_1,1\n\ntoy_2,1,5\ntoy_9,2\n")
    assert [(problem.kind, problem.line) for problem in file.problems] == [
        ("unreadable", 2), ("unreadable", 5), ("unknown", 6), ("missing", 0), ("missing", 0)]
    (problem,) = read_text(tmp_path, f"{HEAD}toy_0,2\ntoy_1,2\ntoy_2,2\n").problems
    assert (problem.kind, problem.id, problem.fatal) == ("constant", "toy", False)


def test_long_lists_of_problems_are_truncated(tmp_path: Path) -> None:
    file = read_text(tmp_path, GOOD + "".join(f"far_{number},1\n" for number in range(100)))
    lines = list(describe(file.problems))
    assert len(lines) == 21
    assert lines[0].startswith("unknown: line 5: far_0: ")
    assert lines[-1].startswith("unknown: and 80 more (lines ")
    assert counts(file.problems) == {"unknown": 100}


def test_an_unreadable_file_names_line_and_reason(tmp_path: Path) -> None:
    for content, line, text in [
        ("", 1, "dialogue_id and score"), ("dialogue_id,note,overall,none\ntoy_0,x,1,2\n", 1, "note, overall, none"),
        ("dialogue_id," + ",".join(f"metric_{number}" for number in range(99)) + "\n", 1, "metric_7 and 91 more"),
        ("dialogue_id,annotations.overall\ntoy_0,1\n", 1, "annotations.overall"),
        ("id,item,score\na,b,1\n", 1, "item and id"), ("id,score,Score\na,1,2\n", 1, "twice"),
        (GOOD + '"toy_0,1\ntoy_1,2\n', 5, "quotation mark"), (GOOD + '"toy_0"x,1\n', 5, "table"),
        (GOOD + "toy_0,1\rtoy_1,2\n", 5, "carriage return"), (GOOD + "toy_0\0,1\n", 5, "null byte"),
        (b"PK\x03\x04\0", 0, "Excel"), (GOOD.encode("utf-16"), 0, "UTF-16"), (GOOD.encode("utf-16-le"), 1, "UTF-16"),
        (gzip.compress(GOOD.encode())[:20], 0, "gzip"), (b"PAR1", 0, "Parquet"),
        (GOOD.encode() + "été,1\n".encode("latin-1"), 5, "0xe9"), (b"\x80\x04\x95", 1, "0x80"),
        (GOOD + "x" * (1 << 20) + ",1\n", 5, "1,048,576"), (GOOD + "toy_0,1\n" * 2000, 1038, "1,036"),
    ]:
        problem = read_text(tmp_path, content).fatal[0]
        assert (problem.kind, problem.line) == ("unreadable", line), text
        assert text in problem.text


def test_a_template_has_exactly_the_expected_ids(tmp_path: Path) -> None:
    dataset = registry.sample(registry.card("fed-dial"))
    names = template_keys([dataset])
    assert len(names) == len(dataset.items) * 11 - sum(not rating.votes for rating in dataset.ratings)
    assert template_keys([dataset], "item") == tuple(item.id for item in dataset.items)
    for ending in SUFFIXES:
        file = read_text(tmp_path, template(names, ending), f"mine{ending}", expected([dataset]))
        assert [(problem.kind, problem.count) for problem in file.problems] == [("missing", len(names))]
    tested = make_dataset(["a"], [(1.0,)], split="test", qualities=(Quality("overall"), Quality("Natural")))
    assert template_keys([tested]) == ("toy_00000",)
    assert template_keys([tested], "quality") == ("toy_00000|overall", "toy_00000|Natural")


def test_only_a_plain_file_of_bounded_size_is_opened(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text(GOOD)
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "mine.csv").touch()
    os.truncate(tmp_path / "mine.csv", 1 << 30)
    for name, text in {
        **dict.fromkeys(("link.csv", "pipe.csv", "folder.csv"), "plain file"), "none.csv": "No such file",
        "mine.csv": "268,435,456", **dict.fromkeys(("a.pkl", "a.npz", "a.gz", "a.xlsx", "a.parquet", "csv"), ".tsv"),
    }.items():
        (problem,) = read(tmp_path / name, WANTED).problems
        assert problem.kind == "unreadable"
        assert text in problem.text, name
    assert len(read(Path("a\0.csv"), WANTED).fatal) == 1
