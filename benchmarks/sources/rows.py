"""Rated rows of upstream files, and their assembly into a dataset."""

from __future__ import annotations

import contextlib
import csv
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Rating, Reference, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official
from benchmarks.formats.rows import is_encodable
from benchmarks.storage.files import walk


@dataclass(frozen=True, slots=True)
class RatedRow:
    """A rated row of an upstream file.

    `votes` maps a quality of the card to its votes, or to votes by rater if the source identifies the raters. `scores`
    maps the name of another metric or judge to its score, or to its scores by quality.
    """

    context: Sequence[Utterance]
    response: str | None
    votes: Mapping[str, Sequence[float] | Mapping[Hashable, float]]
    references: Sequence[str] = ()
    facts: Sequence[str] = ()
    system: str | None = None
    scores: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)


Rows: TypeAlias = Iterator[RatedRow]
RecordReader: TypeAlias = Callable[[Any], Rows]  # converts one record of an upstream file to rows


def find(path: Path, *patterns: str) -> Path:
    """Return `path` if it is a file, else its first file that matches a pattern, trying the patterns in order."""
    if path.is_file():
        return path
    for pattern in patterns:
        if files := walk(path, pattern):
            return files[0]
    raise BadRecord(path.name, None, "", f"the source has no file {' or '.join(patterns)}")


def published_file(path: Path, card: DatasetCard) -> Path:
    return find(path, file_name(card.sources[-1].url))


def file_name(url: str) -> str:
    return Path(unquote(urlsplit(url).path)).name.lstrip(".") or "file"


def read_json(path: Path, read: RecordReader, *patterns: str) -> Rows:
    """Read a JSON file that matches a pattern: a list of records, or an object that maps ids to records."""
    file = find(path, *patterns)
    records = official.load_json(file)
    return read_each(file, records.values() if isinstance(records, dict) else records, read)


def read_table(file: Path, read: RecordReader, **dialect: Any) -> Rows:
    with file.open(encoding="utf-8", newline="") as stream:
        yield from read_each(file, csv.DictReader(stream, **dialect), read)


def read_each(file: Path, records: Iterable[Any], read: RecordReader) -> Rows:
    """Read each record with `read`; the error for an unexpected format names file and record number."""
    for number, record in enumerate(records):
        with expected_format(file.name, number):
            yield from map(_checked, read(record))


def _checked(row: RatedRow) -> RatedRow:
    votes: Any
    for votes in row.votes.values():
        if isinstance(votes, str):
            raise TypeError(f"should be a list of votes, not {votes!r:.60}")
        for vote in votes.values() if isinstance(votes, Mapping) else votes:
            official.vote(vote)  # raises ValueError if it is not a plausible number
    if not is_encodable(asdict(row)):
        raise ValueError("contains a lone surrogate, which is not valid text")
    return row


@contextlib.contextmanager
def expected_format(file: str, record: int | None = None) -> Iterator[None]:
    """Convert the errors that unexpected input causes in a converter to BadRecord."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, csv.Error) as error:
        problem = f"is not in the format expected of this source ({type(error).__name__}: {error})"
        raise BadRecord(file, record, "", " ".join(problem.split())) from error


def assemble(card: DatasetCard, rows: Iterable[RatedRow]) -> Dataset:
    """Number the rows and return them as a fetched dataset."""
    items: list[Item] = []
    ratings: list[Rating] = []
    raters: dict[Hashable, str] = {}
    scores: defaultdict[str, dict[str, float]] = defaultdict(dict)
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
        for quality in card.qualities:
            if (votes := row.votes.get(quality.name)) is not None:
                values, rater_ids = (votes.values(), votes) if isinstance(votes, Mapping) else (votes, ())
                pseudonyms = tuple(raters.setdefault(rater, f"r{len(raters) + 1}") for rater in rater_ids)
                ratings.append(Rating(name, quality.name, tuple(map(float, values)), pseudonyms))
        for metric, score in row.scores.items():
            if not re.fullmatch(r"[\w.-]+", metric):  # it becomes part of a file name
                raise BadRecord(card.name, None, "", f"{metric!r:.40} cannot be the name of a metric")
            by_quality = score if isinstance(score, Mapping) else {"": score}
            scores[metric] |= {f"{name}|{quality}" if quality else name: value for quality, value in by_quality.items()}
    if not items:
        raise BadRecord(card.name, None, "", "the files of the source contain no rows of this dataset")
    return Dataset(card, tuple(items), tuple(ratings), "fetched", scores=dict(scores))
