"""Values and ranks, checked by hand, against the harness's evaluation, and with and without broken files."""

import math
import re
import shutil
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from harness.challenge import outcome, report, tables
from harness.errors import BadConfig
from harness.statistics import estimates
from leaderboard.model.boards import overall_boards
from tests.conftest import Invoke
from tests.harness.challenge.folders import ITEMS, SIZE, challenge, edit, edit_items, scores, submit, table, three_teams


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = challenge(tmp_path / "challenge")
    three_teams(folder)
    return folder


def ranks(result: outcome.Outcome) -> dict[str, int | None]:
    return {entry.name: row.rank for entry, row in result.ranked(result.rules.rule)}


def test_the_best_or_last_submission_counts(root: Path, home: Path) -> None:
    submit(root, "alpha", 3, scores(9, 15))
    assert ranks(outcome.read(root, home)) == {"alpha/2": 1, "beta/1": 2, "gamma/1": 3}
    edit(root, 'counts = "last"')
    assert "alpha/3" in ranks(outcome.read(root, home))


def test_late_early_undated_and_surplus_files_are_refused(root: Path, home: Path) -> None:
    edit(root, "opens = 2026-01-01", "closes = 2026-03-31", "submissions = 4")
    for number, date in ((1, "2026-01-01"), (2, "2026-03-31"), (3, "2026-04-01"), (4, "2025-12-31"),
                         (10, "2026-02-01")):
        submit(root, "delta", number, scores(3, number), f"date = {date}\n")
    files = outcome.read(root, home)
    assert [entry.name for entry in files.entries.entries] == ["delta/1", "delta/2"]
    reasons = {refused.name: refused.reasons[0] for refused in files.refused}
    for name, words in (("delta/3", "after the challenge closed"), ("delta/4", "before the challenge opens"),
                        ("delta/10", "exceeds the limit of 4"), ("beta/1", "has no date")):
        assert words in reasons[name]


def test_equal_scores_share_rank_and_letter(root: Path, home: Path) -> None:
    submit(root, "delta", 1, scores(1, 12))
    submit(root, "epsilon", 1, {item: value + 0.01 * (index % 2)
                                for index, (item, value) in enumerate(scores(2, 13).items())})
    result = outcome.read(root, home)
    assert ranks(result) == {"alpha/2": 1, "delta/1": 1, "epsilon/1": 3, "beta/1": 4, "gamma/1": 5}
    first, second, *_ = result.ranks["test"]
    assert first.letters == second.letters
    assert result.pairs["first", "overall"].p[1, 3] == 1
    assert [re.findall(r"\w+/\d|\d\.\d+", line) for line in result.similar] == [
        ["alpha/2", "delta/1", "1.0000"], ["beta/1", "epsilon/1", "0.9999"]]
    assert "alpha and delta" in tables.winner(result)


def test_undecided_tables_say_so_and_many_letters_are_hidden(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                                             ) -> None:
    shutil.rmtree(root / "submissions")
    for seed in range(3):
        submit(root, f"near {seed}", 1, scores(1, seed))
    edit(root, 'qualities = ["wit"]')
    monkeypatch.setattr(tables, "MAX_LETTERS", 0)
    result = outcome.read(root, home)
    exhibit = tables.exhibit(result)
    assert "letters" not in exhibit.grids[0].head
    assert any("3 teams" in line for line in exhibit.remarks)
    assert {row.letters for row in report.report(result, root).ranking} == {""}
    assert {row[8] for row in tables.for_csv(result)["official"][1:]} == {"a"}


def test_few_rated_contexts_give_no_rank_intervals_or_letters(root: Path, home: Path) -> None:
    """All contexts but two have only responses of an outlier; `statistic` decides if intervals come with PERM-BOTH."""
    edit_items(root, lambda index, row: {"context": f"{row['dialogue_id'] if index % 2 else index % 4}?",
                                         "model": "ab"[index % 2]})
    edit(root, "statistic = 0", "outliers = 0")
    for statistic, few in product(("spearman", "kendall"), (True, False)):
        edit(root, statistic=f'"{statistic}"', outliers='["b"]' if few else "[]")
        result = outcome.read(root, home)
        exhibit = tables.exhibit(result)
        standings = [*result.ranks["test"], *result.ranks["dev"]]
        assert {np.isnan(standing.low) for standing in standings} == {few}
        assert {not standing.letters and not standing.cluster for standing in standings} == {few}
        assert {row.low > 0 for row in report.report(result, root).ranking if row.statistic == statistic} == {not few}
        assert any("6 contexts" in remark for remark in exhibit.remarks) is few
        assert (tables.TOO_FEW in exhibit.lead) is few


