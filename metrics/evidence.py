"""Evidence: how far the inputs of a composition agreed with people on development datasets, and how they are spread.

It is what `harness calibrate` writes and what the weights of a composition are worked out from, whatever their rule:
Spearman of every input with every quality, and what a regression needs. As the numbers of each dataset stand by
themselves, those without one dataset are at hand, and so are weights that were learned on the others alone.

The user's own lie in HOME/calibrations, the shipped ones as metrics/checkpoints/NAME/evidence.json.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Level
from metrics.errors import MissingResource
from metrics.training.checkpoint import SHIPPED

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
"""Qualities that stand in for each other where no development dataset asks for one: belonging, language, interest."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A quality of a dataset: how many drawn items are rated, and each input's Spearman with the ratings.

    `ranked` is Pearson's correlation of each input with the ranks of the ratings. NaN for a constant input.
    """

    quality: str
    dimension: str
    items: int
    spearman: Vector
    ranked: Vector


@dataclass(frozen=True, slots=True)
class Witness:
    """A development dataset: its items that were drawn, and the inputs' means, spreads and correlations over them.

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
    qualities: tuple[Rated, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found of `inputs` on development datasets; `identity` is NAME@DIGEST of the file it stands in."""

    inputs: tuple[str, ...]
    witnesses: tuple[Witness, ...]
    signatures: Mapping[str, str] = field(default_factory=dict)
    identity: str = ""
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The development datasets it is of."""
        return tuple(witness.dataset for witness in self.witnesses)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The qualities that some dataset asks for."""
        return tuple(sorted({rated.dimension for witness in self.witnesses for rated in witness.qualities}))

    def without(self, *datasets: str) -> Evidence:
        """The same without some datasets."""
        return replace(self, witnesses=tuple(one for one in self.witnesses if one.dataset not in datasets))

    def at(self, level: Level) -> Evidence:
        """The same on the datasets of one level, where there are some."""
        found = tuple(one for one in self.witnesses if one.level == level)
        return replace(self, witnesses=found) if found else self

    def of(self, inputs: Sequence[str]) -> Evidence:
        """The same of some of the inputs, in their order."""
        places = [self.inputs.index(name) for name in inputs]

        def rated(one: Rated) -> Rated:
            return replace(one, spearman=one.spearman[places], ranked=one.ranked[places])

        return replace(self, inputs=tuple(inputs), witnesses=tuple(
            replace(one, means=one.means[places], spreads=one.spreads[places],
                    alike=one.alike[np.ix_(places, places)], qualities=tuple(map(rated, one.qualities)))
            for one in self.witnesses))

    def having(self, dimension: str) -> list[tuple[Witness, Rated]]:
        """Where a quality was asked for; if nowhere, where its kin was; if nowhere, every quality."""
        kin = next((some for some in KIN if dimension in some), frozenset[str]())
        every = [(witness, rated) for witness in self.witnesses for rated in witness.qualities]
        for wanted in ({dimension}, kin):
            found = [(witness, rated) for witness, rated in every if rated.dimension in wanted]
            if found:
                return found
        return every

    def scale(self) -> tuple[Vector, Vector]:
        """Mean and spread of each input, each dataset counting alike; a spread of 0 is taken for 1.

        Over the turn-level datasets where there are some: means over a dialogue's turns spread less.
        """
        of = [one for one in self.witnesses if one.level == "turn"] or self.witnesses
        means = np.mean([one.means for one in of], axis=0)
        spreads = np.mean([one.spreads for one in of], axis=0)
        return means, np.where(spreads > 0, spreads, 1.0)


def find(name: str, inputs: Mapping[str, str], home: Path) -> Evidence:
    """The evidence for inputs, given with their signatures; MissingResource where none has them all.

    What was made of the same scores goes before what was made of others, then the user's own before the shipped.
    """
    covering = []
    for path in _files(name, home):
        found = read(path)
        if set(inputs) <= set(found.inputs):
            if not strangers(found, inputs):
                return found.of(tuple(inputs))
            covering.append(found)
    if not covering:
        more = f" and {len(inputs) - SHOWN} more" if len(inputs) > SHOWN else ""
        raise MissingResource(f"no weights for a composition of {', '.join([*inputs][:SHOWN])}{more}: learn them with "
                              f"`harness calibrate {name}`, with the inputs it is asked for with")
    return covering[0].of(tuple(inputs))


def strangers(evidence: Evidence, inputs: Mapping[str, str]) -> tuple[str, ...]:
    """The inputs whose scores were other ones when the evidence was made: other weights, options or models."""
    return tuple(name for name, signature in inputs.items()
                 if _plain(evidence.signatures.get(name, "")) != _plain(signature))


def place(name: str, inputs: Sequence[str], home: Path) -> Path:
    """Where the user's own evidence for these inputs lies."""
    digest = hashlib.sha256("+".join(inputs).encode()).hexdigest()[:8]
    return home / "calibrations" / f"{name}-{digest}.json"


def read(path: Path) -> Evidence:
    """The evidence in a file; one that was changed or cut does not read."""
    try:
        content = path.read_bytes()
        table = json.loads(content)
        witnesses = tuple(_witness(one) for one in table["datasets"])
        name = f"{table['name']}@{hashlib.sha256(content).hexdigest()[:12]}"
        return Evidence(tuple(table["inputs"]), witnesses, table["signatures"], name, table["card"])
    except OSError as error:
        raise MissingResource(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MissingResource(f"{path}: does not read as the weights of a composition ({error}); make it anew with "
                              "`harness calibrate`, or remove it") from error


def text(name: str, evidence: Evidence) -> bytes:
    """The file's content."""
    head = {"name": name, "card": evidence.card, "inputs": evidence.inputs,
            "signatures": evidence.signatures}
    lines = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    rows = ",\n".join(json.dumps(_row(one), ensure_ascii=False) for one in evidence.witnesses)
    return f'{lines},\n "datasets": [\n{rows}\n]}}\n'.encode()


def _files(name: str, home: Path) -> Iterator[Path]:
    own = sorted((home / "calibrations").glob("*.json"))
    shipped = sorted(SHIPPED.glob(f"*/{FILE}"))
    yield from sorted(own, key=lambda path: not path.name.startswith(f"{name}-"))
    yield from sorted(shipped, key=lambda path: path.parent.name != name)


def _plain(signature: str) -> str:
    """A signature without the precision that its models were read in."""
    return "|".join(part.partition(" ")[0] for part in signature.split("|"))


def _row(one: Witness) -> dict[str, Any]:
    return {
        "dataset": one.dataset, "level": one.level, "fingerprint": one.fingerprint, "ratings": one.ratings,
        "drawn": one.drawn,
        "means": _numbers(one.means), "spreads": _numbers(one.spreads),
        "alike": [_numbers(row[:place]) for place, row in enumerate(one.alike)],
        "qualities": [{"quality": rated.quality, "dimension": rated.dimension, "items": rated.items,
                       "spearman": _numbers(rated.spearman), "ranked": _numbers(rated.ranked)}
                      for rated in one.qualities],
    }


def _numbers(vector: Vector) -> list[float | None]:
    """Six digits of each number; nothing for NaN."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in vector.tolist()]


def _vector(values: Sequence[float | None]) -> Vector:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _witness(row: Mapping[str, Any]) -> Witness:
    alike = np.eye(len(row["alike"]))
    for place, values in enumerate(row["alike"]):
        alike[place, :place] = alike[:place, place] = _vector(values)
    qualities = tuple(Rated(one["quality"], one["dimension"], int(one["items"]), _vector(one["spearman"]),
                            _vector(one["ranked"])) for one in row["qualities"])
    return Witness(row["dataset"], row["level"], row["fingerprint"], row["ratings"], int(row["drawn"]),
                   _vector(row["means"]), _vector(row["spreads"]), alike, qualities)
