"""Evidence: how far the inputs of a composite agreed with people on development datasets, and how they are spread.

`harness calibrate` writes it, and the weights of a composite are computed from it: Spearman of every input with every
quality, and what a regression needs. Each dataset has numbers of its own, so weights can be learned without one.

The user's own lie in HOME/calibrations, the shipped ones as metrics/checkpoints/NAME/evidence.json.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Level
from metrics.errors import MissingResource
from metrics.models.checkpoint import SHIPPED

Vector: TypeAlias = npt.NDArray[np.float64]
FILE = "evidence.json"
SHOWN = 4
"""How many inputs a message names."""

KIN = (
    frozenset({"relevance", "maintains context", "semantic appropriateness", "correctness", "appropriateness",
               "content", "coherence", "making sense", "consistency", "listening", "understanding", "error recovery"}),
    frozenset({"grammar", "fluency", "language usage", "understandability", "naturalness", "humanness"}),
    frozenset({"interestingness", "engagement", "specificity", "informativeness", "uses knowledge", "enjoyment",
               "depth", "diversity", "inquisitiveness", "likeability", "flexibility"}),
)
"""Qualities that stand in for each other where no development dataset has one: belonging, language, interest."""


def kin(dimension: str) -> frozenset[str]:
    """The group of a quality; empty for one of no group."""
    return next((group for group in KIN if dimension in group), frozenset())


@dataclass(frozen=True, slots=True)
class QualityEvidence:
    """A quality of a dataset: how many drawn items are rated, and each input's Spearman with the ratings.

    `ranked` is Pearson's correlation of each input with the ranks of the ratings. NaN for a constant input.
    """

    quality: str
    dimension: str
    items: int
    spearman: Vector
    ranked: Vector


@dataclass(frozen=True, slots=True)
class DatasetEvidence:
    """A development dataset: how many items were drawn, and the inputs' means, spreads and correlations over them.

    `alike` is (inputs, inputs). `fingerprint` names the items, `ratings` the votes.
    """

    dataset: str
    level: Level
    fingerprint: str
    ratings: str
    drawn: int
    means: Vector
    spreads: Vector
    alike: Vector
    qualities: tuple[QualityEvidence, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers of `inputs` on development datasets; `identity` is NAME@DIGEST of the file they come from."""

    inputs: tuple[str, ...]
    parts: tuple[DatasetEvidence, ...]
    signatures: Mapping[str, str] = field(default_factory=dict)
    identity: str = ""
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the development datasets."""
        return tuple(part.dataset for part in self.parts)

    @property
    def qualities(self) -> list[QualityEvidence]:
        """The qualities of all datasets."""
        return [quality for part in self.parts for quality in part.qualities]

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The qualities that some dataset has, by name."""
        return tuple(sorted({quality.dimension for quality in self.qualities}))

    def without(self, *datasets: str) -> Evidence:
        """The same without some datasets."""
        return replace(self, parts=tuple(part for part in self.parts if part.dataset not in datasets))

    def at(self, level: Level) -> Evidence:
        """The same on the datasets of one level, where there are some."""
        parts = tuple(part for part in self.parts if part.level == level)
        return replace(self, parts=parts) if parts else self

    def of(self, inputs: Sequence[str]) -> Evidence:
        """The same of some of the inputs, in their order."""
        places = [self.inputs.index(name) for name in inputs]
        return replace(self, inputs=tuple(inputs), parts=tuple(replace(
            part, means=part.means[places], spreads=part.spreads[places], alike=part.alike[np.ix_(places, places)],
            qualities=tuple(replace(quality, spearman=quality.spearman[places], ranked=quality.ranked[places])
                            for quality in part.qualities)) for part in self.parts))

    def having(self, dimension: str) -> list[QualityEvidence]:
        """A quality on the datasets that have it; if none has, related ones; if none has those, every quality."""
        for dimensions in ({dimension}, kin(dimension)):
            if own := [quality for quality in self.qualities if quality.dimension in dimensions]:
                return own
        return self.qualities

    def shrunk(self, dimension: str, strength: float, mean: Callable[[Collection[str]], tuple[Vector, int]]) -> Vector:
        """What is known of a quality, shrunk by how little that is.

        `mean` gives a mean over some qualities, and of how many things it is one. The mean over all qualities counts as
        `strength` more beside those of related ones, that mean as so many more beside the quality's own: with 0 its own
        evidence decides where there is some, with infinity all qualities alone.
        """
        value, _ = mean(self.dimensions)
        for dimensions in (kin(dimension), {dimension}):
            own, count = mean(dimensions)
            if count and math.isfinite(strength):
                value = np.asarray((own * count + value * strength) / (count + strength))
        return value

    def scale(self) -> tuple[Vector, Vector]:
        """Mean and spread of each input, each dataset with the same weight; a spread of 0 is taken for 1.

        Over the turn-level datasets where there are some: means over a dialogue's turns spread less.
        """
        parts = [part for part in self.parts if part.level == "turn"] or self.parts
        means = np.mean([part.means for part in parts], axis=0)
        spreads = np.mean([part.spreads for part in parts], axis=0)
        return means, np.where(spreads > 0, spreads, 1.0)


