"""Recomputing print: the three states by hand, then the known facts about each paper."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

from harness import published
from harness.published.check import (
    STATES,
    Claim,
    Number,
    PrintedBoard,
    by_rule,
    compare,
    count,
    exact,
    rank,
    rounded,
    winners,
)
from harness.published.dstc10 import boards, claims
from harness.run.rank import BY_NAME


def mean(*printed: str) -> Number:
    return by_rule(BY_NAME["micro"], {("a", f"q{place}"): rounded(Decimal(text)) for place, text in enumerate(printed)})


BY_HAND = [
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
]


def test_three_states_by_hand() -> None:
    for number, printed, state in BY_HAND:
        assert compare(number, Decimal(printed)) == state, (number, printed)
    # a count printed in thousands is known to the thousand
    assert compare(exact(77264), Decimal(77000), Fraction(1000)) == "equal"
    assert compare(exact(80000), Decimal(77000), Fraction(1000)) == "differs"



def test_ranks_and_counts_know_what_rounding_leaves_open() -> None:
    near, alike, far = (rounded(Decimal(text)) for text in ("0.31", "0.3", "0.9"))
    assert rank(near, [alike, far]) == Number(Fraction(2), Fraction(2), Fraction(3))
    assert count([(near, [alike]), (far, [near, alike])]) == Number(Fraction(2), Fraction(1), Fraction(2))


def test_all_rows_are_carried_with_all_their_digits() -> None:
    sizes = {"dstc10": 238, "mmecrs": 108, "dynaeval": 302, "deb": 256, "yeh2021": 670, "finedeval": 31}
    assert sizes.keys() == set(published.NAMES)
    for name, rows in sizes.items():
        table = published.table(name)
        assert len(table) == len(set(table)) == rows
        assert len({row.source for row in table}) == 1
        assert sum("uncertain" in row.note for row in table) == (33 if name == "deb" else 0)
    (row,) = (row for row in published.table("dstc10") if (row.metric, row.table, row.dataset)
              == ("Team 3", "Table 2", "all"))
    assert str(row.value) == "0.2020", "trailing zeros are digits"


def differing(claims: tuple[Claim, ...], table: str, part: str = "") -> set[str]:
    return {claim.what for claim in claims if claim.table == table and part in claim.what and claim.state == "differs"}


def test_how_much_of_each_paper_follows_from_the_rest() -> None:
    assert [Counter(claim.state for claim in claims())[state] for state in STATES] == [128, 3, 37]


def test_what_differs_in_the_papers_of_the_challenge() -> None:
    every = tuple(claims())
    averages = {claim.what.removeprefix("average of "): claim for claim in every
                if claim.table == "Table 2" and claim.how == "mean over 11 cells" and claim.state == "differs"}
    assert {name: (f"{float(claim.recomputed.value):.4f}", str(claim.printed)) for name, claim in averages.items()} == {
        "Team 1": ("0.2807", "0.2781"), "Team 2": ("0.0904", "0.0895"), "Team 3": ("0.2026", "0.2020"),
        "Team 4": ("0.1111", "0.1029"), "Team 8": ("0.2822", "0.2819"), "Team 9": ("0.2691", "0.2689")}
    assert all(claim.recomputed.low > Fraction(claim.printed) for claim in averages.values())
    assert not differing(every, "Table 3")
    assert not {what for table in ("MME-CRS Table 3", "MME-CRS Table 6") for what in differing(every, table)}
    assert differing(every, "MME-CRS prose") == {"lost without EM", "qualities of the development sets"}
    assert not differing(every, "Table 2", "Deep AM-FM")
    assert differing(every, "Table 2", "Team 5 on") == {
        f"Team 5 on {dataset}" for dataset in ("esl", "ncm", "dstc10-topical", "dstc10-persona")}
    assert {claim.what for claim in every if claim.how == "as printed by the organisers"
            and claim.state == "differs"} == {
        "turns of dstc7", "qualities of dstc7", "turns of convai2-grade", "turns of dstc10-persona",
        *(f"annotations of {name}" for name in ("dailydialog-gupta", "fed-turn", "fed-dial", "esl", "ncm",
                                                "dstc10-persona"))}


def test_who_wins_the_challenge() -> None:
    rows = {(row.board.partition(" (")[0], row.rule): row.first for board in boards() for row in winners(board)}
    assert {key: rows[key] for key in rows if key[1] != "borda"} == {
        ("test, 5 datasets", "micro"): ("Team 5",), ("test, 5 datasets", "macro"): ("Team 1",),
        ("test, 11 cells", "micro"): ("MME-CRS",), ("test, 11 cells", "macro"): ("Top 3",),
        ("dev, 14 datasets", "micro"): rows["dev, 14 datasets", "micro"], ("dev, 14 datasets", "macro"): ("Team 7",)}


def test_a_tie_has_several_winners_and_an_incomplete_row_cannot_win() -> None:
    one, two = rounded(Decimal("0.1")), rounded(Decimal("0.2"))
    cells = [("a", "p"), ("b", "p")]
    rows = {"x": dict(zip(cells, (one, two), strict=True)), "y": dict(zip(cells, (two, one), strict=True)),
            "z": {cells[0]: rounded(Decimal("0.9"))}}
    row = next(winners(PrintedBoard("toy", rows)))
    assert (row.first, row.second, row.competitors, row.incomplete) == (("x", "y"), None, 2, 1)
