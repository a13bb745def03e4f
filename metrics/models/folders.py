"""A model's folder: that its files are there and whole, seen before anything is loaded, and their digests."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource

_DECIDE = ("config.json", "sentence_bert_config.json", "*token*.json", "vocab*", "merges.txt", "*.model")
"""The files besides the weights that decide the numbers; others (README, modules.json) may come and go."""
_VOCABULARY = ("tokenizer.json", "vocab.*", "*.model")
"""Any of these makes a tokenizer."""
_PICKLED = ("; its weights are a pickle, which can run code and is not read: name a revision that has safetensors "
            "(NAME@REVISION, often refs/pr/N on the hub) or convert it")


def check(name: str, folder: Path) -> list[Path]:
    """The files that hold the weights; MissingResource where the folder holds no whole model."""
    config = folder / "config.json"
    if not config.is_file():
        raise MissingResource(f"model {name}: {folder} lacks config.json")
    if not isinstance(_json(name, config), dict):
        raise MissingResource(f"model {name}: {config} is no configuration of a model")
    if not any(any(folder.glob(pattern)) for pattern in _VOCABULARY):
        raise MissingResource(f"model {name}: {folder} lacks a tokenizer (tokenizer.json, or a vocabulary)")
    parts = _parts(name, folder)
    for path in parts:
        if not path.is_file():
            raise MissingResource(f"model {name}: {folder} lacks {path.name}"
                                  + (_PICKLED if any(folder.glob("*.bin")) else ""))
        _check_whole(name, path)
    return parts


def weights_digest(parts: list[Path]) -> str:
    """sha256 of the one file, as the hub shows it; of all digests where there are several."""
    digests = [_sha256(path) for path in parts]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def settings_digest(folder: Path) -> str:
    """sha256 of what else decides the numbers, with the files' names."""
    paths = sorted({path for pattern in _DECIDE for path in folder.glob(pattern) if path.is_file()})
    return hashlib.sha256("".join(f"{path.name} {_sha256(path)}\n" for path in paths).encode()).hexdigest()


def _parts(name: str, folder: Path) -> list[Path]:
    """One file, or those that an index names; transformers, too, takes the one where both are there."""
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if whole.is_file() or not index.is_file():
        return [whole]
    try:
        parts = [folder / part for part in sorted(set(_json(name, index)["weight_map"].values()))]
    except (KeyError, AttributeError, TypeError) as error:
        raise MissingResource(f"model {name}: {index} does not say which files hold the weights") from error
    if not parts:
        raise MissingResource(f"model {name}: {index} names no file")
    return parts


def _check_whole(name: str, path: Path) -> None:
    """Refuse a file that is longer or shorter than its own table of contents says."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        content = stream.read(length) if length <= size - 8 else b""
    try:
        entries = [entry for key, entry in json.loads(content).items() if key != "__metadata__"]
        expected = 8 + length + max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise MissingResource(f"model {name}: {path} is cut off, or no safetensors file; fetch it again") from error
    if size != expected:
        raise MissingResource(f"model {name}: {path} holds {size} bytes and should hold {expected}; fetch it again")


def _json(name: str, path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise MissingResource(f"model {name}: {path} is no JSON ({error})") from error


def _sha256(path: Path) -> str:
    state = path.stat()
    return _digest(path, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))


@functools.lru_cache(maxsize=1024)
def _digest(path: Path, _state: tuple[int, ...]) -> str:
    """The sha256 of a file, computed once for as long as nobody writes to it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
