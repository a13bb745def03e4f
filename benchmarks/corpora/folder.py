"""Corpora in a folder, checked line by line before they are kept in the home."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpora import files, overlap
from benchmarks.corpora.cards import CARDS
from benchmarks.errors import BenchmarkError
from benchmarks.storage.files import write_atomically

LIST = overlap.LIST.removesuffix(".jsonl.gz")


@dataclass(frozen=True, slots=True)
class FoundCorpus:
    """A file that is a corpus, or the list of dialogues that are in evaluation sets."""

    name: str
    file: Path
    rows: int


@dataclass(frozen=True, slots=True)
class CorpusFolder:
    """What a folder holds: corpora, and files of lines that are none, with the reason."""

    found: tuple[FoundCorpus, ...]
    ignored: tuple[str, ...]


def look(path: Path) -> CorpusFolder:
    """Read every corpus of a folder, or a single file; a bad one is an error if its name is known or it is alone."""
    if path.is_file():
        return CorpusFolder((_found(path),) if path.name.endswith(files.SUFFIXES) else (), ())
    found: dict[str, FoundCorpus] = {}
    ignored = []
    for file in sorted(path.rglob("*.jsonl*"), key=lambda file: (len(file.parts), str(file))):
        if file.name.endswith(files.SUFFIXES) and not file.name.startswith(".") and _name(file) not in found:
            try:
                found[_name(file)] = _found(file)
            except BenchmarkError as error:
                if _name(file) in CARDS or _name(file) == LIST:
                    raise
                ignored.append(str(error))
    return CorpusFolder(tuple(found.values()), tuple(ignored))


def keep(found: FoundCorpus, home: Path) -> None:
    """Copy a corpus into the home."""
    content = found.file.read_bytes()
    target = home / "corpora" / f"{found.name}.jsonl.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content if found.file.suffix == ".gz" else gzip.compress(content, mtime=0))


def _found(file: Path) -> FoundCorpus:
    name = _name(file)
    rows = sum(1 for _ in overlap.ids(file)) if name == LIST else len(files.read(file).rows)
    return FoundCorpus(name, file, rows)


def _name(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(".jsonl")
