"""Fetch public data: datasets, from the first source on their cards that works, and resources such as WordNet.

Downloads stay under HOME/downloads until they are converted, so that an interrupted run can resume. Datasets that
require registration must be imported instead.

The mirror is a Hugging Face dataset with the organisers' development sets except dstc6, made for DSTC11 Track 4. It was
first uploaded as an archive, later as a folder: the file in the folder is tried first, then the member of the archive,
without downloading the rest. Its record format was checked against scripts that read it, not against the data.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Source
from benchmarks.errors import BadArchive, BenchmarkError, FetchError, Offline, nearest, reason
from benchmarks.formats import official
from benchmarks.sources import recent, until_2021
from benchmarks.sources.rows import Rows, assemble, file_name
from benchmarks.storage import resources
from benchmarks.storage.archive import unpack
from benchmarks.storage.download import check_reachable, download
from benchmarks.storage.files import write_atomically

RESOURCES = {
    "wordnet": Source("https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip"),
    "conceptnet": Source("https://s3.amazonaws.com/conceptnet/downloads/2019/edges/conceptnet-assertions-5.7.0.csv.gz"),
}
LARGE = ("conceptnet",)  # resources fetched only by name, since they are large and rarely needed
IMPORT_HINT = "import a copy instead: `harness import FOLDER|ZIP`"
MIRROR = "https://huggingface.co/datasets/mario-rc/dstc11.t4"
MIRROR_COMMIT = "83460a4ac5567b780f5aa37980d9022eec4d4a1e"  # revision of the mirror that contains the archive
MAX_MIRROR_BYTES = 1 << 29  # maximum bytes of a file of the mirror, ten times the largest of the release
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2")
READERS: dict[str, Callable[[Path, DatasetCard], Rows]] = {reader.__name__: reader for reader in (
    recent.begin, recent.deco, recent.dialogue_eval, recent.dices, recent.gpt_abceval, recent.mrbench, recent.mtrag,
    until_2021.dstc6, until_2021.fed, until_2021.grade, until_2021.gupta, until_2021.humod, until_2021.see,
    until_2021.usr, until_2021.zhao)}
"""The function that reads each form of a source."""


def fetch(card: DatasetCard, home: Path) -> Dataset:
    if needs_registration(card):
        raise FetchError(f"{card.name} requires registration at {card.sources[0].url}; {IMPORT_HINT}")
    reasons: list[BenchmarkError] = []
    for source in (source for source in card.sources if not source.by_hand):
        try:
            return _fetch_from(source, card, home)
        except BenchmarkError as error:
            reasons.append(error)
    raise _fetch_error(card.name, reasons)


def fetch_resource(name: str, home: Path) -> Path:
    if name not in RESOURCES:
        raise FetchError(f"no resource {name!r}; {nearest(name, RESOURCES)}")
    url = RESOURCES[name].url
    try:
        with download_folder(home, name) as folder:
            file = download(url, folder / file_name(url))
            if name == resources.CONCEPTNET:
                if not resources.store_edges([file], home):
                    raise BadArchive(f"{url}: contains no edge between two English terms")
            else:
                resources.check_wordnet(file, url)
                write_atomically(resources.path(home, name), file.read_bytes())
    except Offline as error:
        raise _fetch_error(name, [error]) from error
    return resources.path(home, name)


def needs_registration(card: DatasetCard) -> bool:
    return all(source.by_hand for source in card.sources)


def _fetch_from(source: Source, card: DatasetCard, home: Path) -> Dataset:
    name = f"{card.name}-{source.form}"
    if source.form == "mirror":
        with download_folder(home, name) as folder:
            return official.parse(fetch_from_mirror(card.name, folder), card, "fetched")
    with downloaded(home, name, [source]) as folder:
        return convert(source.form, folder / file_name(source.url), card)


def convert(form: str, path: Path, card: DatasetCard) -> Dataset:
    """Convert the file or folder of a source.

    Items are numbered in upstream order, and texts are stripped, as in the organisers' files.
    """
    return assemble(card, READERS[form](path, card))


def fetch_from_mirror(name: str, folder: Path) -> Path:
    """Fetch the file of a dataset from the mirror, through the Hugging Face library and its cache."""
    from huggingface_hub import HfFileSystem, constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    repository, file = MIRROR.partition("/datasets/")[2], f"{name}/{name}_eval.json"
    offline = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else ""
    try:
        if not offline:
            check_reachable(constants.ENDPOINT)  # the library itself would retry for half a minute
    except Offline as error:
        offline = str(error)
    try:
        try:
            return Path(hf_hub_download(repository, f"DSTC_11_Track_4/metadata/dev/en/{file}", repo_type="dataset",
                                        local_files_only=bool(offline)))
        except EntryNotFoundError as error:
            if isinstance(error, LocalEntryNotFoundError):
                raise Offline(offline or f"{MIRROR} cannot be reached") from error
        with (HfFileSystem().open(f"datasets/{repository}@{MIRROR_COMMIT}/DSTC_11_Track_4.zip", "rb") as stream,
              zipfile.ZipFile(stream) as archive):
            members = [member for member in archive.infolist() if member.filename.endswith(f"/{file}")]
            if members and members[0].file_size <= MAX_MIRROR_BYTES:
                path = folder / f"{name}_eval.json"
                path.write_bytes(archive.read(members[0]))
                return path
    except BenchmarkError:
        raise
    except Exception as error:  # the errors of the library depend on its version and transport
        raise FetchError(f"{MIRROR}: {reason(error):.160}") from error
    raise FetchError(f"{MIRROR}: {name}_eval.json is missing from its archive, or too large")


@contextmanager
def downloaded(home: Path, name: str, sources: Iterable[Source]) -> Iterator[Path]:
    with download_folder(home, name) as folder:
        files = [download(source.url, folder / file_name(source.url), source.sha256) for source in sources]
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            for file in files:
                target = Path(temporary) / file.name
                if file.name.endswith(ARCHIVES):
                    unpack(file, target)
                else:
                    file.rename(target)
            yield Path(temporary)


@contextmanager
def download_folder(home: Path, name: str) -> Iterator[Path]:
    """Yield a download folder; remove it afterwards unless the download can be resumed."""
    folder = home / "downloads" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        raise FetchError(f"{error.filename or home}: {error.strerror or error}") from error
    finally:
        if not any(folder.glob(".*.part")):
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # missing, or used by another download
            folder.parent.rmdir()


def _fetch_error(name: str, reasons: list[BenchmarkError]) -> FetchError:
    joined_reasons = " | ".join(dict.fromkeys(map(str, reasons)))
    if all(isinstance(reason, Offline) for reason in reasons):
        return Offline(f"{name}: this machine is offline ({joined_reasons}); {IMPORT_HINT}")
    return FetchError(f"{name}: all sources failed ({joined_reasons}); {IMPORT_HINT}")
