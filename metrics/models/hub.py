"""Models on the Hugging Face hub: what its cache on this machine holds, and fetching what it does not.

Only what is read is fetched: the files at the top of a repository that hold weights as safetensors, configuration or
vocabulary. The cache is the one that every program of the hub shares (HF_HOME), so that a model which another program
has fetched is found as well.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource, in_one_line

PATIENCE = 10.0
"""Seconds within which the hub must answer at first; later requests have no limit."""

_FILES: dict[str, Any] = {
    "allow_patterns": ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model"],
    "ignore_patterns": ["*/*"],
}

_REFUSALS = {
    "HFValidationError": "it is neither a folder here nor a name that the hub can have",
    "OfflineModeIsEnabled": "the hub is switched off by HF_HUB_OFFLINE",
    "GatedRepoError": "its licence must be accepted on the hub first, and HF_TOKEN set",
    "RepositoryNotFoundError": "the hub has no model of that name, or it is private and HF_TOKEN must be set",
    "RevisionNotFoundError": "the hub has the model, but no such revision of it",
}


def cached() -> Iterator[str]:
    """The models in the cache, by the names that find them: NAME@REVISION where it is not the main branch."""
    from huggingface_hub.constants import HF_HUB_CACHE

    for folder in sorted(Path(HF_HUB_CACHE).glob("models--*")):
        name = folder.name.removeprefix("models--").replace("--", "/")
        commits = {path.parent.name for path in folder.glob("snapshots/*/config.json")}
        refs = {str(path.relative_to(folder / "refs")): path.read_text(encoding="utf-8").strip()
                for path in sorted(folder.glob("refs/**/*")) if path.is_file()}
        for ref, commit in refs.items():
            if commit in commits:
                yield name if ref == "main" else f"{name}@{ref}"
        yield from (f"{name}@{commit}" for commit in sorted(commits - set(refs.values())))


def snapshot(name: str, revision: str) -> Path:
    """The folder of a model in the cache, which may lack files; the hub is not asked."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision or None, local_files_only=True, **_FILES))
    except HFValidationError as error:
        raise MissingResource(f"model {name!r}: {_REFUSALS['HFValidationError']}") from error
    except LocalEntryNotFoundError as error:
        if partial := getattr(error, "snapshot_path", None):
            return Path(partial)
        raise MissingResource(f"model {name!r} is not on this machine; a run that may use the network fetches it"
                              ) from error


def fetched(name: str, revision: str) -> Path:
    """The folder of a model once the hub's files are there; MissingResource with the reason where they cannot be."""
    from huggingface_hub import HfApi, snapshot_download

    try:
        info = HfApi().model_info(name, revision=revision or None, timeout=PATIENCE)
        names = [file.rfilename for file in info.siblings or ()]
        readable = any(name.endswith(".safetensors") and "/" not in name for name in names)
        if readable or not names:
            return Path(snapshot_download(name, revision=revision or None, **_FILES))
    except Exception as error:  # the hub's, the network's, the disk's: all end here
        reason = _REFUSALS.get(type(error).__name__) or in_one_line(error)
        raise MissingResource(f"model {name!r} could not be fetched: {reason}") from error
    raise MissingResource(f"model {name!r}: the hub has no safetensors of it, and a pickle, which can run code, is not "
                          "read; name a revision that has some (NAME@REVISION, often refs/pr/N), or convert it")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the bars and remarks of transformers: what is wrong here is an error."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