def find(name: str, inputs: Mapping[str, str], home: Path) -> Evidence:
    """The evidence for inputs, by name with their signatures; MissingResource where no file has them all.

    A file made of the same scores goes before one made of others, then the user's own before the shipped.
    """
    other = None
    for path in _files(name, home):
        evidence = read(path)
        if set(inputs) <= set(evidence.inputs):
            if not strangers(evidence, inputs):
                return evidence.of(tuple(inputs))
            other = other or evidence
    if other is None:
        more = f" and {len(inputs) - SHOWN} more" if len(inputs) > SHOWN else ""
        raise MissingResource(f"no weights for a composition of {', '.join([*inputs][:SHOWN])}{more}: learn them with "
                              f"`harness calibrate {name}`, with the inputs it is asked for with")
    return other.of(tuple(inputs))


def strangers(evidence: Evidence, inputs: Mapping[str, str]) -> tuple[str, ...]:
    """The inputs whose scores were others when the evidence was made: other weights, options or models."""
    return tuple(name for name, signature in inputs.items()
                 if _plain(evidence.signatures.get(name, "")) != _plain(signature))


def place(name: str, inputs: Sequence[str], home: Path) -> Path:
    """The path of the user's own evidence for these inputs."""
    digest = hashlib.sha256("+".join(inputs).encode()).hexdigest()[:8]
    return home / "calibrations" / f"{name}-{digest}.json"


def read(path: Path) -> Evidence:
    """The evidence in a file; MissingResource for one that was changed or cut."""
    try:
        return _evidence(path.read_bytes())
    except OSError as error:
        raise MissingResource(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MissingResource(f"{path}: does not read as the weights of a composition ({error}); make it anew with "
                              "`harness calibrate`, or remove it") from error


@functools.lru_cache(32)
def _evidence(content: bytes) -> Evidence:
    """The evidence that a file holds; a run asks for the same ones on every dataset."""
    table = json.loads(content)
    name = f"{table['name']}@{hashlib.sha256(content).hexdigest()[:12]}"
    return Evidence(tuple(table["inputs"]), tuple(map(_part, table["datasets"])), table["signatures"], name,
                    table["card"])


def text(name: str, evidence: Evidence) -> bytes:
    """The file's content."""
    head = {"name": name, "card": evidence.card, "inputs": evidence.inputs, "signatures": evidence.signatures}
    lines = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(json.dumps(_row(part), ensure_ascii=False) for part in evidence.parts)
    return f'{lines},\n "datasets": [\n{rows}\n]}}\n'.encode()


def _files(name: str, home: Path) -> Iterator[Path]:
    own = sorted((home / "calibrations").glob("*.json"))
    shipped = sorted(SHIPPED.glob(f"*/{FILE}"))
    yield from sorted(own, key=lambda path: not path.name.startswith(f"{name}-"))
    yield from sorted(shipped, key=lambda path: path.parent.name != name)


def _plain(signature: str) -> str:
    """A signature without the precision that its models were read in."""
    return "|".join(part.partition(" ")[0] for part in signature.split("|"))


def _row(part: DatasetEvidence) -> dict[str, Any]:
    return {
        "dataset": part.dataset, "level": part.level, "fingerprint": part.fingerprint, "ratings": part.ratings,
        "drawn": part.drawn, "means": _numbers(part.means), "spreads": _numbers(part.spreads),
        "alike": [_numbers(row[:place]) for place, row in enumerate(part.alike)],
        "qualities": [{"quality": own.quality, "dimension": own.dimension, "items": own.items,
                       "spearman": _numbers(own.spearman), "ranked": _numbers(own.ranked)} for own in part.qualities],
    }


def _numbers(vector: Vector) -> list[float | None]:
    """Six digits of each number; null for NaN."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in vector.tolist()]


def _vector(values: Sequence[float | None]) -> Vector:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _part(row: Mapping[str, Any]) -> DatasetEvidence:
    alike = np.eye(len(row["alike"]))
    for place, values in enumerate(row["alike"]):
        alike[place, :place] = alike[:place, place] = _vector(values)
    qualities = tuple(QualityEvidence(own["quality"], own["dimension"], int(own["items"]), _vector(own["spearman"]),
                                      _vector(own["ranked"])) for own in row["qualities"])
    return DatasetEvidence(row["dataset"], row["level"], row["fingerprint"], row["ratings"], int(row["drawn"]),
                           _vector(row["means"]), _vector(row["spreads"]), alike, qualities)
