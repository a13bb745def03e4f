"""Cards of the corpora, and their file format: a JSON object per line, gzipped in HOME/corpora/NAME.jsonl.gz.

An object has `dialogue_id`, `split`, `utterances` (a list of objects with `speaker` and `text`) and any labels. A pair
of query and reply, or of two sentences, is a dialogue of two utterances.
"""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from benchmarks.dataset import Source
from benchmarks.errors import BadRecord, BenchmarkError
from benchmarks.formats.records import Refused, Rule, value_of
from benchmarks.formats.rows import decoded, json_lines, located
from benchmarks.storage.archive import decompressed
from benchmarks.storage.files import walk, write_atomically

SUFFIXES = (".jsonl", ".jsonl.gz")


def _scale(lowest: int, highest: int) -> Any:
    return Annotated[float, Rule(f"{lowest} to {highest}", lambda rating: lowest <= rating <= highest)]


LABELS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("positive_responses", "adversarial_negative_responses"), (tuple[str, ...], "a list of texts")),
    "rated_responses": (tuple[tuple[str, _scale(1, 5)], ...], "a list of pairs [text, 1 to 5]"),  # type: ignore[misc]
    "persona": (Mapping[str, tuple[str, ...]] | None, "an object with a list of texts for each speaker"),
    "eval_score": (_scale(1, 5) | None, "1 to 5"), "engagement": (_scale(0, 5) | None, "0 to 5"),
    "engaging": (_scale(0, 1) | None, "0 to 1"),
}
"""Types of the labels that metrics learn from, with descriptions."""
EVALUATION_IDS = "evaluation_overlap"  # a list of ids of evaluation dialogues, in some collections of corpora


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """Description of a corpus; `training` are the splits to train on, `sources` its files."""

    name: str
    title: str
    training: tuple[str, ...]
    licence: str
    citation: str
    notes: str = ""
    sources: tuple[Source, ...] = ()


CARDS: dict[str, CorpusCard] = {
    name: value_of(CorpusCard, {"name": name, **table}, name) for name, table in
    tomllib.loads((files(__package__) / "cards.toml").read_text(encoding="utf-8")).items()}


@dataclass(frozen=True, slots=True)
class ImportedCorpus:
    """A corpus file or the list of evaluation dialogues, and its number of rows."""

    name: str
    file: Path
    rows: int


def read(path: Path) -> tuple[dict[str, Any], ...]:
    """Return every dialogue of a file; the error names the first bad line."""
    rows = tuple(_dialogue(where, row) for where, row in objects(path))
    if not rows:
        raise BenchmarkError(f"{path}: contains no dialogues")
    return rows


def objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        content = decompressed(path)
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read: {error.strerror}") from error
    with located(str(path)):
        for line, row in json_lines(decoded(content)):
            yield f"{path}, line {line}", row


def read_ids(path: Path) -> Iterator[str]:
    for where, row in objects(path):
        if not isinstance(row.get("dialogue_id"), str):
            raise BadRecord(where, None, "dialogue_id", "should be text")
        yield row["dialogue_id"]


def find_corpora(path: Path) -> tuple[list[ImportedCorpus], list[str]]:
    """Return the corpora in a folder or file, and why other files were ignored.

    A bad file raises BenchmarkError if it has a known name or is `path` itself.
    """
    corpora: dict[str, ImportedCorpus] = {}
    ignored = []
    for file in [path] if path.is_file() else walk(path, "*.jsonl*"):
        name = plain_name(file)
        if file.name.endswith(SUFFIXES) and not file.name.startswith(".") and name not in corpora:
            try:
                rows = sum(1 for _ in read_ids(file)) if name == EVALUATION_IDS else len(read(file))
                corpora[name] = ImportedCorpus(name, file, rows)
            except BenchmarkError as error:
                if name in CARDS or name == EVALUATION_IDS or file == path:
                    raise
                ignored.append(str(error))
    return list(corpora.values()), ignored


def plain_name(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(".jsonl")


def corpus_path(name: str, home: Path) -> Path:
    return home / "corpora" / f"{name}.jsonl.gz"


def store_corpus(corpus: ImportedCorpus, home: Path) -> None:
    content = corpus.file.read_bytes()
    write_atomically(corpus_path(corpus.name, home),
                     content if corpus.file.suffix == ".gz" else gzip.compress(content, mtime=0))


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows to a gzipped file, reproducibly; return their number."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_atomically(path, gzip.compress("".join(lines).encode(), mtime=0))
    return len(lines)


def _dialogue(where: str, row: dict[str, Any]) -> dict[str, Any]:
    for first_field, second_field in (("query", "reply"), ("sentence1", "sentence2")):
        if "utterances" not in row and {first_field, second_field} <= row.keys():
            pair = [{"speaker": "A", "text": row.pop(first_field)}, {"speaker": "B", "text": row.pop(second_field)}]
            row = {"dialogue_id": row.pop("id", where.rpartition(", ")[2]), **row, "utterances": pair}
    row.setdefault("split", "train")
    for field in ("dialogue_id", "split"):
        if not isinstance(row.get(field), str) or not row[field]:
            raise BadRecord(where, None, field, "should be text, and not empty")
    turns = row.get("utterances")
    if not isinstance(turns, list) or not turns:
        raise BadRecord(where, None, "utterances", "should be a non-empty list of utterances")
    if not all(isinstance(turn, dict) and isinstance(turn.get("text"), str) and isinstance(turn.get("speaker"), str)
               for turn in turns):
        raise BadRecord(where, None, "utterances", "should contain objects with the string fields speaker and text")
    if not any(turn["text"].strip() for turn in turns):
        raise BadRecord(where, None, "utterances", "has no utterance with text")
    _check_labels(where, row)
    return row


def _check_labels(where: str, row: Mapping[str, Any]) -> None:
    for field, (hint, description) in LABELS.items():
        try:
            if field in row:
                value_of(hint, row[field], field)
        except Refused as error:
            raise BadRecord(where, None, field, f"should be {description}") from error
