"""DSTC6 Track 2 (Hori and Hori 2017): customer-service replies on Twitter, 20 systems, 10 raters each.

Upstream is `human_rating_scores.txt`: blocks separated by blank lines, "### ..." above the turns ("U: ", "S: ") and
above the replies ("S_1: [5,4,...] text"). The last reply, S_21, is the company's own: a reference, not a system. Ten
more references lie in `references/refgen_result1.txt` to `...10.txt`, one line per dialogue, in the order of
`original_refs.txt`. Verified against stored copies of all but the first file, whose shape is verified against published
readers. Systems keep their upstream names; the organisers' are S_00 to S_19.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.errors import BadRecord
from benchmarks.sources import RatedRow, assemble, find, read_each

REPLY = re.compile(r"(S_\d+):\s*(\[[^\]]*\])\s*(.*)")


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every block of rated replies, with the references of its dialogue."""
    file = find(path, "human_rating_scores.txt")
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip())]
    columns = _references(path)
    for column in columns:
        if len(column) != len(blocks):
            raise BadRecord(file.name, None, "", f"has {len(blocks)} dialogues, a file of references {len(column)}")
    references = list(zip(*columns, strict=True)) or [()] * len(blocks)
    return assemble(card, read_each(file, zip(blocks, references, strict=True), _read))


def _read(record: tuple[list[str], tuple[str, ...]]) -> Iterator[RatedRow]:
    block, references = record
    context = [Utterance(USER if line[0] == "U" else SYSTEM, line[2:]) for line in block if re.match("[US]:", line)]
    replies = [reply.groups() for line in block if (reply := REPLY.match(line))]
    *systems, (_, _, original) = replies
    if references and references[0].split() != original.split():
        raise ValueError(f"the original reply {original!r:.60} is not that of original_refs.txt in the same place")
    for system, votes, text in systems:
        yield RatedRow(context, text, {"overall": json.loads(votes)}, references or (original,), system=system)


def _references(folder: Path) -> list[list[str]]:
    """Return the original replies, then those of ten people, each by dialogue; nothing if the files are missing."""
    names = ("original_refs.txt", *(f"refgen_result{number}.txt" for number in range(1, 11)))
    files = [file for name in names for file in folder.rglob(name)]
    if not files or files[0].name != names[0]:
        return []
    return [file.read_text(encoding="utf-8").removesuffix("\n").split("\n") for file in files]
