"""DSTC7 Task 2 (Galley et al. 2019): replies on Reddit, grounded in a web page, three raters each.

Upstream is an archive with ratings, replies and the web pages, but without the conversations: those have to be
extracted from Reddit, so what is read here has no context. The layout of the archive could not be verified. What is
read is a table with a header (tabs or commas) and these columns, found by name: an instance, a system, a reply, the
votes on relevance and on interest or informativeness (one column a rater, or one with a list), an average, a page.
A file of another shape is refused with the columns that were found.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Quality, Source
from benchmarks.errors import BadRecord
from benchmarks.sources.dstc11 import mirror
from benchmarks.sources.rows import RatedRow, assemble, find, official, read_each

REPOSITORY = "https://github.com/mgalley/DSTC7-End-to-End-Conversation-Modeling"
COMMIT = "e2b50e535e10fc07c55946c20571ced972c6c059"
RATINGS = f"{REPOSITORY}/raw/{COMMIT}/evaluation/dstc7-task2-human_eval.tgz"

CARDS = (
    DatasetCard(
        name="dstc7", title="Reddit-DSTC7", split="dev", level="turn", size=9900,
        qualities=(Quality("relevance", 1, 5), Quality("informativeness", 1, 5), Quality("overall", 1, 5)),
        sources=(official(), mirror(), Source(RATINGS, form="dstc7")),
        licence="O-UDA-1.0 (ratings and replies)",
        citation="Galley, Brockett, Gao, Gao and Dolan (2019). Grounded Response Generation Task at DSTC7. "
                 "AAAI DSTC7 Workshop.",
        homepage=REPOSITORY,
        notes="9900 rows in the organisers' table and the MME-CRS paper, 9990 in the organisers' paper; "
              "three qualities in the file, one in the table. The upstream release has ratings, replies and "
              "the web page but not the conversation: what is fetched from there has no context.",
    ),
)

COLUMNS = {
    "system": r"system|team|model",
    "response": r"response|reply|hypothesis|output",
    "relevance": r"relevan",
    "informativeness": r"informativ|interest",
    "overall": r"overall|average|avg|mean",
    "fact": r"fact|passage|grounding",
    "reference": r"reference|gold",
}
"""How each column is found: its name in small letters contains this."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the first table that has the columns; rows without a published reply are left out."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    tables = [file for file in files if file.suffix.casefold() in {".tsv", ".csv", ".txt"}]
    seen: list[str] = []
    for file in tables:
        header, rows = _table(file)
        columns = {wanted: [name for name in header if re.search(pattern, name.casefold())]
                   for wanted, pattern in COLUMNS.items()}
        if all(columns[wanted] for wanted in ("system", "response", "relevance", "informativeness")):
            return assemble(card, read_each(file, rows, partial(_read, columns=columns)))
        seen.append(f"{file.name} ({', '.join(header)[:80]})")
    where = find(path, "*").name if files else path.name
    raise BadRecord(where, None, "", "no table with a system, a response and votes on relevance and informativeness; "
                                     f"found {'; '.join(seen) or 'no table'}")


def _table(file: Path) -> tuple[list[str], Iterator[dict[str, str]]]:
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    reader = csv.DictReader(lines, delimiter=delimiter)
    return list(reader.fieldnames or ()), iter(reader)


def _read(record: dict[str, str], columns: dict[str, list[str]]) -> Iterator[RatedRow]:
    def cell(wanted: str) -> str:
        return next((record[name] or "" for name in columns[wanted]), "")

    if cell("response").strip():
        yield RatedRow(
            context=(),
            response=cell("response"),
            votes={name: _numbers(" ".join(record[column] or "" for column in columns[name]))
                   for name in ("relevance", "informativeness", "overall") if columns[name]},
            references=cell("reference").split("|||"),
            facts=[cell("fact")],
            system=cell("system"),
        )


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
