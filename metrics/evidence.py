"""Evidence: on development datasets, how a composite's inputs are distributed and correlate with ratings.

`harness calibrate` writes it, and the weights of composites are computed from it. Its numbers are per dataset, so that
weights can be learned without a given dataset. The user's files are HOME/calibrations/NAME-DIGEST.json, the shipped
ones metrics/checkpoints/NAME/evidence.json, in a subfolder for encoders other than the embedded one.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Level
from metrics.errors import MissingResource
from metrics.metric import Signature
from metrics.models.checkpoint import SHIPPED

Vector: TypeAlias = npt.NDArray[np.float64]
FILE = "evidence.json"
MAX_NAMED_INPUTS = 4
"""Maximum number of inputs named in a message."""
RELATED_QUALITIES = (
    frozenset({"relevance", "maintains context", "semantic appropriateness", "correctness", "appropriateness",
               "content", "coherence", "making sense", "consistency", "listening", "understanding", "error recovery"}),
    frozenset({"grammar", "fluency", "language usage", "understandability", "naturalness", "humanness"}),
    frozenset({"interestingness", "engagement", "specificity", "informativeness", "useful information", "diversity",
               "uses knowledge", "enjoyment", "depth", "inquisitiveness", "likeability", "flexibility"}),
)
"""Related qualities (coherence, language, interest), used where no development dataset has the quality itself."""


def related_qualities(dimension: str) -> frozenset[str]:
    """Return the related qualities, including the quality itself; empty if there are none."""
    return next((group for group in RELATED_QUALITIES if dimension in group), frozenset())


@dataclass(frozen=True, slots=True)
class QualityEvidence:
    """A quality of a dataset: number of rated items sampled, and each input's correlations with the ratings.

    `spearman` is Spearman's correlation, `ranked` Pearson's with the ranks of the ratings; NaN for a constant input.
    """

    quality: str
    dimension: str
    items: int
    spearman: Vector
    ranked: Vector


@dataclass(frozen=True, slots=True)
class DatasetEvidence:
    """A development dataset: number of items sampled (`drawn`), and distribution of the inputs.

    `spreads` are standard deviations, `alike` the (inputs, inputs) correlations. `fingerprint` identifies the items,
    `ratings` the votes.
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
    """Evidence for `inputs` on development datasets; `identity` is NAME@DIGEST of the file."""

    inputs: tuple[str, ...]
    parts: tuple[DatasetEvidence, ...] = ()
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    identity: str = ""
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        return tuple(part.dataset for part in self.parts)

    @property
    def qualities(self) -> list[QualityEvidence]:
        return [quality for part in self.parts for quality in part.qualities]

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(sorted({quality.dimension for quality in self.qualities}))

    def without(self, *datasets: str) -> Evidence:
        return replace(self, parts=tuple(part for part in self.parts if part.dataset not in datasets))

    def at(self, level: Level) -> Evidence:
        """Return the evidence from datasets of a level, or all of it if there are none."""
        return replace(self, parts=tuple(part for part in self.parts if part.level == level) or self.parts)

    def of(self, inputs: Sequence[str]) -> Evidence:
        """Return the evidence for these inputs, in this order."""
        rows = [self.inputs.index(name) for name in inputs]
        return replace(self, inputs=tuple(inputs), parts=tuple(replace(
            part, means=part.means[rows], spreads=part.spreads[rows], alike=part.alike[np.ix_(rows, rows)],
            qualities=tuple(replace(quality, spearman=quality.spearman[rows], ranked=quality.ranked[rows])
                            for quality in part.qualities)) for part in self.parts))

    def having(self, dimension: str) -> list[QualityEvidence]:
        """Return the evidence for a quality, else for related qualities, else for all."""
        for dimensions in ({dimension}, related_qualities(dimension)):
            if qualities := [quality for quality in self.qualities if quality.dimension in dimensions]:
                return qualities
        return self.qualities

    def shrunk(self, dimension: str, strength: float, mean: Callable[[Collection[str]], tuple[Vector, int]]) -> Vector:
        """Shrink a quality's mean towards that of related qualities, and theirs towards that of all.

        `mean` returns the mean over the given qualities and its number of observations. The broader mean counts as
        `strength` more observations: 0 keeps the quality's own mean if there is one, infinity gives the mean over all.
        """
        value, _ = mean(self.dimensions)
        for dimensions in (related_qualities(dimension), {dimension}):
            narrower, count = mean(dimensions)
            if count and math.isfinite(strength):
                value = np.asarray((narrower * count + value * strength) / (count + strength))
        return value

    def scale(self) -> tuple[Vector, Vector]:
        """Return each input's mean and standard deviation, averaged over datasets; a deviation of 0 becomes 1.

        Turn-level datasets are preferred, since means over the turns of a dialogue vary less.
        """
        parts = [part for part in self.parts if part.level == "turn"] or self.parts
        spreads = np.mean([part.spreads for part in parts], axis=0)
        return np.mean([part.means for part in parts], axis=0), np.where(spreads > 0, spreads, 1.0)


