"""The types of a benchmark: items, and their human ratings.

Items carry no ratings, so metrics cannot see them; the two are joined by item id, never by position. A fingerprint
covers the items only, so scores stay valid when ratings change.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Split = Literal["dev", "test", "recent", "own", "more"]
"""`dev`, `test`: the challenge; `recent`: rated from 2022 on; `own`: the user's datasets; `more`: translations."""
SPLITS: tuple[Split, ...] = get_args(Split)
Level = Literal["turn", "dialogue"]
Origin = Literal["sample", "imported", "fetched"]

SYSTEM = "system"
USER = "user"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A turn; `speaker` is "system" for the judged side, "user" for the other, or a name."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A reply written or approved by a person; `weight` is deltaBLEU's, from -1 to 1."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Item:
    """The subject of a rating: a response in its context, or a whole dialogue (`response` is None).

    `language` is a code such as en or zh.
    """

    id: str
    context: tuple[Utterance, ...]
    response: Utterance | None
    references: tuple[Reference, ...] = ()
    facts: tuple[str, ...] = ()
    system: str | None = None
    language: str = "en"

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """The context, then the response if there is one."""
        return self.context if self.response is None else (*self.context, self.response)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Item:
        """Build an item from its `asdict` as JSON; raise KeyError or TypeError if it is malformed."""
        response = record["response"]
        return cls(record["id"], tuple(Utterance(**turn) for turn in record["context"]),
                   None if response is None else Utterance(**response),
                   tuple(Reference(**reference) for reference in record["references"]), tuple(record["facts"]),
                   record["system"], record.get("language", "en"))


@dataclass(frozen=True, slots=True)
class Rating:
    """All votes on one quality of one item; without votes the rating is missing, never zero.

    `raters` has a pseudonym per vote (r1, r2, ...), unique per person within a dataset; it is empty if the source does
    not identify raters.
    """

    item: str
    quality: str
    votes: tuple[float, ...]
    raters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quality:
    """A quality as its dataset spells it, with its scale if known.

    `dimension` is the common name that puts the same quality of several datasets on one board.
    """

    name: str
    low: float | None = None
    high: float | None = None
    dimension: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", self.dimension or self.name.casefold())

    @property
    def scale(self) -> str:
        if self.low is None and self.high is None:
            return "scale not known"
        return " to ".join("?" if end is None else f"{end:g}" for end in (self.low, self.high))

    def accepts(self, vote: float) -> bool:
        return (self.low is None or self.low <= vote) and (self.high is None or vote <= self.high)

    def scale_problem(self, vote: float) -> str:
        """Return a message for a vote that is off the scale; empty for a valid vote."""
        return "" if self.accepts(vote) else f"{vote:g} is outside the scale of {self.name!r}, {self.scale}"


@dataclass(frozen=True, slots=True)
class Source:
    """The URL of a file; `by_hand` is set if the download requires registration.

    `form` names its reader in benchmarks/sources/fetch.py; "official" and "mirror" are the organisers' format.
    """

    url: str
    sha256: str | None = None
    form: str = "official"
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class DatasetCard:
    """Description of a dataset, available without its data.

    `rated_by` is the field of a record that holds its votes. Datasets built from the same conversations share a name in
    `dialogues`, since weights trained on one have seen those of the others. `language` is the default for items.
    """

    name: str
    title: str
    split: Split
    level: Level
    qualities: tuple[Quality, ...]
    size: int
    sources: tuple[Source, ...]
    licence: str
    citation: str
    homepage: str = ""
    notes: str = ""
    rated_by: Literal["annotations", "win_ratio"] = "annotations"
    dialogues: str = ""
    revision: int = 1
    language: str = "en"

    @property
    def shareable(self) -> bool:
        """False if texts must not be redistributed: a recent dataset without a stated licence."""
        return self.split != "recent" or self.licence != "not stated"

    def quality(self, name: str) -> Quality | None:
        return next((quality for quality in self.qualities if quality.name == name), None)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A card with its items and ratings; pages never mix samples with imported or fetched data.

    `scores` holds the scores published with the items, by name and then by `ID` or `ID|quality`. Saving the dataset
    writes each to a score file; loading it does not read them back.
    """

    card: DatasetCard
    items: tuple[Item, ...]
    ratings: tuple[Rating, ...]
    origin: Origin
    fingerprint: str = ""
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", fingerprint(self.items))

    @property
    def kind(self) -> str:
        """Sample or real; the two never share a board."""
        return "sample" if self.origin == "sample" else "real"

    @property
    def rated(self) -> int:
        """Number of pairs of item and quality with votes."""
        return sum(bool(rating.votes) for rating in self.ratings)


LANGUAGE = "a language code such as en, zh (not cn), ja (not jp) or ko (not kr)"
COUNTRIES = frozenset(["cn", "cz", "dk", "gb", "gr", "il", "ir", "jp", "kr", "ua", "us", "vn"])
"""Country codes that are often mistaken for language codes, and are not accepted."""


def is_language(code: str) -> bool:
    """Return True for a language code such as en or zh-Hant."""
    return (re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", code) is not None
            and primary_language(code) not in COUNTRIES)


def primary_language(code: str) -> str:
    """Return the first part of a language code: en for en-GB."""
    return code.partition("-")[0]


def fingerprint(items: Iterable[Item]) -> str:
    """Return the sha256 of the items in their order."""
    digest = hashlib.sha256()
    for item in items:
        record = [item.id, [(turn.speaker, turn.text) for turn in item.context],
                  None if item.response is None else (item.response.speaker, item.response.text),
                  [(reference.text, reference.weight) for reference in item.references], item.facts, item.system]
        if item.language != "en":
            record.append(item.language)
        digest.update(json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()
