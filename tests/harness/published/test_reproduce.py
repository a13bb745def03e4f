"""Recomputing print: the three states by hand, then the known facts about each paper."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import published
from harness.cli import main
from harness.published.reproduce import PAPERS, winners
from harness.published.reproduce.boards import PrintedBoard
from harness.published.reproduce.check import Claim
from harness.published.reproduce.pvalues import exact_tail, kendall_p, pearson_p
from harness.published.reproduce.rounding import Number, by_rule, compare, count, exact, largest, rank, rounded
from harness.published.reproduce.yeh2021 import misplaced
from harness.run.rank import BY_NAME

Checked = dict[str, tuple[Claim, ...]]


def mean(*printed: str) -> Number:
    return by_rule(BY_NAME["micro"], {("a", f"q{place}"): rounded(Decimal(text)) for place, text in enumerate(printed)})


@pytest.mark.parametrize(("number", "printed", "state"), [
    (mean("0.10", "0.20"), "0.15", "equal"),
    (mean("0.1", "0.2"), "0.2", "equal"),       # 0.15: half up and half to even
    (mean("0.2", "0.3"), "0.2", "equal"),       # 0.25: half to even
    (mean("0.2", "0.3"), "0.3", "equal"),       # 0.25: half up
    (mean("0.3", "0.4"), "0.3", "within"),      # 0.35 rounds to 0.4 either way, but 0.26 and 0.36 round to 0.3 and 0.4
    (mean("0.20", "0.20", "0.20"), "0.21", "differs"),  # at most 0.205, in a single point
    (mean("0.20", "0.20", "0.21"), "0.21", "within"),   # 0.2033, at most 0.2083
    (exact(Fraction(7, 20)), "0.3", "differs"),  # 0.35 that nobody rounded
    (exact(Fraction(-1, 4)), "-0.3", "equal"),
    (exact(Fraction(-1, 4)), "-0.2", "equal"),
    (exact(Fraction(-7, 20)), "-0.3", "differs"),
    (rounded(Decimal("0.8236")), "0.8235", "differs"),
    (rounded(Decimal("0.82")), "0.8236", "within"),     # 0.82 may stand for 0.8236
    (exact(4), "3", "differs"),
])
def test_three_states_by_hand(number: Number, printed: str, state: str) -> None:
    assert compare(number, Decimal(printed)) == state


def test_a_count_printed_in_thousands_is_known_to_the_thousand() -> None:
    assert compare(exact(77264), Decimal(77000), Fraction(1000)) == "equal"
    assert compare(exact(80000), Decimal(77000), Fraction(1000)) == "differs"


decimals = st.integers(-9999, 9999).map(lambda digits: Decimal(digits).scaleb(-4))


@given(st.lists(decimals, min_size=1, max_size=8))
def test_a_mean_of_printed_numbers_has_half_a_unit_of_room(values: list[Decimal]) -> None:
    found = mean(*map(str, values))
    assert found.value - found.low == found.high - found.value == Fraction(1, 20000)


@given(decimals, st.integers(0, 6))
def test_what_is_rounded_again_is_equal(value: Decimal, digits: int) -> None:
    step = Decimal(1).scaleb(-digits)
    for mode in ("ROUND_HALF_UP", "ROUND_HALF_EVEN"):
        assert compare(exact(Fraction(value)), value.quantize(step, rounding=mode)) == "equal"


def test_ranks_and_counts_know_what_rounding_leaves_open() -> None:
    near, alike, far = (rounded(Decimal(text)) for text in ("0.31", "0.3", "0.9"))
    assert rank(near, [alike, far]) == Number(Fraction(2), Fraction(2), Fraction(3))
    assert count([(near, [alike]), (far, [near, alike])]) == Number(Fraction(2), Fraction(1), Fraction(2))
    assert largest([near, alike]) == Number(Fraction(31, 100), Fraction(61, 200), Fraction(7, 20))


@pytest.mark.parametrize(("name", "rows"), [("dstc10", 238), ("mmecrs", 108), ("dynaeval", 302), ("deb", 256),
                                            ("yeh2021", 670), ("finedeval", 31)])
def test_all_rows_are_carried_with_all_their_digits(name: str, rows: int) -> None:
    found = published.table(name)
    assert len(found) == rows
    assert len({row.source for row in found}) == 1
    assert len(set(found)) == rows


def test_trailing_zeros_are_digits() -> None:
    (row,) = (row for row in published.table("dstc10") if (row.metric, row.table, row.dataset)
              == ("Team 3", "Table 2", "all"))
    assert str(row.value) == "0.2020"


def test_uncertain_cells_are_marked() -> None:
    assert {name: sum(row.uncertain for row in published.table(name)) for name in published.NAMES} == {
        "dstc10": 0, "mmecrs": 0, "dynaeval": 0, "deb": 33, "yeh2021": 0, "finedeval": 0}


def test_sizes_of_19_datasets_in_two_papers() -> None:
    assert Counter(size.source for size in published.sizes()) == {"mmecrs2022": 19, "dstc10": 19}
    units = {size.dataset: size.unit for size in published.sizes() if size.source == "dstc10"}
    assert (units["dstc6"], units["persona-usr"], units["fed-turn"]) == (1000, 100, 1)


@pytest.fixture(scope="module")
def found() -> Checked:
    """All findings, by paper."""
    return {name: tuple(paper.claims()) for name, paper in PAPERS.items()}


def states(findings: tuple[Claim, ...], table: str, part: str) -> dict[str, str]:
    return {finding.what: finding.state for finding in findings
            if finding.table == table and part in finding.what}


def differing(findings: tuple[Claim, ...], table: str, part: str = "") -> set[str]:
    return {what for what, state in states(findings, table, part).items() if state == "differs"}


def test_six_averages_of_the_organisers_table_2_differ(found: Checked) -> None:
    averages = [finding for finding in found["dstc10"] if finding.how == "mean over 11 cells"
                and finding.table == "Table 2"]
    assert len(averages) == 10
    off = {finding.what.removeprefix("average of "): (f"{float(finding.recomputed.value):.4f}",
                                                            str(finding.printed))
           for finding in averages if finding.state == "differs"}
    assert off == {"Team 1": ("0.2807", "0.2781"), "Team 2": ("0.0904", "0.0895"), "Team 3": ("0.2026", "0.2020"),
                   "Team 4": ("0.1111", "0.1029"), "Team 8": ("0.2822", "0.2819"), "Team 9": ("0.2691", "0.2689")}


def test_where_averages_of_table_2_differ_the_recomputed_one_is_higher(found: Checked) -> None:
    assert all(finding.recomputed.low > Fraction(finding.printed) for finding in found["dstc10"]
               if finding.how == "mean over 11 cells" and finding.state == "differs")


def test_ten_averages_of_the_organisers_table_3_agree(found: Checked) -> None:
    averages = states(found["dstc10"], "Table 3", "average of")
    assert len(averages) == 10
    assert set(averages.values()) == {"equal"}
    assert states(found["dstc10"], "Table 3", "Team 7 is best") == {"datasets on which Team 7 is best": "equal"}


def test_eight_averages_of_mmecrs_agree(found: Checked) -> None:
    averages = [finding for finding in found["dstc10"] if finding.table in {"MME-CRS Table 3", "MME-CRS Table 6"}
                and finding.how == "mean over 11 cells"]
    assert [finding.state for finding in averages] == ["equal"] * 8


def test_what_the_prose_of_mmecrs_gets_wrong(found: Checked) -> None:
    assert differing(found["dstc10"], "MME-CRS prose") == {"lost without EM", "qualities of the development sets"}
    assert states(found["dstc10"], "MME-CRS prose", "first") == {"cells in which it is first": "equal"}


def test_where_the_two_papers_on_team_5_part(found: Checked) -> None:
    assert differing(found["dstc10"], "Table 2", "Team 5 on") == {
        f"Team 5 on {dataset}" for dataset in ("esl", "ncm", "dstc10-topical", "dstc10-persona")}
    assert not differing(found["dstc10"], "Table 2", "Deep AM-FM")


def test_where_the_two_papers_on_dataset_sizes_part(found: Checked) -> None:
    compared = {finding.what for finding in found["dstc10"]
                if finding.how == "as printed by the organisers" and finding.state == "differs"}
    assert compared == {
        "turns of dstc7", "qualities of dstc7", "turns of convai2-grade", "turns of dstc10-persona",
        *(f"annotations of {name}" for name in ("dailydialog-gupta", "fed-turn", "fed-dial", "esl", "ncm",
                                                "dstc10-persona"))}


@pytest.mark.parametrize(("board", "rule", "first"), [
    ("test, 5 datasets", "micro", "Team 5"), ("test, 5 datasets", "macro", "Team 1"),
    ("test, 11 cells", "micro", "MME-CRS"), ("test, 11 cells", "macro", "Top 3"),
    ("dev, 14 datasets", "macro", "Team 7"),
])
def test_who_wins_the_challenge(board: str, rule: str, first: str) -> None:
    (row,) = (row for row in PAPERS["dstc10"].winners() if row.board.startswith(board) and row.rule == rule)
    assert row.first == (first,)


def test_a_tie_has_several_winners_and_an_incomplete_row_cannot_win() -> None:
    one, two = rounded(Decimal("0.1")), rounded(Decimal("0.2"))
    cells = [("a", "p"), ("b", "p")]
    rows = {"x": dict(zip(cells, (one, two), strict=True)), "y": dict(zip(cells, (two, one), strict=True)),
            "z": {cells[0]: rounded(Decimal("0.9"))}}
    row = next(winners(PrintedBoard("toy", rows)))
    assert (row.first, row.second, row.competitors, row.incomplete) == (("x", "y"), None, 2, 1)


def test_dynaeval_agrees_but_for_a_copied_row_and_a_sign(found: Checked) -> None:
    assert {finding.what.partition(" (")[0] for finding in found["dynaeval"] if finding.state == "differs"} == {
        "columns in which the overall row is the coherence row", "GPT-2, USR and FED ahead of DynaEval in fluency"}
    assert len(states(found["dynaeval"], "Table 3", ",")) == 33
    assert len(states(found["dynaeval"], "prose", "in which DynaEval is best")) == 3
    assert len(states(found["dynaeval"], "prose", "ahead of S-DiCoh")) == 3


def test_confusion_matrices_of_deb_give_its_accuracies_to_two_hundredths(found: Checked) -> None:
    shares = [finding for finding in found["deb"] if finding.how == "from Table 5"]
    assert len(shares) == 20
    assert all(abs(check.recomputed.value - Fraction(check.printed)) < Fraction(25, 100000)
               for check in shares if check.table in {"Table 3", "Table 7"})
    assert [finding.what for finding in found["deb"]
            if finding.how == "from Table 5" and finding.state == "differs"] == [
        "accuracy of DEB, random negatives", "accuracy of RUBER-Large, random negatives"]


def test_impossible_and_misfit_p_values_of_deb(found: Checked) -> None:
    assert "p-value of BERT+DNN, kendall" in differing(found["deb"], "Table 9, system level")
    assert "p-value of RUBER, kendall" in differing(found["deb"], "Table 9, response level")


def test_p_values_by_hand() -> None:
    """Half at n = 3: t = 1/√3 with one degree of freedom, so p = 1 − 2/π · arctan(1/√3) = 2/3.

    Of the 120 orders of five, one is the order itself, four are one exchange away from it, and as many mirror them.
    """
    assert float(pearson_p(exact(Fraction(1, 2)), 3).value) == pytest.approx(2 / 3)
    assert pearson_p(exact(1), 9).value == 0
    assert exact_tail(5, 10) == Fraction(2, 120)
    assert exact_tail(5, 8) == Fraction(2 * (1 + 4), 120)
    assert kendall_p(rounded(Decimal("0.399")), 5).value == kendall_p(exact(Fraction(2, 5)), 5).value
    assert kendall_p(exact(0), 5).value == 1


@pytest.mark.parametrize("n", [4, 5, 6, 7, 30])
def test_kendall_like_scipy(n: int) -> None:
    from scipy.stats import kendalltau

    ranks = [*range(n - 2), n - 1, n - 2]
    tau, p = kendalltau(list(range(n)), ranks, method="exact" if n < 8 else "asymptotic")
    assert float(kendall_p(exact(Fraction(float(tau))), n).value) == pytest.approx(float(p))


def test_stars_of_the_assessment_follow_the_numbers_but_for_two(found: Checked) -> None:
    stars = [finding for finding in found["yeh2021"] if "out of the order" in finding.what]
    assert len(stars) == 36
    assert {finding.table for finding in stars if finding.state == "differs"} == {
        "DSTC6 Data, dstc6, system level"}
    assert sum(finding.recomputed.value for finding in stars) == 2


def test_misplaced_stars_by_hand() -> None:
    rows = [row for row in published.table("yeh2021") if (row.dataset, row.level, row.statistic)
            == ("dstc6", "system", "spearman")]
    assert misplaced(rows) == 1
    assert misplaced([row for row in rows if row.metric != "HolisticEval"]) == 0


def test_no_number_of_fed_is_the_same_in_two_papers(found: Checked) -> None:
    assert len(differing(found["yeh2021"], "FED Data")) == 4


@pytest.mark.parametrize("name", PAPERS)
def test_the_command_prints_what_differs_and_who_wins(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", name]) == 0
    short = capsys.readouterr().out
    assert main(["reproduce", name, "--all"]) == 0
    whole = capsys.readouterr().out
    assert "Who wins" in short
    assert "DIFFERS" in short
    assert "\nequal  " not in short
    assert "\nequal  " in whole


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str],
                                   found: Checked) -> None:
    assert main(["reproduce", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = Counter((row["paper"], row["kind"]) for row in rows)
    assert {name: kinds[name, "check"] for name in PAPERS} == {name: len(each) for name, each in found.items()}
    (team,) = (row for row in rows if row.get("what") == "average of Team 4" and row["table"] == "Table 2")
    assert (team["printed"], team["state"]) == ("0.1029", "differs")
    assert team["low"] < team["recomputed"] < team["high"]


def test_an_unknown_paper_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "dstc11"]) == 2
    assert "did you mean 'dstc10'" in capsys.readouterr().err
