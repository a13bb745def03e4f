"""Files to import: the organisers' `human_evaluation_data`, or other sources' published files, in a folder or zip.

All files are parsed before any is stored, so that an invalid file leaves the home unchanged.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError, plural
from benchmarks.formats import official
from benchmarks.sources import xdial
from benchmarks.sources.fetch import ARCHIVES, convert
from benchmarks.sources.rows import file_name
from benchmarks.storage.archive import unpack
from benchmarks.storage.files import walk
from benchmarks.storage.resources import check_wordnet

WORDNET = "wordnet.zip"


@dataclass(frozen=True, slots=True)
class ImportedDataset:
    """A dataset of a release, the name of its file, and remarks."""

    file: str
    dataset: Dataset
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Contents of a release: datasets, translations, a copy of WordNet, and other JSON files."""

    datasets: tuple[ImportedDataset, ...]
    translations: tuple[ImportedDataset, ...]
    wordnet: bytes | None
    ignored: tuple[str, ...]


def read(path: Path, required: bool = True) -> Release:
    """Read all datasets in a folder, zip or file; raise BenchmarkError if import is `required` and nothing is found."""
    if not path.exists():
        raise BenchmarkError(f"{path}: no such file or folder")
    with _opened(path) as (folder, files):
        by_name = {file.name: file for file in reversed(files)}
        parsed = {name: (file, official.parse(file, registry.card(name))) for name in registry.names()
                  if (file := next(filter(None, map(by_name.get, registry.file_names(name))), None))}
        parsed |= _published(by_name, parsed)
        wordnet = by_name.get(WORDNET)
        used_files = {file for file, _ in parsed.values()}
        translations = tuple(xdial.translations(by_name, registry.built_in()))
        if required and not (parsed or wordnet or translations):
            expected = ", ".join(f"{name}_eval.json" for name in registry.names()[:3])
            raise BenchmarkError(f"{path}: contains neither a file of the organisers' release ({expected}, ...) nor a "
                                 "corpus")
        if wordnet:
            check_wordnet(wordnet, str(wordnet))
        return Release(
            tuple(_imported(file, dataset) for file, dataset in parsed.values()),
            tuple(_imported(file, dataset) for file, dataset in translations),
            wordnet.read_bytes() if wordnet else None,
            tuple(str(file.relative_to(folder)) for file in files if file.suffix == ".json" and file not in used_files),
        )


def _published(files: Mapping[str, Path], imported: Collection[str]) -> dict[str, tuple[Path, Dataset]]:
    """Read the files named like a source on a card, for datasets that are not in `imported`."""
    return {card.name: (files[name], convert(source.form, files[name], card))
            for card in registry.built_in().values() if card.name not in imported for source in card.sources
            if (name := file_name(source.url)) in files and not (
                source.by_hand or source.form == "mirror" or name.endswith(ARCHIVES))}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Path, Sequence[Path]]]:
    if path.is_dir():
        yield path, walk(path)
    elif path.name == WORDNET or (path.suffix != ".zip" and not zipfile.is_zipfile(path)):
        yield path.parent, [path]
    else:
        with tempfile.TemporaryDirectory(prefix="harness-import-") as temporary:
            folder = Path(temporary) / "unpacked"
            unpack(path, folder)
            yield folder, walk(folder)


def _imported(file: Path, dataset: Dataset) -> ImportedDataset:
    return ImportedDataset(file.name, dataset, tuple(_remarks(dataset, file)))


def _remarks(dataset: Dataset, file: Path) -> Iterator[str]:
    card = dataset.card
    if len(dataset.items) != card.size:
        yield f"{len(dataset.items)} rows, but the card expects {card.size}"
    digests = {source.sha256 for source in card.sources if source.sha256}
    if digests and hashlib.sha256(file.read_bytes()).hexdigest() not in digests:
        yield "differs from the released file"
    if dataset.scores:
        yield f"published scores: {', '.join(f'scores:{card.name}.{name}' for name in dataset.scores)}"
    if unrated := len(dataset.items) - len({rating.item for rating in dataset.ratings if rating.votes}):
        yield f"{plural(unrated, 'row')} without votes"
    scales = {quality.name: quality for quality in card.qualities}
    if invalid := sum(not scales[rating.quality].accepts(vote) for rating in dataset.ratings for vote in rating.votes):
        yield f"{plural(invalid, 'vote')} outside the scale of the card"
