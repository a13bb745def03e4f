"""The report in a terminal."""

from __future__ import annotations

from dataclasses import replace

from harness.results.rows import Results, Skip
from leaderboard.render.text import summary


def test_it_holds_the_boards_then_the_skips_by_reason_then_the_failures(results: Results) -> None:
    text = summary(results)
    places = [text.index(part) for part in (
        "Development datasets: Spearman, averages. Data: real", "Data: the bundled sample", "Test datasets: Spearman",
        "Skipped 3 pairs of metric and dataset: weights are not on this machine (grade on a|b, fed-turn, topical-usr)",
        "Skipped 1 pair of metric and dataset: scores turns | not dialogues (grade on fed-dial)",
        "Failed 1 pair of metric and dataset: ValueError: <b>odd</b>")]
    assert places == sorted(places)
    incomplete = next(line for line in text.splitlines() if line.split()[0:1] == ["bleu2"])
    assert incomplete.split() == ["bleu2", *["–", "4", "of", "5", "targets"] * 2, "–", "–", "15"]


def test_letters_and_cost_stand_behind_the_averages_where_they_are_known(results: Results) -> None:
    lettered = replace(results, ranking=tuple(replace(row, letters="ab" if row.rank else "")
                                              for row in results.ranking))
    line = next(line for line in summary(lettered).splitlines() if line.split()[1:2] == ["bleu1"])
    assert line.split()[-2:] == ["ab", "15"], "1.5 seconds for 100 items"
    assert ("Group" in summary(lettered), "Group" in summary(results)) == (True, False)
    assert "s/1,000" not in summary(replace(results, timings=()))


def test_no_line_is_too_wide_and_models_stand_below_a_name_where_there_is_no_room_behind(results: Results) -> None:
    assert "grade (bert-base, w2v.txt)  " in summary(results)
    long = tuple(replace(entry, models=("m" * 50,)) if entry.name == "grade" else entry for entry in results.metrics)
    lines = summary(replace(results, metrics=long)).splitlines()
    (row, *_) = (place for place, line in enumerate(lines) if line.split()[:2] == ["1", "grade"])
    assert lines[row + 1].strip() == f"({'m' * 50})"
    assert lines[row + 1].index("(") == lines[row].index("grade") + 2
    wide = tuple(replace(row, metric="m" * 90, column="c" * 90) if row.metric == "length" else row
                 for row in results.ranking)
    for entry in (results, replace(results, ranking=wide)):
        assert max(map(len, summary(entry).splitlines())) <= 110


def test_nothing_from_outside_steers_the_terminal(results: Results) -> None:
    hostile = replace(results, skips=(Skip("d\x1b[2J", "m\r\nx", "why\x07\u202e"),))
    assert all(sign.isprintable() or sign == "\n" for sign in summary(hostile))
