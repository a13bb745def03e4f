"""DSTC6 Track 2 (Hori and Hori 2017): customer-service replies on Twitter, 20 systems, 10 raters each.

Upstream is `human_rating_scores.txt`: blocks with a blank line after each, "### ..." above the turns ("U: ", "S: ")
and again above the replies ("S_1: [5,4,...] text"). The last reply, S_21, is what the company really wrote: a
reference, not a system. Ten more references lie in `references/refgen_result1.txt` to `...10.txt`, one line a
dialogue, in the order of `original_refs.txt`. Verified against stored copies of all but the first file, whose shape
is verified against published readers. Systems keep their upstream names; the organisers' are S_00 to S_19.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Quality, Source, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats.raw import RatedRow, assemble, find, read_each
from benchmarks.sources import official

ARCHIVE = "https://www.dropbox.com/s/oh1trbos0tjzn7t/dstc6_t2_evaluation.tgz?dl=1"

CARDS = (
    DatasetCard(
        name="dstc6", title="Twitter-DSTC6", split="dev", level="turn", size=40000,
        qualities=(Quality("overall", 1, 5),),
        sources=(official(), Source(ARCHIVE, form="dstc6")),
        licence="not stated",
        citation="Hori and Hori (2017). End-to-end Conversation Modeling Track in DSTC6. arXiv:1706.07440.",
        homepage="https://github.com/dialogtekgeek/DSTC6-End-to-End-Conversation-Modeling",
        notes="11 references per item in the official file; systems S_00 to S_19. "
              "Not in the release of DSTC11 Track 4.",
    ),
)

REPLY = re.compile(r"(S_\d+):\s*(\[[^\]]*\])\s*(.*)")


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every block of rated replies, with the references of its dialogue."""
    file = find(path, "human_rating_scores.txt")
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip())]
    columns = _references(path) if path.is_dir() else []
    for column in columns:
        if len(column) != len(blocks):
            raise BadRecord(file.name, None, "", f"has {len(blocks)} dialogues, a file of references {len(column)}")
    extra = list(zip(*columns, strict=True)) or [()] * len(blocks)
    return assemble(card, read_each(file, zip(blocks, extra, strict=True), _read))


def _read(record: tuple[list[str], tuple[str, ...]]) -> Iterator[RatedRow]:
    block, references = record
    context = [Utterance(USER if line[0] == "U" else SYSTEM, line[2:]) for line in block if re.match("[US]:", line)]
    replies = [reply_match.groups() for line in block if (reply_match := REPLY.match(line))]
    *systems, (_, _, original) = replies
    if references and references[0].split() != original.split():
        raise ValueError(f"the original reply {original!r:.60} is not that of original_refs.txt in the same place")
    for system, votes, text in systems:
        yield RatedRow(context, text, {"overall": json.loads(votes)}, references or (original,), system=system)


def _references(folder: Path) -> list[list[str]]:
    """The original replies, then those of ten people, each by dialogue; nothing where they are not there."""
    names = ("original_refs.txt", *(f"refgen_result{number}.txt" for number in range(1, 11)))
    files = [file for name in names for file in folder.rglob(name)]
    if not files or files[0].name != names[0]:
        return []
    return [file.read_text(encoding="utf-8").removesuffix("\n").split("\n") for file in files]
