"""The mirror made for DSTC11 Track 4, which holds the organisers' own files of the development sets but dstc6.

It is a Hugging Face dataset. Scripts written for it read DSTC_11_Track_4/metadata/dev/en/NAME/NAME_eval.json. It was
first uploaded as one archive, later as a folder: the file in the folder is tried, then the member of the archive, of
which only that part is downloaded. That its records are those of the organisers is verified against scripts that read
them, not against a stored copy.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from benchmarks.errors import BenchmarkError, FetchError, Offline
from benchmarks.sources import MIRROR
from benchmarks.storage.download import reach

REPOSITORY = MIRROR.url.partition("/datasets/")[2]
ARCHIVE = "DSTC_11_Track_4.zip"
COMMIT = "83460a4ac5567b780f5aa37980d9022eec4d4a1e"
"""The revision of the mirror that certainly has the archive."""
LARGEST = 1 << 29
"""Bytes; the largest file of the release is a tenth of it."""


def mirrored(name: str, folder: Path) -> Path:
    """Fetch the file of one dataset from the mirror, through the Hugging Face library and its cache."""
    try:
        return _from_folder(name) or _from_archive(name, folder)
    except BenchmarkError:
        raise
    except Exception as error:  # what the library raises depends on its version and on its transport
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FetchError(f"{MIRROR.url}: {reason:.160}") from error


def _from_folder(name: str) -> Path | None:
    """The file from the folder of the mirror, or from the cache; None where the mirror has no such folder."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    offline = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else ""
    if not offline:
        try:  # the library itself would try again for half a minute
            reach(constants.ENDPOINT)
        except Offline as error:
            offline = str(error)
    try:
        return Path(hf_hub_download(REPOSITORY, f"DSTC_11_Track_4/metadata/dev/en/{name}/{name}_eval.json",
                                    repo_type="dataset", local_files_only=bool(offline)))
    except LocalEntryNotFoundError as error:
        raise Offline(offline or f"{MIRROR.url} cannot be reached") from error
    except EntryNotFoundError:
        return None


def _from_archive(name: str, folder: Path) -> Path:
    from huggingface_hub import HfFileSystem

    with (HfFileSystem().open(f"datasets/{REPOSITORY}@{COMMIT}/{ARCHIVE}", "rb") as stream,
          zipfile.ZipFile(stream) as archive):
        members = [member for member in archive.infolist() if member.filename.endswith(f"/{name}/{name}_eval.json")]
        if not members or members[0].file_size > LARGEST:
            raise FetchError(f"{MIRROR.url}: {ARCHIVE} holds no {name}_eval.json, or one too large")
        path = folder / f"{name}_eval.json"
        path.write_bytes(archive.read(members[0]))
    return path