def find(name: str, inputs: Mapping[str, Signature], home: Path) -> Evidence:
    """Return the evidence for inputs (name to signature); raise MissingResource if no file has them all.

    In order of preference: files with fewer changed inputs, the user's files, files named after the composite, newer
    files.
    """
    user = sorted((home / "calibrations").glob("*.json"), key=lambda path: (
        not path.name.startswith(f"{name}-"), -path.stat().st_mtime, path))
    shipped = sorted(SHIPPED.rglob(FILE), key=lambda path: (path.relative_to(SHIPPED).parts[0] != name, path))
    complete = [evidence for path in (*user, *shipped) if set(inputs) <= set((evidence := read(path)).inputs)]
    if not complete:
        others = f" and {len(inputs) - MAX_NAMED_INPUTS} more" if len(inputs) > MAX_NAMED_INPUTS else ""
        raise MissingResource(f"no weights for a composite of {', '.join([*inputs][:MAX_NAMED_INPUTS])}{others}; "
                              f"learn them with `harness calibrate {name}` and the same inputs")
    return min(complete, key=lambda evidence: len(changed_inputs(evidence, inputs))).of(tuple(inputs))


def changed_inputs(evidence: Evidence, inputs: Mapping[str, Signature]) -> tuple[str, ...]:
    """Return the inputs whose weights, options or models differ from those of the evidence."""
    return tuple(name for name, signature in inputs.items()
                 if _without_precision(evidence.signatures.get(name, {})) != _without_precision(signature))


def _without_precision(signature: Signature) -> Signature:
    return {name: value.partition(" ")[0] for name, value in signature.items()}


def user_path(name: str, evidence: Evidence, home: Path) -> Path:
    """Return the path of the user's evidence, a different one for other inputs, options or models."""
    inputs = [(part, _without_precision(evidence.signatures.get(part, {}))) for part in evidence.inputs]
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:8]
    return home / "calibrations" / f"{name}-{digest}.json"


def read(path: Path) -> Evidence:
    """Load evidence from a file; raise MissingResource if it is damaged."""
    try:
        return _evidence(path.read_bytes())
    except OSError as error:
        raise MissingResource(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MissingResource(f"{path}: not a valid evidence file ({error}); remove it, or recreate it with "
                              "`harness calibrate`") from error


@functools.lru_cache(32)
def _evidence(content: bytes) -> Evidence:
    table = json.loads(content)
    return Evidence(tuple(table["inputs"]), tuple(map(_part, table["datasets"])), table["signatures"],
                    f"{table['name']}@{hashlib.sha256(content).hexdigest()[:12]}", table["card"])


def _part(row: Mapping[str, Any]) -> DatasetEvidence:
    alike = np.eye(len(row["alike"]))
    for index, values in enumerate(row["alike"]):
        alike[index, :index] = alike[:index, index] = _vector(values)
    qualities = tuple(QualityEvidence(**{**quality, "spearman": _vector(quality["spearman"]),
                                         "ranked": _vector(quality["ranked"])}) for quality in row["qualities"])
    return DatasetEvidence(**{**row, "means": _vector(row["means"]), "spreads": _vector(row["spreads"]),
                              "alike": alike, "qualities": qualities})


def _vector(values: Sequence[float | None]) -> Vector:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def text(name: str, evidence: Evidence) -> bytes:
    head = {"name": name, "card": evidence.card, "inputs": evidence.inputs, "signatures": evidence.signatures}
    lines = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(json.dumps(part, ensure_ascii=False, default=_json_value) for part in evidence.parts)
    return f'{lines},\n "datasets": [\n{rows}\n]}}\n'.encode()


def _json_value(value: Any) -> Any:
    """Convert to JSON: six significant digits, null for NaN, a symmetric matrix as its strict lower triangle."""
    if dataclasses.is_dataclass(value):
        return {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    if value.ndim == 2:
        return [row[:index] for index, row in enumerate(value)]
    return [float(f"{number:.6g}") if np.isfinite(number) else None for number in value.tolist()]
