"""`harness power` on the results of a run: fields, selections, and one line for hard cases."""

import json
import math
import re
from pathlib import Path

import pytest

from harness.cli import main
from tests.conftest import Invoke
from tests.suite_run import SuiteRun


def test_json_has_an_object_per_contexts_and_raters(suite_run: SuiteRun, invoke: Invoke) -> None:
    flags = ("power", "--out", suite_run.out, "--dataset", "persona-usr", "--quality", "Overall", "--json")
    first, *_ = rows = list(map(json.loads, invoke(*flags).out.splitlines()))
    of_data = sorted((row for row in rows if row["raters"] == first["raters"]), key=lambda row: row["contexts"])
    assert len(of_data) > 3
    assert of_data == sorted(of_data, key=lambda row: -(row["detectable"] or math.inf))
    for row in of_data:
        assert row["needed"] == first["needed"]
        assert (row["power"] > 0.8) == (row["contexts"] >= row["needed"])
    most = of_data[-1]["contexts"]
    assert len({row["detectable"] for row in rows if row["contexts"] == most and row["raters"] > 1}) > 1


def test_named_pair_contexts_and_raters_are_used(suite_run: SuiteRun, invoke: Invoke) -> None:
    printed = invoke("power", "--out", suite_run.out, "--dataset", "persona-usr", "--quality", "Overall", "--pair",
                     "length", "distinct-2", "--contexts", 77, "--raters", 9, "--json").out
    rows = list(map(json.loads, printed.splitlines()))
    assert {(row["first"], row["second"]) for row in rows} == {("length", "distinct-2")}
    assert {(row["contexts"], row["raters"]) for row in rows} >= {(77, 9)}
    systems = ("--dataset", "persona-usr", "--between", "systems")
    assert "mean ratings" in invoke("power", "--out", suite_run.out, *systems).out
    summary = invoke("power", "--out", suite_run.out).out
    assert len(summary.splitlines()) > 5
    assert "\ncontexts  " not in summary
    for flags in (("--contexts", 77), ("--raters", 9), ("--pair", "length", "distinct-2")):
        assert "\ncontexts  " in invoke("power", "--out", suite_run.out, "--quality", "Overall", *flags).out


@pytest.mark.parametrize(("flags", "part"), [
    ("--dataset persona-usrr", "'persona-usr'"), ("--quality tastee", "'tastee'"), ("--contexts 1", "--contexts"),
    ("--raters 0", "--raters"), ("--pair length length", "pair"),
    ("--dataset persona-usr --pair length lenght", "'lenght'"), ("--pair length lenght", "'lenght'"),
    ("--dataset persona-usr --between systems --pair length cosine", "--between columns"),
    ("--dataset persona-usr --between systems --pair a x", "'a'")])
def test_wrong_selections_are_refused(flags: str, part: str, suite_run: SuiteRun, invoke: Invoke) -> None:
    (line,) = invoke("power", "--out", suite_run.out, *flags.split(), status=2).err.splitlines()
    assert part in line


def test_pairs_of_a_single_dataset_are_described(tmp_path: Path, invoke: Invoke) -> None:
    rows = "".join(f"question {row // 2},{'word ' * (row % 7 + 1)},{'ab'[row % 2]},{score},{score}\n"
                   for row, score in enumerate((3, 4, 2, 1, 5, 5, 4, 4) * 5))
    (tmp_path / "mine.csv").write_text("context,response,system,rater_1,rater_2\n" + rows)
    out = ("--out", tmp_path / "out")
    invoke("run", "--dataset", tmp_path / "mine.csv", "--metric", "length", "--metric", "distinct", *out)
    leading = " ".join(invoke("power", *out).out.split())
    needed = re.findall(r"(\d+) with ([\d.]+) raters? \(about (\d+) ratings\)", leading.replace(",", ""))
    assert needed
    for contexts, raters, count in needed:
        assert float(count) == pytest.approx(2 * float(contexts) * float(raters), rel=0.05), "two replies per context"
    assert "apart for length and distinct-1\n" in invoke("power", *out, "--pair", "length", "distinct-1").out
    equal = " ".join(invoke("power", *out, "--between", "systems", "--pair", "a", "b").out.split())
    assert "more than 1,000,000" in equal
    assert "--between systems" in invoke("power", *out, "--pair", "a", "b", status=2).err


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results on three contexts of four replies with three votes on one quality and one on another."""
    folder = tmp_path_factory.mktemp("few")
    rows = (f"item-{row + 1},q {row // 4},{'tea ' * words}or water,{words},{words},{words + row % 2},{row % 5}\n"
            for row, words in enumerate((5, 2, 9, 4, 1, 7, 3, 8, 6, 11, 10, 12)))
    (folder / "mine.csv").write_text("".join(("id,context,response,overall 1,overall 2,overall 3,fluency\n", *rows)))
    flags = ("--metric", "length,distinct,random", "--home", str(folder / "home"), "--out", str(folder / "out"))
    assert main(["run", "--dataset", str(folder / "mine.csv"), *flags]) == 0
    return folder / "out"


def test_raters_are_those_of_the_quality(few: Path, invoke: Invoke) -> None:
    for quality, raters in (("overall", 3), ("fluency", 1)):
        row, *_ = map(json.loads, invoke("power", "--out", few, "--quality", quality, "--json").out.splitlines())
        assert row["raters"] == raters


def test_too_few_contexts_detect_nothing(few: Path, invoke: Invoke) -> None:
    """The leading pair is the leader and the best column of another metric."""
    printed = " ".join(invoke("power", "--out", few, "--quality", "overall").out.split())
    for words in ("12 items from 3 contexts", "3 – – – – – 6 0.", "length and random", "a power of 0 %"):
        assert words in printed


@pytest.mark.parametrize(("rows", "metrics", "message"), [
    ([f"question {number},the same words,{number % 5 + 1}" for number in range(30)], "length",
     "correlation"), (["Hi,Yo,3", "Ho,Yo yo,2", "He,Yo yo yo,1"], "length", "3 items"),
    ([f"q {number},{'word ' * (number % 7 + 1)},{number % 5 + 1}" for number in range(30)],
     "length,length[unit=characters]", "")], ids=("constant", "three items", "equal order"))
def test_runs_without_usable_pairs_have_pages(rows: list[str], metrics: str, message: str, tmp_path: Path,
                                              invoke: Invoke) -> None:
    (tmp_path / "mine.csv").write_text("\n".join(("context,response,overall", *rows, "")))
    printed = invoke("run", "--dataset", tmp_path / "mine.csv", "--metric", metrics, "--out", tmp_path / "out").out
    assert (tmp_path / "out" / "site" / "index.html").exists()
    assert message in printed + invoke("power", "--out", tmp_path / "out").err
