"""Models of the Hugging Face hub: finding them in its cache, which other programs share, and downloading others.

Only top-level files of a repository are downloaded: safetensors weights, configuration and vocabulary.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource, in_one_line

FIRST_REQUEST_TIMEOUT = 10.0
"""Timeout of the first request to the hub, in seconds; later requests have none."""
_FILES: dict[str, Any] = {
    "allow_patterns": ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model"],
    "ignore_patterns": ["*/*"],
}
_REFUSALS = {
    "HFValidationError": "it is neither a local folder nor a valid name on the hub",
    "OfflineModeIsEnabled": "access to the hub is disabled by HF_HUB_OFFLINE",
    "GatedRepoError": "its licence must be accepted on the hub first, and HF_TOKEN set",
    "RepositoryNotFoundError": "no model of that name is on the hub, or it is private and HF_TOKEN must be set",
    "RevisionNotFoundError": "the model is on the hub, but not this revision",
}


def cached_names() -> Iterator[str]:
    """Yield the names of the models in the cache, as NAME@REVISION for branches other than main."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.constants import HF_HUB_CACHE

    if not Path(HF_HUB_CACHE).is_dir():
        return
    for model in sorted(scan_cache_dir(HF_HUB_CACHE).repos, key=lambda repository: repository.repo_id):
        for revision in sorted(model.revisions, key=lambda revision: revision.commit_hash):
            if model.repo_type == "model" and any(file.file_name == "config.json" for file in revision.files):
                for ref in sorted(revision.refs) or [revision.commit_hash]:
                    yield model.repo_id if ref == "main" else f"{model.repo_id}@{ref}"


def snapshot(name: str, revision: str) -> Path:
    """Return the folder of a model in the cache without using the network; the folder may lack files."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision or None, local_files_only=True, **_FILES))
    except HFValidationError as error:
        raise MissingResource(f"model {name!r}: {_REFUSALS['HFValidationError']}") from error
    except LocalEntryNotFoundError as error:
        if partial := getattr(error, "snapshot_path", None):
            return Path(partial)
        raise MissingResource(f"model {name!r} is not on this machine; a run without --offline downloads it"
                              ) from error


def fetch(name: str, revision: str) -> Path:
    """Download a model from the hub and return its folder, or raise MissingResource."""
    from huggingface_hub import HfApi, snapshot_download

    try:
        info = HfApi().model_info(name, revision=revision or None, timeout=FIRST_REQUEST_TIMEOUT)
        files = [file.rfilename for file in info.siblings or ()]
        if not files or any(file.endswith(".safetensors") and "/" not in file for file in files):
            return Path(snapshot_download(name, revision=revision or None, **_FILES))
    except Exception as error:  # from the hub, the network or the disk
        reason = _REFUSALS.get(type(error).__name__) or in_one_line(error)
        raise MissingResource(f"model {name!r} could not be fetched: {reason}") from error
    raise MissingResource(f"model {name!r} has no safetensors on the hub, and pickles are not loaded because they can "
                          "run code; name a revision with safetensors (NAME@REVISION, often refs/pr/N), or convert it")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers inside the `with` block."""
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
