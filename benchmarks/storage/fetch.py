"""Getting what is public from where it lies: datasets through their cards, and resources such as WordNet.

The sources of a card are tried in their order; the raw files of one are converted by the module of its family. What
was downloaded is kept under HOME/downloads until it is converted, so that a run that was cut goes on.
A dataset that only the organisers give away is not fetched but imported.
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchmarks.dataset import Dataset, DatasetCard, Source
from benchmarks.errors import BadArchive, BenchmarkError, FetchError, Offline, nearest
from benchmarks.sources.dstc11 import mirrored
from benchmarks.sources.rows import Converter
from benchmarks.storage import resources
from benchmarks.storage.archive import unpack
from benchmarks.storage.download import download

RESOURCES = {
    "wordnet": Source("https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip"),
    "conceptnet": Source("https://s3.amazonaws.com/conceptnet/downloads/2019/edges/conceptnet-assertions-5.7.0.csv.gz"),
}
"""What is fetched beside the datasets."""
LARGE = ("conceptnet",)
"""What is fetched by its name alone, since it is hundreds of megabytes that few need."""
HINT = "import a copy instead: `harness import FOLDER|ZIP`"
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2")


def fetch(card: DatasetCard, home: Path, *, progress: bool = True) -> Dataset:
    """Fetch a dataset from the first of its public sources that gives it."""
    if needs_registration(card):
        raise FetchError(f"{card.name} stands behind a registration at {card.sources[0].url}; {HINT}")
    reasons: list[BenchmarkError] = []
    for source in card.sources:
        if not source.by_hand:
            try:
                return _fetch(card, source, home, progress)
            except BenchmarkError as error:
                reasons.append(error)
    raise _gave_up(card.name, reasons)


def fetch_resource(name: str, home: Path, *, progress: bool = True) -> Path:
    """Fetch a resource into the home, after a look into it."""
    if name not in RESOURCES:
        raise FetchError(f"no resource {name!r}; {nearest(name, RESOURCES)}")
    source, target = RESOURCES[name], resources.path(home, name)
    try:
        with workplace(home, name) as folder:
            file = download(source.url, folder / file_name(source.url), source.sha256, progress)
            if name == resources.CONCEPTNET:
                if not resources.keep_edges([file], home):
                    raise BadArchive(f"{source.url}: holds no edge between two English terms")
                return target
            resources.check_wordnet(file, source.url)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
    except Offline as error:
        raise _gave_up(name, [error]) from error
    return target


def needs_registration(card: DatasetCard) -> bool:
    """Whether no source of the dataset is public."""
    return all(source.by_hand for source in card.sources)


def converter(form: str) -> Converter:
    """What reads the raw files of a source: the function `convert` of the module in benchmarks/sources of that name."""
    convert: Converter = importlib.import_module(f"benchmarks.sources.{form}").convert
    return convert


def _fetch(card: DatasetCard, source: Source, home: Path, progress: bool) -> Dataset:
    convert = converter(source.form)
    with workplace(home, f"{card.name}-{source.form}") as folder:
        if source.form == "dstc11":
            return convert(mirrored(card.name, folder), card)
        file = download(source.url, folder / file_name(source.url), source.sha256, progress)
        with unpacked([file], folder) as place:
            return convert(place / file.name, card)


@contextmanager
def unpacked(files: list[Path], folder: Path) -> Iterator[Path]:
    """A folder beside the downloads with these files, archives unpacked into folders of their names."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        for file in files:
            target = Path(temporary) / file.name
            if file.name.endswith(ARCHIVES):
                unpack(file, target)
            else:
                file.rename(target)
        yield Path(temporary)


@contextmanager
def workplace(home: Path, name: str) -> Iterator[Path]:
    """The folder of one download, which is gone afterwards unless it holds the start of a file."""
    folder = home / "downloads" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        raise FetchError(f"{error.filename or home}: {error.strerror or error}") from error
    finally:
        if not any(folder.glob(".*.part")):
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # it is not there, or holds another download
            folder.parent.rmdir()


def file_name(url: str) -> str:
    """Under which name the file of an address is kept."""
    name = Path(unquote(urlsplit(url).path)).name
    return name.lstrip(".") or "file"


def _gave_up(name: str, reasons: list[BenchmarkError]) -> FetchError:
    why = " | ".join(dict.fromkeys(map(str, reasons)))
    if all(isinstance(reason, Offline) for reason in reasons):
        return Offline(f"{name}: this machine is offline ({why}); {HINT}")
    return FetchError(f"{name}: no source gave it ({why}); {HINT}")