def test_weights_primary_submissions_and_outlier_systems(root: Path, home: Path) -> None:
    """If all weight is on one target, its values are the totals; each target has separate clusters."""
    submit(root, "beta", 2, scores(9, 19), "primary = true\n")
    edit(root, 'counts = "primary"', 'clusters = "wmt"', 'weights = {first = 0, "second|wit" = 2, second = 0}')
    result = outcome.read(root, home)
    assert {entry.name for entry in result.counting.entries} == {"alpha/1", "beta/2", "gamma/1"}
    assert result.totals == pytest.approx(result.values[:, result.ground.targets.index(("second", "wit"))])
    assert all(len(clusters) == 3 and clusters[0] == 1 for clusters in result.clusters.values())
    assert len(tables.for_csv(result)["clusters"]) == 4
    assert {row.cluster for row in result.ranks["test"]} == set(result.clusters["second", "wit"])
    edit(root, 'outliers = ["system-a"]')
    edit_items(root, lambda index, row: {"model": f"system-{'ab'[index % 2]}"})
    fields = outcome.read(root, home).ground.datasets
    assert {judged.rated for field in fields for judged in field.judged} == {SIZE // 2}
    edit(root, weights="{third = 1}")
    with pytest.raises(BadConfig, match="third"):
        _ = outcome.read(root, home).totals


def test_any_statistic_ranks(root: Path, home: Path) -> None:
    edit(root, 'statistic = "pairwise-accuracy"', 'level = "within-contexts"')
    with pytest.raises(BadConfig):  # no two items share a context
        _ = outcome.read(root, home).chosen
    edit(root, level='"items"', draws="200")
    result = outcome.read(root, home)
    value = estimates.STATISTICS["pairwise-accuracy"].value
    assert result.values.T.tolist() == [[value(target.panel(row)) for row in range(4)]
                                        for target in result.entries.tables]
    first, *_, last = result.ranks["test"]
    assert (first.low, last.high) == (1, 3)
    assert {row.statistic for row in report.report(result, root).ranking if row.low >= 1} == {"pairwise-accuracy"}
    by_chance = {baseline.name: baseline.value for baseline in result.baselines}
    people = [np.array([rating for rating in target.judged.means if math.isfinite(rating)])
              for target in result.entries.tables]
    ties = [np.mean([a == b for a, b in combinations(ratings, 2)]) for ratings in people]
    assert by_chance["constant"] == pytest.approx(float(result.weights["test"] @ ties))
    assert by_chance["constant"] <= by_chance["random numbers"] < 0.7


def published(root: Path) -> dict[str, bytes]:
    """Return the files that must not change with refused submissions."""
    names = ("official.csv", "rules.csv", "targets.csv", "pairs.parquet", "correlation.csv", "submissions.csv")
    files = [*(root / "ranking" / name for name in names), *sorted((root / "ranking" / "report").iterdir())]
    return {path.name: path.read_bytes() for path in files}


def test_broken_submissions_change_only_the_audit_log(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = outcome.read(root, home)
    report.write(ranked, root / "ranking")
    log, refused = root / "ranking" / "audit.jsonl", root / "ranking" / "refused.csv"
    before, first = published(root), log.read_bytes()
    report.write(ranked, root / "ranking")
    assert log.read_bytes() == first, "the same decisions are not written twice"
    submit(root, "broken", 1, {**scores(1, 17), "first_000": float("inf")})
    submit(root, "gaps", 1, dict(list(scores(1, 17).items())[5:]))
    submit(root, "flat", 1, dict.fromkeys(ITEMS, 1.0))
    ranked = outcome.read(root, home)
    with monkeypatch.context() as patch:  # nothing is written until everything has been computed
        patch.setattr(report, "audit_log", lambda *_: bytes("\udcff", "utf-8"))
        with pytest.raises(UnicodeEncodeError):
            report.write(ranked, root / "ranking")
    assert refused.read_bytes() == b"submission,reasons\n"
    report.write(ranked, root / "ranking")
    reasons = {submission.name: submission.reasons[0] for submission in ranked.refused}
    assert reasons.keys() == {"broken/1", "gaps/1", "flat/1"}
    assert "constant scores" in reasons["flat/1"]
    assert published(root) == before
    assert log.read_bytes().startswith(first)
    assert b'"broken/1"' in log.read_bytes()[len(first):]


def test_csv_tables_have_numbers_and_baselines_no_rank(root: Path, home: Path) -> None:
    edit(root, 'baselines = ["length", "bleu"]')
    submit(root, "delta", 1, {item: -value for item, value in scores(0.5, 18).items()})
    ranked = outcome.read(root, home)
    for name, (head, *rows) in tables.for_csv(ranked).items():
        assert len(set(head)) == len(head)
        for column, value in (cell for row in rows for cell in zip(head, row, strict=True)):
            if str(column).startswith(("value", "rank", "points", "first|", "second|")) and value != "":
                float(str(value))
        if name == "rules":
            assert head == ("team", "value_dev", "rank_dev", "value_test", "rank_test", "points_borda", "rank_borda")
            assert {row[0]: row[3] for row in rows}["delta"] == round(min(ranked.totals), 4) < 0
    assert " length with" in tables.winner(ranked)
    official = {row[0]: row for row in tables.official(ranked).rows}
    assert [row[1] for row in official.values() if row[1] != "–"] == ["1", "2", "3", "4"]
    assert official["length (baseline)"][1] == "–"
    assert any("reference" in row[2] for name, row in official.items() if name.startswith("bleu"))


def test_a_baseline_may_be_above_the_winner_or_incomplete(root: Path, home: Path, invoke: Invoke) -> None:
    (root / "baselines").mkdir()
    truth = scores(0, 1)
    for name, values in (("truth", truth), ("few", {item: truth[item] for item in ITEMS if int(item[-3:]) < 10})):
        (root / "baselines" / f"{name}.csv").write_text(table(values))
    result = outcome.read(root, home)
    few, best = sorted(result.baselines, key=lambda baseline: baseline.name)
    assert (math.isnan(few.value), "30 of first" in few.reason, best.value > max(result.totals)) == (True, True, True)
    assert re.search(r"truth with 0\.\d{4}, above", tables.winner(result))
    assert "baselines/few.csv" in invoke("challenge", "validate", root, status=1).out
    assert "baseline few" in invoke("challenge", "rank", root).out


def test_the_report_ranks_by_the_rule_and_rounds(root: Path, home: Path) -> None:
    edit(root, 'rule = "dev"')
    ranked = outcome.read(root, home)
    results, _ = report.write(ranked, root / "ranking")
    assert {entry.split for entry in results.datasets} == {row.board for row in results.ranking} == {"dev"}
    (board, *_) = overall_boards(results)["dev"]
    assert [team for team, _ in board.columns] == ranked.teams
    values = [*(row.value for row in (*results.correlations, *results.ranking, *results.reliability)),
              *(row.delta for rows in results.comparisons for row in rows)]
    assert all(value == round(value, 3) for value in values if np.isfinite(value))
    assert (results.points, results.examples) == ((), ())
    shown = {row.metric: f"{row.value:.3f}" for row in results.correlations
             if (row.statistic, row.quality) == ("spearman", "wit")}
    assert {row[0]: row[-1] for row in tables.official(ranked).rows if row[0] in shown} == shown  # rounded only once


def test_invalid_rules_are_refused(root: Path, home: Path) -> None:
    rules = (root / "challenge.toml").read_text()
    for line, part in (
        ('rule = "best"', "best"), ("rules = 1", "'rules'"), ("submissions = -1", "submissions"),
        ('datasets = ["jsalt"]', "jsalt"), ('datasets = ["jsalt", "jsalt"]', "twice"),
        ('qualities = ["wot"]', "'wit'"), ('baselines = ["lenght"]', "challenge.toml: baselines: .*'length'"),
        ('outliers = ["system-b"]', "outliers: .*'system-b'"),
        ('statistic = "soft-pairwise-accuracy"\nlevel = "over-systems"', 'level = "items"'),
        ('closes = "later"', "closes"), ("closes = 2026-11-29T00:00:01", "closes: .*2026-11-29 00:00:01"),
        ('by = "speaker"', "language, system"), ("opens = 2026-05-01\ncloses = 2026-04-01", "opens"),
        ("draws = 199", "draws: .*200"),
    ):
        (root / "challenge.toml").write_text(f"{line}\n{rules.replace('draws = 200', '')}")
        with pytest.raises(BadConfig, match=part):
            outcome.read(root, home)


def test_incomplete_ratings_are_refused_unless_accepted(root: Path, home: Path) -> None:
    ratings = root / "private" / "ratings.csv"
    ratings.write_text("\n".join(line for line in ratings.read_text().splitlines() if "second_039," not in line))
    with pytest.raises(BadConfig, match=r"39 of 40 .* of second .* 'overall'; missing: second_039; .*: 39 of .* 'wit'"):
        outcome.read(root, home)
    edit(root, 'coverage = "partial"')
    assert any("are incomplete: 39 of 40" in line for line in tables.exhibit(outcome.read(root, home)).remarks)
    ratings.write_text("\n".join(line for line in ratings.read_text().splitlines() if ",wit," not in line))
    with pytest.raises(BadConfig, match=r"'wit'.*0"):
        outcome.read(root, home)
