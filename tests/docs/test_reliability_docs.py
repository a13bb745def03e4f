"""docs/reliability.md has a row for every fault of the suite, as the suite states it, and no other."""

from __future__ import annotations

from tests.faults import table


def test_every_fault_has_its_row() -> None:
    rows = [line.strip("| ").split(" | ") for line in table.PAGE.read_text().partition(table.MARK)[2].splitlines()
            if line.startswith("| ") and not line.startswith(("| fault", "| ---"))]
    assert [tuple(row[:3]) for row in rows] == [table.cells(fault) for fault in table.known()]
    assert [row for row in rows if row[3] == table.NOT_TRIED or int(row[4]) < 1] == []
