"""What every family shares: the organisers' own file as a source, and how the rows of a converter become a dataset.

The converter of a family is the function `convert` of its module. It yields one row for each thing that people judged,
in the order of its upstream. Ids are NAME_00000 and on, as in the organisers' files. Texts are stripped, as
`benchmarks.formats.official` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Rating, Reference, Source, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official as release
from benchmarks.storage.files import walk

Converter = Callable[[Path, DatasetCard], Dataset]
"""From the raw files of one upstream, a file or a folder, to the dataset of the card."""


CHATEVAL = "https://chateval.org/dstc10"


@dataclass(frozen=True, slots=True)
class RatedRow:
    """One judged thing as its upstream gives it; `votes` maps a quality of the card to its votes."""

    context: Sequence[Utterance]
    response: str | None
    votes: Mapping[str, Sequence[float]]
    references: Sequence[str] = ()
    facts: Sequence[str] = ()
    system: str | None = None


def official(sha256: str | None = None) -> Source:
    """The organisers' own file, which stands behind a registration."""
    return Source(CHATEVAL, sha256, form="official", by_hand=True)


def assemble(card: DatasetCard, rows: Iterable[RatedRow]) -> Dataset:
    """Number the rows in their order, and make them a fetched dataset."""
    items: list[Item] = []
    ratings: list[Rating] = []
    for number, row in enumerate(rows):
        name = f"{card.name}_{number:05d}"
        items.append(_item(name, row))
        ratings += [Rating(name, quality.name, tuple(map(float, row.votes[quality.name])))
                    for quality in card.qualities if quality.name in row.votes]
    if not items:
        raise BadRecord(card.name, None, "", "the files of the source hold no rows of this dataset")
    return Dataset(card, tuple(items), tuple(ratings), "fetched")


def read_each(file: Path, records: Iterable[Any], read: Callable[[Any], Iterable[RatedRow]]) -> Iterator[RatedRow]:
    """Read each record with `read`; one of another shape is named by file and number."""
    for number, record in enumerate(records):
        try:
            yield from read(record)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            problem = f"is not in the form expected of this source ({type(error).__name__}: {error})"
            raise BadRecord(file.name, number, "", " ".join(problem.split())) from error


def alternating(texts: Iterable[str]) -> tuple[Utterance, ...]:
    """Name the speakers of unmarked turns, back from the response; empty turns are none."""
    return release.alternating([text.strip() for text in texts if text.strip()])


def find(path: Path, *patterns: str) -> Path:
    """The file itself, or the first in the folder that fits a pattern; the patterns go best first."""
    if path.is_file():
        return path
    for pattern in patterns:
        if files := walk(path, pattern):
            return files[0]
    raise BadRecord(path.name, None, "", f"the source holds no file {' or '.join(patterns)}")


def _item(name: str, row: RatedRow) -> Item:
    response = None if row.response is None else Utterance(SYSTEM, row.response.strip())
    context = tuple(Utterance(turn.speaker, turn.text.strip()) for turn in row.context)
    references = tuple(Reference(text.strip()) for text in row.references if text.strip())
    facts = tuple(text.strip() for text in row.facts if text.strip())
    return Item(name, tuple(turn for turn in context if turn.text), response, references, facts, row.system)
