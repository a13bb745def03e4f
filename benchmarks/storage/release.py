"""A copy of the organisers' `human_evaluation_data`: a folder, a zip, or one file of it.

Every file is parsed before the first is kept, so that a bad one leaves the home as it was.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.errors import BenchmarkError
from benchmarks.formats import official
from benchmarks.storage.archive import unpack
from benchmarks.storage.resources import check_wordnet


@dataclass(frozen=True, slots=True)
class Found:
    """One dataset of a release: what it holds, and what is worth saying about it."""

    file: str
    dataset: Dataset
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """What a folder holds: the datasets, copies of WordNet, and JSON files that are neither."""

    found: tuple[Found, ...]
    wordnet: bytes | None
    ignored: tuple[str, ...]


def read(path: Path, required: bool = True) -> Release:
    """Read every dataset of a folder, a zip or a single file; where none is `required`, there may be none."""
    if not path.exists():
        raise BenchmarkError(f"{path}: no such file or folder")
    with _opened(path) as (folder, files):
        datasets = {card.name: file for card in registry.cards().values() if (file := _file(card, files))}
        wordnet = next((file for file in files if file.name == "wordnet.zip"), None)
        if required and not datasets and not wordnet:
            expected = ", ".join(f"{name}_eval.json" for name in registry.names()[:3])
            raise BenchmarkError(f"{path}: holds no file of the organisers' release ({expected}, ...), and no corpus")
        taken = {*datasets.values(), wordnet}
        ignored = tuple(str(file.relative_to(folder)) for file in files if file not in taken and file.suffix == ".json")
        if wordnet:
            check_wordnet(wordnet, str(wordnet))
        return Release(
            tuple(_found(registry.card(name), file) for name, file in datasets.items()),
            wordnet.read_bytes() if wordnet else None,
            ignored,
        )


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Path, list[Path]]]:
    """The folder to look in and its files, best first: shallow before deep, then by name."""
    if path.is_dir():
        yield path, _files(path)
    elif path.name != "wordnet.zip" and zipfile.is_zipfile(path):
        with tempfile.TemporaryDirectory(prefix="harness-import-") as temporary:
            folder = Path(temporary) / "unpacked"
            unpack(path, folder)
            yield folder, _files(folder)
    elif path.suffix == ".zip" and path.name != "wordnet.zip":
        raise BenchmarkError(f"{path}: is not a readable zip archive")
    else:
        yield path.parent, [path]


def _files(folder: Path) -> list[Path]:
    files = [file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("._")]
    return sorted(files, key=lambda file: (len(file.parts), str(file)))


def _file(card: DatasetCard, files: list[Path]) -> Path | None:
    for stem in registry.stems(card.name):
        for file in files:
            if file.name == f"{stem}.json":
                return file
    return None


def _found(card: DatasetCard, file: Path) -> Found:
    dataset = official.parse(file, card)
    return Found(file.name, dataset, tuple(_remarks(dataset, file)))


def _remarks(dataset: Dataset, file: Path) -> Iterator[str]:
    card = dataset.card
    if len(dataset.items) != card.size:
        yield f"{len(dataset.items)} rows, the card expects {card.size}"
    digests = {source.sha256 for source in card.sources if source.form == "official" and source.sha256}
    if digests and hashlib.sha256(file.read_bytes()).hexdigest() not in digests:
        yield "not byte for byte the released file"
    unrated = len(dataset.items) - len({rating.item for rating in dataset.ratings if rating.votes})
    if unrated:
        yield f"{unrated} rows without votes"
    outside = sum(_outside(card, rating.quality, rating.votes) for rating in dataset.ratings)
    if outside:
        yield f"{outside} votes outside the scale of the card"


def _outside(card: DatasetCard, name: str, votes: tuple[float, ...]) -> int:
    quality = card.quality(name)
    return sum(not quality.takes(vote) for vote in votes) if quality else 0
