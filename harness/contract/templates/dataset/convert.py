"""Make the table of what was published: `python -m my_dataset.convert raw.jsonl my-dataset.csv`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = ("item", "context", "response", "reference", "system", "quality", "annotator", "rating")


def rows(published: Path) -> Iterator[tuple[object, ...]]:
    """A row for each vote; the turns of a context stand one a line."""
    for line in published.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        for quality, votes in entry["scores"].items():
            for annotator, vote in enumerate(votes, 1):
                yield (entry["id"], "\n".join(entry["turns"]), entry["reply"], entry["gold"], entry["bot"], quality,
                       annotator, vote)


def convert(published: Path, table: Path) -> None:
    """Write the table."""
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(published))


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
