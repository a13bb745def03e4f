"""Values, ranks and what moves them: by hand, by the harness's own evaluation, and with and without broken files."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from harness.challenge import folder, outcome, ranking, tables
from harness.challenge.report import report
from harness.errors import BadConfig
from harness.statistics import estimates
from leaderboard.model import boards
from tests.harness.challenge.folders import SIZE, challenge, items, scores, submit, three_teams


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = challenge(tmp_path / "challenge")
    three_teams(made)
    return made


def edit(root: Path, *lines: str) -> None:
    """Put lines at the head of the rules."""
    path = root / "challenge.toml"
    path.write_text("\n".join(lines) + "\n" + path.read_text())


def places(found: outcome.Outcome) -> dict[str, int]:
    return {entry.name: place.rank for entry, place in zip(
        found.ranking.counting.entries, found.ranking.ranks[found.rules.rule], strict=True)}


def test_the_best_or_the_last_submission_counts(root: Path, home: Path) -> None:
    submit(root, "alpha", 3, scores(9, 15))
    assert places(outcome.outcome(root, home)) == {"alpha/2": 1, "beta/1": 2, "gamma/1": 3}
    edit(root, 'counts = "last"')
    assert "alpha/3" in places(outcome.outcome(root, home))


def test_late_early_undated_and_surplus_submissions_are_refused(root: Path, home: Path) -> None:
    edit(root, "opens = 2026-01-01", "closes = 2026-03-31", "submissions = 4")
    dates = {1: "2026-01-01", 2: "2026-03-31", 3: "2026-04-01", 4: "2025-12-31", 10: "2026-02-01"}
    for number, date in dates.items():
        submit(root, "delta", number, scores(3, number), f"date = {date}\n")
    _, _, files, _ = outcome.validated(root, home)
    assert [entry.name for entry in files.whole.entries] == ["delta/1", "delta/2"]
    why = {refused.name: refused.reasons[0] for refused in files.refused}
    assert "after the challenge closed" in why["delta/3"]
    assert "before the challenge opened" in why["delta/4"]
    assert "a team may hand in 4" in why["delta/10"]
    assert "on which date" in why["beta/1"]


def test_equal_scores_share_a_rank_and_a_letter(root: Path, home: Path) -> None:
    submit(root, "delta", 1, scores(1, 12))
    found = outcome.outcome(root, home)
    assert places(found) == {"alpha/2": 1, "delta/1": 1, "beta/1": 3, "gamma/1": 4}
    first, second, *_ = found.ranking.ranks["test"]
    assert first.letters == second.letters
    assert found.pairs["first", "overall"].p[1, 3] == 1
    submit(root, "epsilon", 1, {name: value + 0.01 * (place % 2) for place, (name, value) in
                                enumerate(scores(2, 13).items())})
    assert outcome.outcome(root, home).alike == (
        "alpha/2 and delta/1 rank all items alike",
        "beta/1 and epsilon/1 rank all items nearly alike (Spearman 0.9999)")


def test_where_nobody_can_be_told_apart_the_table_says_so(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                                          ) -> None:
    for seed in range(3):
        submit(root, f"near {seed}", 1, scores(1, seed))
    edit(root, 'qualities = ["wit"]')
    for name in ("alpha", "beta", "gamma"):
        shutil.rmtree(root / "submissions" / name)
    monkeypatch.setattr(ranking, "READABLE", 0)
    found = outcome.outcome(root, home)
    made, shown = folder.write(found, root / "ranking")
    assert "letters" not in shown.grids[0].head
    assert "95 % of the rank" in shown.grids[0].head
    assert any("No two of the 3 teams can be told apart" in line for line in shown.remarks)
    assert {row.letters for row in made.ranking} == {""}
    assert "is first; PERM-BOTH over whole contexts, 200 draws, adjusted by Holm, does not tell it from" in shown.lead
    assert ",a,1," in (root / "ranking" / "official.csv").read_text()


def test_weighted_targets_primary_submissions_and_outlier_systems(root: Path, home: Path) -> None:
    """With all weight on one target its values are the totals; each target has clusters of its own."""
    submit(root, "beta", 2, scores(9, 19), "primary = true\n")
    edit(root, 'counts = "primary"', 'clusters = "wmt"', 'weights = {first = 0, "second|wit" = 2, second = 0}')
    found = outcome.outcome(root, home)
    assert {entry.name for entry in found.ranking.counting.entries} == {"alpha/1", "beta/2", "gamma/1"}
    assert found.ranking.totals == pytest.approx(found.values[:, found.ground.targets.index(("second", "wit"))])
    assert all(len(own) == 3 and own[0] == 1 for own in found.ranking.clusters.values())
    assert len(tables.for_csv(found)["clusters"]) == 4
    assert {place.cluster for place in found.ranking.ranks["test"]} == (
        set(found.ranking.clusters["second", "wit"]))
    edit(root, 'outliers = ["system-a"]')
    for name in ("first", "second"):
        path = root / "data" / f"{name}.json"
        rows = json.loads(path.read_text())
        path.write_text(json.dumps([row | {"model": f"system-{'ab'[place % 2]}"} for place, row in enumerate(rows)]))
    fields = outcome.outcome(root, home).ground.fields
    assert {judged.rated for field in fields for judged in field.judged} == {SIZE // 2}
    edit(root, 'weights = {third = 1}')
    path = root / "challenge.toml"
    path.write_text(path.read_text().replace('weights = {first = 0, "second|wit" = 2, second = 0}', ""))
    with pytest.raises(BadConfig, match="no target"):
        outcome.outcome(root, home)


def test_any_statistic_ranks(root: Path, home: Path) -> None:
    edit(root, 'statistic = "pairwise-accuracy"', 'level = "within-contexts"')
    with pytest.raises(BadConfig, match="no submission can be ranked"):  # every item has a context of its own
        outcome.outcome(root, home)
    path = root / "challenge.toml"
    path.write_text(path.read_text().replace("within-contexts", "items").replace("draws = 200", "draws = 20"))
    found = outcome.outcome(root, home)
    for at, target in enumerate(found.ground.tables([""] * 4, found.entries.scores)):
        for row in range(4):
            assert found.values[row, at] == estimates.STATISTICS["pairwise-accuracy"].value(target.panel(row))
    first, *_, last = found.ranking.ranks["test"]
    assert (first.low, last.high) == (1, 3)
    assert "Pairwise-accuracy on first, second" in tables.official(found).data
    assert {row.statistic for row in report(found, root).ranking if row.low >= 1} == {"pairwise-accuracy"}


def published(root: Path) -> dict[str, bytes]:
    """What says where the others stand."""
    left = ("official.csv", "rules.csv", "targets.csv", "pairs.parquet", "correlation.csv", "submissions.csv")
    files = [*(root / "ranking" / name for name in left), *sorted((root / "ranking" / "report").iterdir())]
    return {path.name: path.read_bytes() for path in files}


def test_a_broken_submission_changes_no_byte_of_the_others_and_the_audit_log_grows(
        root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = outcome.outcome(root, home)
    folder.write(ranked, root / "ranking")
    log = root / "ranking" / "audit.jsonl"
    before, first = published(root), log.read_bytes()
    assert (root / "ranking" / "refused.csv").read_bytes() == b"submission,reasons\n"
    folder.write(ranked, root / "ranking")
    assert log.read_bytes() == first, "the same decisions are not written twice"
    submit(root, "broken", 1, {**scores(1, 17), "first_000": float("inf")})
    submit(root, "gaps", 1, dict(list(scores(1, 17).items())[5:]))
    submit(root, "flat", 1, dict.fromkeys(items(), 1.0))
    ranked = outcome.outcome(root, home)
    with monkeypatch.context() as patch:  # nothing is written until all is made
        patch.setattr(folder, "lengthened", lambda *_: bytes("\udcff", "utf-8"))
        with pytest.raises(UnicodeEncodeError):
            folder.write(ranked, root / "ranking")
    assert (root / "ranking" / "refused.csv").read_bytes() == b"submission,reasons\n"
    folder.write(ranked, root / "ranking")
    why = {refused.name: refused.reasons[0] for refused in ranked.refused}
    assert why.keys() == {"broken/1", "gaps/1", "flat/1"}
    assert "all the same" in why["flat/1"]
    assert published(root) == before
    assert log.read_bytes().startswith(first)
    assert b'"broken/1"' in log.read_bytes()[len(first):]


def test_tables_are_for_machines_and_a_baseline_has_no_rank(root: Path, home: Path) -> None:
    edit(root, 'baselines = ["length", "bleu"]')
    submit(root, "delta", 1, {name: -value for name, value in scores(0.5, 18).items()})
    submit(root, "gaps", 1, dict(list(scores(0.5, 17).items())[:-1]))
    ranked = outcome.outcome(root, home)
    folder.write(ranked, root / "ranking")
    for name in ("official", "rules", "submissions", "refused"):
        text = (root / "ranking" / f"{name}.csv").read_text()
        head, *rows = csv.reader(text.splitlines())
        assert len(set(head)) == len(head)
        assert not set("−–") & set(text)
        for row in rows:
            for column, value in zip(head, row, strict=True):
                if column.startswith(("value", "rank", "points", "first|", "second|")) and value:
                    float(value)
    head, *rows = csv.reader((root / "ranking" / "rules.csv").read_text().splitlines())
    assert head == ["team", "value_dev", "rank_dev", "value_test", "rank_test", "points_borda", "rank_borda"]
    (delta,) = [row for row in rows if row[0] == "delta"]
    names = [entry.name for entry in ranked.entries.entries]
    assert float(delta[3]) == round(ranked.ranking.totals[names.index("delta/1")], 4) < 0
    official = {row[0]: row for row in tables.official(ranked).rows}
    assert "alpha is first; PERM-BOTH" in (lead := tables.exhibit(ranked).lead)
    assert "its value is above that of the best baseline, length (" in lead
    assert [row[1] for row in official.values() if row[1] != "–"] == ["1", "2", "3", "4"]
    assert official["length (baseline)"][1] == "–"
    assert any("reference" in row[2] for name, row in official.items() if name.startswith("bleu"))


def test_the_report_ranks_by_the_rule_of_the_challenge_and_rounds(root: Path, home: Path) -> None:
    edit(root, 'rule = "dev"')
    ranked = outcome.outcome(root, home)
    made, _ = folder.write(ranked, root / "ranking")
    assert {entry.split for entry in made.datasets} == {row.board for row in made.ranking} == {"dev"}
    (board, *_) = boards.overall_boards(made)["dev"]
    assert [team for team, _ in board.columns] == [entry.team for entry in ranked.ranking.counting.entries]
    values = [*(row.value for row in made.correlations), *(row.value for row in made.ranking),
              *(row.delta for own in made.comparisons for row in own), *(row.value for row in made.reliability)]
    assert all(value == round(value, 4) for value in values if np.isfinite(value))
    assert (made.points, made.examples) == ((), ())


def test_rules_that_cannot_be_are_refused(root: Path, home: Path) -> None:
    path = root / "challenge.toml"
    before = path.read_text()
    for line, message in (
        ('rule = "best"', "no ranking rule"),
        ("rules = 1", "did you mean 'rule'"),
        ("submissions = -1", "whole number, 0 or more"),
        ('datasets = ["jsalt"]', "one kind of data"),
        ('datasets = ["jsalt", "jsalt"]', "'jsalt' is named twice"),
        ('qualities = ["wot"]', "did you mean 'wit'"),
        ('closes = "later"', "should be a date"),
        ("opens = 2026-05-01\ncloses = 2026-04-01", "before it opens"),
    ):
        edit(root, line)
        with pytest.raises(BadConfig, match=message):
            outcome.validated(root, home)
        path.write_text(before)
    ratings = root / "private" / "ratings.csv"
    ratings.write_text("\n".join(line for line in ratings.read_text().splitlines() if "second_039," not in line))
    with pytest.raises(BadConfig, match=r"39 of 40 .* of second .* on 'overall', not second_039; .*: 39 of .* 'wit'"):
        outcome.validated(root, home)
    edit(root, 'coverage = "partial"')
    assert any("are not complete: 39 of 40" in line for line in tables.exhibit(outcome.outcome(root, home)).remarks)
    ratings.write_text("\n".join(line for line in ratings.read_text().splitlines() if ",wit," not in line))
    with pytest.raises(BadConfig, match="'wit': it has 0 rated"):
        outcome.validated(root, home)
