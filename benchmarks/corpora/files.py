"""The corpora: their cards, and their files, one JSON object a line, plain or gzipped, every line checked.

    HOME/corpora/NAME.jsonl.gz

An object has `dialogue_id`, `split`, `utterances` (a list of objects with `speaker` and `text`), and whatever else the
corpus says. A pair of query and reply, or of two sentences, is a dialogue of two utterances.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.errors import BadRecord, BenchmarkError
from benchmarks.storage.files import walk, write_atomically

SUFFIXES = (".jsonl", ".jsonl.gz")
LIST = "evaluation_overlap"
"""A list of dialogues, by id, that stand in evaluation sets; some collections of corpora come with it."""


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """Description of a corpus; `training` are the splits that may be trained on."""

    name: str
    title: str
    training: tuple[str, ...]
    licence: str
    citation: str
    notes: str = ""


CARDS = {name: CorpusCard(**{**table, "name": name, "training": tuple(table["training"])}) for name, table in
         tomllib.loads((files(__package__) / "cards.toml").read_text(encoding="utf-8")).items()}
"""The card of each corpus, from cards.toml."""


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
    """Return the ids in a list of dialogues."""
    for place, row in objects(path):
        if not isinstance(row.get("dialogue_id"), str):
            raise BadRecord(place, None, "dialogue_id", "should be text")
        yield row["dialogue_id"]


def look(path: Path) -> tuple[list[ImportedCorpus], list[str]]:
    """Every corpus of a folder, or a single file, and why other files of lines are none.

    A bad file is an error if its name is known or it is alone.
    """
    corpora: dict[str, ImportedCorpus] = {}
    ignored = []
    for file in [path] if path.is_file() else walk(path, "*.jsonl*"):
        name = plain_name(file)
        if file.name.endswith(SUFFIXES) and not file.name.startswith(".") and name not in corpora:
            try:
                rows = sum(1 for _ in ids(file)) if name == LIST else len(read(file).rows)
                corpora[name] = ImportedCorpus(name, file, rows)
            except BenchmarkError as error:
                if name in CARDS or name == LIST or file == path:
                    raise
                ignored.append(str(error))
    return list(corpora.values()), ignored


def plain_name(file: Path) -> str:
    """The name of a corpus by that of its file."""
    return file.name.removesuffix(".gz").removesuffix(".jsonl")


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
            yield place, row


def _dialogue(place: str, row: dict[str, Any]) -> dict[str, Any]:
    """Check one dialogue; a pair becomes a dialogue."""
    if "utterances" not in row:
        for first, second in (("query", "reply"), ("sentence1", "sentence2")):
            if {first, second} <= row.keys():
                two = [{"speaker": "A", "text": row.pop(first)}, {"speaker": "B", "text": row.pop(second)}]
                row = {"dialogue_id": row.pop("id", place.rpartition(", ")[2]), **row, "utterances": two}
                break
    row.setdefault("split", "train")
    for field in ("dialogue_id", "split"):
        if not isinstance(row.get(field), str) or not row[field]:
            raise BadRecord(place, None, field, "should be text, and not empty")
    turns = row.get("utterances")
    problem = ""
    if not isinstance(turns, list) or not turns:
        problem = "should be a list of utterances, and not empty"
    elif not all(isinstance(turn, dict) and isinstance(turn.get("text"), str) and isinstance(turn.get("speaker"), str)
                 for turn in turns):
        problem = "should hold objects with the texts speaker and text"
    elif not any(turn["text"].strip() for turn in turns):
        problem = "holds no utterance with text"
    if problem:
        raise BadRecord(place, None, "utterances", problem)
    return row
