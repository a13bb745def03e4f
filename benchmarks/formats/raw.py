"""Raw files of an upstream: how the converter of a family finds them, and how its rows become a dataset.

A converter gives one row for each thing that people judged, in the order of its upstream. Ids are NAME_00000 and on,
as in the organisers' files. Texts are stripped, as `benchmarks.formats.official` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Rating, Reference, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official


@dataclass(frozen=True, slots=True)
class RatedRow:
    """A rated row of an upstream file; `votes` maps a quality of the card to its votes."""

    context: Sequence[Utterance]
    response: str | None
    votes: Mapping[str, Sequence[float]]
    references: Sequence[str] = ()
    facts: Sequence[str] = ()
    system: str | None = None


Read = Callable[[Any], Iterable[RatedRow]]
"""The rows of one record of an upstream's file."""


def walk(folder: Path, pattern: str = "*") -> Sequence[Path]:
    """List the files below a folder, shallow before deep, then by name; without macOS metadata."""
    files = (file for file in folder.rglob(pattern) if file.is_file() and not file.name.startswith("._"))
    return sorted(files, key=lambda file: (len(file.parts), str(file)))


def find(path: Path, *patterns: str) -> Path:
    """Return the file itself, or the first in the folder that matches a pattern; best pattern first."""
    if path.is_file():
        return path
    for pattern in patterns:
        if files := walk(path, pattern):
            return files[0]
    raise BadRecord(path.name, None, "", f"the source holds no file {' or '.join(patterns)}")


def read_each(file: Path, records: Iterable[Any], read: Read) -> Iterator[RatedRow]:
    """Read each record with `read`; one of another shape is named by file and number."""
    for number, record in enumerate(records):
        try:
            yield from read(record)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            problem = f"is not in the form expected of this source ({type(error).__name__}: {error})"
            raise BadRecord(file.name, number, "", " ".join(problem.split())) from error


def assemble(card: DatasetCard, rows: Iterable[RatedRow]) -> Dataset:
    """Number the rows in their order, and make them a fetched dataset."""
    items: list[Item] = []
    ratings: list[Rating] = []
    for number, row in enumerate(rows):
        name = f"{card.name}_{number:05d}"
        items.append(Item(
            name,
            tuple(Utterance(turn.speaker, text) for turn in row.context if (text := turn.text.strip())),
            None if row.response is None else Utterance(SYSTEM, row.response.strip()),
            tuple(Reference(text.strip()) for text in row.references if text.strip()),
            tuple(text.strip() for text in row.facts if text.strip()),
            row.system,
        ))
        ratings += [Rating(name, quality.name, tuple(map(float, row.votes[quality.name])))
                    for quality in card.qualities if quality.name in row.votes]
    if not items:
        raise BadRecord(card.name, None, "", "the files of the source hold no rows of this dataset")
    return Dataset(card, tuple(items), tuple(ratings), "fetched")


def read_json(path: Path, card: DatasetCard, read: Read, *patterns: str) -> Dataset:
    """The dataset from a JSON file that fits a pattern: a list of records, or an object of them by id."""
    file = find(path, *patterns)
    records = official.load_json(file)
    return assemble(card, read_each(file, records.values() if isinstance(records, dict) else records, read))
