"""The files of corpora: one JSON object a line, plain or gzipped, every line checked; how they get into the home.

    HOME/corpora/NAME.jsonl.gz

An object has `dialogue_id`, `split`, `utterances` (a list of objects with `speaker` and `text`), and whatever else the
corpus says. A pair of query and reply, or of two sentences, is a dialogue of two utterances.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpora.cards import CARDS
from benchmarks.errors import BadRecord, BenchmarkError
from benchmarks.storage.files import walk, write_atomically

SUFFIXES = (".jsonl", ".jsonl.gz")
LIST = "evaluation_overlap"
"""A list of dialogues, by id, that stand in evaluation sets; some collections of corpora come with it."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """The rows of a file, and the sha256 of the file as it lies on disk."""

    rows: tuple[dict[str, Any], ...]
    digest: str


@dataclass(frozen=True, slots=True)
class ImportedCorpus:
    """A file that is a corpus, or the list of dialogues in evaluation sets, and how many rows it has."""

    name: str
    file: Path
    rows: int


@dataclass(frozen=True, slots=True)
class CorpusFolder:
    """What a folder holds: corpora, and files of lines that are none, with the reason."""

    corpora: tuple[ImportedCorpus, ...]
    ignored: tuple[str, ...]


def read(path: Path) -> CorpusFile:
    """Read every dialogue of a file; the first bad line is named."""
    content = _content(path)
    rows = tuple(_dialogue(place, row) for place, row in _objects(path, content))
    if not rows:
        raise BenchmarkError(f"{path}: holds no dialogue")
    return CorpusFile(rows, hashlib.sha256(content).hexdigest())


def objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, each with its file and line for error messages."""
    return _objects(path, _content(path))


def ids(path: Path) -> Iterator[str]:
    """The ids in a list of dialogues."""
    for place, row in objects(path):
        if not isinstance(row.get("dialogue_id"), str):
            raise BadRecord(place, None, "dialogue_id", "should be text")
        yield row["dialogue_id"]


def look(path: Path) -> CorpusFolder:
    """Read every corpus of a folder, or a single file; a bad one is an error if its name is known or it is alone."""
    if path.is_file():
        return CorpusFolder((_imported(path),) if path.name.endswith(SUFFIXES) else (), ())
    corpora: dict[str, ImportedCorpus] = {}
    ignored = []
    for file in walk(path, "*.jsonl*"):
        if file.name.endswith(SUFFIXES) and not file.name.startswith(".") and _name(file) not in corpora:
            try:
                corpora[_name(file)] = _imported(file)
            except BenchmarkError as error:
                if _name(file) in CARDS or _name(file) == LIST:
                    raise
                ignored.append(str(error))
    return CorpusFolder(tuple(corpora.values()), tuple(ignored))


def keep(corpus: ImportedCorpus, home: Path) -> None:
    """Copy a corpus into the home."""
    content = corpus.file.read_bytes()
    _write(stored(corpus.name, home), content if corpus.file.suffix == ".gz" else gzip.compress(content, mtime=0))


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as a gzipped file that is the same for the same rows; the number of rows."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    _write(path, gzip.compress("".join(lines).encode(), mtime=0))
    return len(lines)


def stored(name: str, home: Path) -> Path:
    """Where a corpus, or the list, lies in the home."""
    return home / "corpora" / f"{name}.jsonl.gz"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def _imported(file: Path) -> ImportedCorpus:
    name = _name(file)
    return ImportedCorpus(name, file, sum(1 for _ in ids(file)) if name == LIST else len(read(file).rows))


def _name(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(".jsonl")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read: {error.strerror}") from error


def _objects(path: Path, content: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode("utf-8-sig")
    except (EOFError, zlib.error, OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"{path}: is not text, or damaged ({error!s:.100})") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{path}, line {number}"
            yield place, _object(place, line)


def _object(place: str, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if "\\ud" in line or "\\uD" in line:
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadRecord(place, None, "", "holds half of a surrogate pair, which is no text") from error
    except (ValueError, RecursionError) as error:
        raise BadRecord(place, None, "", f"is not JSON ({getattr(error, 'msg', error)})") from error
    if not isinstance(row, dict):
        raise BadRecord(place, None, "", "should be an object")
    return row


def _dialogue(place: str, row: dict[str, Any]) -> dict[str, Any]:
    """Check one dialogue; a pair becomes a dialogue."""
    if "utterances" not in row and {"id", "query", "reply"} <= row.keys():
        row = _paired(row, "id", "query", "reply")
    elif "utterances" not in row and {"sentence1", "sentence2"} <= row.keys():
        row = _paired({"id": place.rpartition(", ")[2], **row}, "id", "sentence1", "sentence2")
    row.setdefault("split", "train")
    for field in ("dialogue_id", "split"):
        if not isinstance(row.get(field), str) or not row[field]:
            raise BadRecord(place, None, field, "should be text, and not empty")
    if problem := _problem(row.get("utterances")):
        raise BadRecord(place, None, "utterances", problem)
    return row


def _paired(row: Mapping[str, Any], name: str, first: str, second: str) -> dict[str, Any]:
    rest = {key: value for key, value in row.items() if key not in {name, first, second}}
    turns = [{"speaker": "A", "text": row[first]}, {"speaker": "B", "text": row[second]}]
    return {"dialogue_id": row[name], **rest, "utterances": turns}


def _problem(turns: object) -> str:
    """What is wrong with the utterances of a row, if anything."""
    if not isinstance(turns, list) or not turns:
        return "should be a list of utterances, and not empty"
    if not all(isinstance(turn, dict) and isinstance(turn.get("text"), str) and isinstance(turn.get("speaker"), str)
               for turn in turns):
        return "should hold objects with the texts speaker and text"
    return "" if any(turn["text"].strip() for turn in turns) else "holds no utterance with text"
