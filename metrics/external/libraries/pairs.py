"""Models of the package sentence-transformers as metrics: what sentence encoders and cross-encoders share.

The package reads the model's folder itself, with its own pooling, normalisation and activation, in float32 on the
first device: `--precision` and `--batch-tokens` are for the networks of this project. Models are found as all others
are (metrics/models/weights.py), so that nothing is read but safetensors and no code comes with a model.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias

from benchmarks.dataset import Item
from metrics.errors import MissingResource
from metrics.metric import Column, Columns, MetricCard
from metrics.models import weights
from metrics.models.networks import quiet
from metrics.models.service import Models
from metrics.models.weights import Weights
from metrics.text.words import over_references, reply, unscored

Against: TypeAlias = Literal["last", "context", "references"]
Pair: TypeAlias = tuple[str, str]

PACKAGE = "sentence-transformers"
NEEDS: dict[str, tuple[str, ...]] = {"last": ("context",), "context": ("context",), "references": ("references",)}
BATCH = 32
"""Texts read at a time, as the package has it; it sorts them by length."""


@dataclass(frozen=True, slots=True)
class OfPairs:
    """A number for (other text, response): the last utterance, the whole context in one line, or each reference."""

    card: ClassVar[MetricCard]
    model: ClassVar[str]
    against: Against = "last"
    references: Literal["max", "mean", "first"] = "max"

    @classmethod
    def named(cls, name: str, model: str) -> type[Self]:
        """The class for one model, bearing its name."""
        card = dataclasses.replace(cls.card, name=name, columns=(name,), title=f"{cls.card.title} of {model}")
        return type(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__, "card": card, "model": model})

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> type[Self]:
        """The class whose card needs what the response is compared with."""
        card = dataclasses.replace(cls.card, needs=NEEDS[values.get("against", "last")])
        return type(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__, "card": card})

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """One number per item; NaN without the text to compare with."""
        pairs_of: dict[int, list[Pair]] = {}
        for row, item in enumerate(items):
            if others := list(self._others(item)):
                pairs_of[row] = [(other, reply(item)) for other in others]
        column = unscored(1, len(items))[0]
        values = iter(self.values([pair for pairs in pairs_of.values() for pair in pairs], models) if pairs_of else ())
        for row, pairs in pairs_of.items():
            column[row] = over_references([float(next(values)) for _ in pairs], self.references)
        return {self.card.name: column}

    def values(self, pairs: Sequence[Pair], models: Models) -> Column:
        """The number of each pair."""
        raise NotImplementedError

    def files(self, models: Models) -> Weights:
        """The model's files, or MissingResource; what they are must be known before the package is imported."""
        if importlib.util.find_spec(PACKAGE.replace("-", "_")) is None:
            raise MissingResource(f"{PACKAGE} is not installed; the extra [all] brings it")
        try:
            return weights.find(self.model, models.home, download=models.choice.download)
        except OSError as error:  # a name that no file system takes
            raise MissingResource(f"model {self.model:.80}: {error.strerror}") from error

    def depends(self, models: Models) -> tuple[str, ...]:
        """The model's digests and the version of the package."""
        weights = self.files(models)
        parts = f"+{digest[:6]}" if (digest := _modules(weights)) else ""
        return f"asked={self.card.name}", f"model={weights.identity}{parts}", f"{PACKAGE}={_version()}"

    def loaded(self, kind: str, models: Models) -> Any:
        """The package's object for the model, on the first device."""
        files = self.files(models)
        return _loaded(kind, files, _modules(files), models.machine.devices[0])

    def _others(self, item: Item) -> Iterator[str]:
        if self.against == "references":
            texts = [reference.text for reference in item.references if reference.text.strip()]
            yield from texts[:1] if self.references == "first" else texts
        elif item.context:
            turns = item.context[-1:] if self.against == "last" else item.context
            yield " ".join(turn.text for turn in turns)


@functools.cache
def _version() -> str:
    return importlib.metadata.version(PACKAGE)


@functools.cache
def _loaded(kind: str, files: Weights, _digest: str, device: str) -> Any:
    import sentence_transformers
    import torch

    with quiet():
        try:
            return getattr(sentence_transformers, kind)(
                str(files.folder), device=device, local_files_only=True, trust_remote_code=False,
                model_kwargs={"dtype": torch.float32, "use_safetensors": True})
        except MemoryError:
            raise
        except Exception as error:  # a folder can be wrong in many ways, each with an error of its own
            reason = " ".join(str(error).split())
            raise MissingResource(f"model {files.name}: {PACKAGE} cannot load it as {kind} "
                                  f"({type(error).__name__}: {reason:.160})") from error


def described(folder: Path, name: str) -> Any:
    """What a JSON file of a model's folder says; None where there is none."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError) as error:
        raise MissingResource(f"model {folder.name}: {path} cannot be read: {error}") from error


def _modules(files: Weights) -> str:
    """The digest of what the package reads besides the network: the folders that modules.json names."""
    listed = described(files.folder, "modules.json") or ()
    digest = hashlib.sha256()
    try:
        folders = [files.folder / module["path"] for module in listed if module["path"]]
    except (KeyError, TypeError) as error:
        raise MissingResource(f"model {files.name}: modules.json is no list of modules with a path") from error
    for folder in folders:
        own = sorted(path for path in folder.glob("*") if path.suffix in {".json", ".safetensors", ".txt", ".model"})
        if any(folder.glob("*.bin")) and not any(path.suffix == ".safetensors" for path in own):
            raise MissingResource(f"model {files.name}: the weights in {folder.name} are a pickle, which can run code "
                                  "and is not read; convert them to safetensors")
        for path in own:
            digest.update(f"{folder.name}/{path.name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest() if folders else ""
