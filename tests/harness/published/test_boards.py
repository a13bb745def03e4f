"""Print as it is kept, and who wins the challenge by it."""

from harness import published
from harness.published.boards import PrintedBoard, boards, winners


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


def test_who_wins_the_challenge_and_that_a_tie_has_several_winners_and_an_incomplete_row_cannot_win() -> None:
    rows = {(row.board.partition(" (")[0], row.rule): row.first for board in boards() for row in winners(board)}
    assert {key: rows[key] for key in rows if key[1] != "borda"} == {
        ("test, 5 datasets", "micro"): ("Team 5",), ("test, 5 datasets", "macro"): ("Team 1",),
        ("test, 11 cells", "micro"): ("MME-CRS",), ("test, 11 cells", "macro"): ("Top 3",),
        ("dev, 14 datasets", "micro"): rows["dev, 14 datasets", "micro"], ("dev, 14 datasets", "macro"): ("Team 7",)}
    one, two = 0.1, 0.2
    cells = [("a", "p"), ("b", "p")]
    rows = {"x": dict(zip(cells, (one, two), strict=True)), "y": dict(zip(cells, (two, one), strict=True)),
            "z": {cells[0]: 0.9}}
    row = next(winners(PrintedBoard("toy", rows)))
    assert (row.first, row.second, row.competitors, row.incomplete) == (("x", "y"), None, 2, 1)
