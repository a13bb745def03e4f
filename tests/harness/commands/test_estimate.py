"""`harness estimate` on tables: fields, half-empty rows, and one clear line for hard cases."""

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Invoke

SYSTEMS = "abc"


def table(path: Path, rating: Callable[[int, str, int], object], systems: Iterable[str] = SYSTEMS) -> Path:
    """Write 20 contexts with a response of each system; `rating` gets context, system and words of a response."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["context", "response", "system", "overall"])
        for context in range(20):
            for system in systems:
                words = int(rng.integers(1, 9)) + 4 * (system == "a")
                rows.writerow([f"hello {context}", "tea " * words, system, rating(context, system, words)])
    return path


def rated(context: int, system: str, words: int) -> object:
    """Rate the responses to the first 12 contexts by length."""
    return "" if context >= 12 else min(5, 1 + words // 2)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_systems_have_means_and_a_worth(tmp_path: Path, invoke: Invoke) -> None:
    path = table(tmp_path / "mine.csv", rated)
    printed = invoke("estimate", "--dataset", path, "--metric", "length", "--by", "system", "--json").out
    rows = {row["system"]: row for row in map(json.loads, printed.splitlines())}
    assert set(rows) == set(SYSTEMS)
    for row in rows.values():
        assert (row["dataset"], row["quality"], row["items"], row["rated"]) == ("mine", "overall", 20, 12)
        assert row["low"] < row["mean"] < row["high"]
        assert row["ratings_low"] < row["ratings_mean"] < row["ratings_high"]
        assert row["worth"] > 1
    assert rows["a"]["better_than"] == ["b", "c"]
    printed = invoke("estimate", "--dataset", path, "--metric", "length").out
    assert "36 rated items" in printed
    assert "a above b, c" in printed
    assert "differ" not in invoke("estimate", "--dataset", path, "--metric", "length", "--by", "all").out
    constant = invoke("estimate", "--dataset", path, "--metric", "turns").out  # two in each item
    assert "every score is the same" in constant


def test_an_undecided_pair_is_named_in_the_next_command(tmp_path: Path, invoke: Invoke) -> None:
    path = table(tmp_path / "mine.csv", lambda context, system, words: (context % 2) + 3 * (system == "a") + 1)
    printed = invoke("estimate", "--dataset", path, "--metric", "length").out
    assert f"harness power --dataset {path} --between systems --pair b c\n" in printed


@pytest.mark.parametrize(("rating", "systems", "part"), [
    (lambda context, system, words: words, SYSTEMS, "every item is rated"),
    (lambda context, system, words: words if system == "a" else "", SYSTEMS, "b, c: no interval"),
    (lambda context, system, words: 3 if system == "a" else rated(context, system, words), SYSTEMS,
     "a: no interval: each of 20 ratings is 3"),
    (lambda context, system, words: words if context < (2 if system == "a" else 12) else "", SYSTEMS,
     "a: no interval: ratings in 2 contexts"),
    (rated, "a", "one system")])
def test_hard_cases_print_one_line(rating: Callable[[int, str, int], object], systems: str, part: str, tmp_path: Path,
                                   invoke: Invoke) -> None:
    """A system without an interval is not compared with others."""
    path = table(tmp_path / "mine.csv", rating, systems)
    printed = invoke("estimate", "--dataset", path, "--metric", "length").out
    assert [line.startswith(part) for line in printed.splitlines() if part in line] == [True]
    assert "a: no interval" not in part or "a above" not in printed


@pytest.mark.parametrize(("flags", "part"), [
    (("--metric", "lenth"), "'length'"), (("--metric", "length", "--metric", "turns"), "--metric"),
    (("--metric", "bleu"), "bleu"), (("--metric", "usl-h-mlm"), "--metric usl-h --column usl-h-mlm"),
    (("--metric", "length", "--column", "lenght"), "'length'")])
def test_wrong_metrics_are_refused(flags: tuple[str, ...], part: str, tmp_path: Path, invoke: Invoke) -> None:
    path = table(tmp_path / "mine.csv", rated)
    assert part in invoke("estimate", "--dataset", path, *flags, status=2).err.splitlines()[-1]
