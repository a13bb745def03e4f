"""The files of corpora: one JSON object a line, plain or gzipped, every line looked at."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.errors import BadRecord, BenchmarkError

SUFFIXES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """The rows of a file, and the sha256 of the file as it lies there."""

    rows: tuple[dict[str, Any], ...]
    digest: str


def read(path: Path) -> CorpusFile:
    """Read every dialogue of a file; the first bad line is named."""
    content = _content(path)
    rows = tuple(_dialogue(place, row) for place, row in _objects(path, content))
    if not rows:
        raise BenchmarkError(f"{path}: holds no dialogue")
    return CorpusFile(rows, hashlib.sha256(content).hexdigest())


def objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, each with its file and line for whoever complains about it."""
    return _objects(path, _content(path))


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
    except (ValueError, RecursionError) as error:
        raise BadRecord(place, None, "", f"is not JSON ({getattr(error, 'msg', error)})") from error
    if not isinstance(row, dict):
        raise BadRecord(place, None, "", "should be an object")
    if ("\\ud" in line or "\\uD" in line) and not _is_text(row):
        raise BadRecord(place, None, "", "holds half of a surrogate pair, which is no text")
    return row


def _dialogue(place: str, row: dict[str, Any]) -> dict[str, Any]:
    """Check one dialogue; a pair of query and reply, or of two sentences, is a dialogue of two utterances."""
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


def _is_text(row: dict[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _paired(row: Mapping[str, Any], name: str, first: str, second: str) -> dict[str, Any]:
    rest = {key: value for key, value in row.items() if key not in {name, first, second}}
    turns = [{"speaker": "A", "text": row[first]}, {"speaker": "B", "text": row[second]}]
    return {"dialogue_id": row[name], **rest, "utterances": turns}


def _problem(turns: object) -> str:
    """What is wrong with the utterances of a row, if anything."""
    if not isinstance(turns, list) or not turns:
        return "should be a list of utterances, and not empty"
    for turn in turns:
        if not isinstance(turn, dict):
            return "should hold objects with speaker and text"
        text, speaker = turn.get("text"), turn.get("speaker")
        if not isinstance(text, str) or not isinstance(speaker, str):
            return "each should have the texts speaker and text"
    return "" if any(turn["text"].strip() for turn in turns) else "holds no utterance with text"


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as a gzipped file that is the same for the same rows; the number of rows."""
    from benchmarks.storage.files import write_atomically

    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, gzip.compress("".join(lines).encode(), mtime=0))
    return len(lines)
