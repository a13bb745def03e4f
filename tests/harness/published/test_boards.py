"""Print as it is kept, and who wins the challenge by it."""

from harness import published
from harness.published.boards import boards, ranks_of, winner


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


def test_winners_by_rule() -> None:
    """Tied rows share the first place; an incomplete one cannot win."""
    first = {(board.name.partition(" (")[0], rule): winner(ranks).first
             for board in boards() for rule, ranks in board.ranks().items() if rule in ("test", "dev")}
    assert first == {
        ("test, 5 datasets", "test"): ("Team 5",), ("test, 5 datasets", "dev"): ("Team 1",),
        ("test, 11 cells", "test"): ("MME-CRS",), ("test, 11 cells", "dev"): ("Top 3",),
        ("dev, 14 datasets", "test"): ("Team 7",), ("dev, 14 datasets", "dev"): ("Team 7",)}
    a, b = ("a", "p"), ("b", "p")
    toy = winner(ranks_of({"x": {a: 0.1, b: 0.2}, "y": {a: 0.2, b: 0.1}, "z": {a: 0.9}}, {})["test"])
    assert (toy.first, toy.second, toy.competitors) == (("x", "y"), "", 2)
