"""What is scored in the study of DailyDialog++: every reply as an item, with one reference, with several, or with none.

The k-th reply of each kind is compared with the relevant replies but the k-th: so a relevant one with the other four,
and an irrelevant one with four as well, since the best of five would favour it. The one reference of `single` is
drawn among these, once for the k-th replies of all three kinds. ΔBLEU gets the random replies but the k-th as
well, with weight -1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.corpora.dailydialogpp import URL, Context, Kind
from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Quality, Reference, Source, Utterance

Beside: TypeAlias = Literal["none", "single", "several", "weighted"]
"""Which references stand beside a reply."""

KINDS: tuple[Kind, ...] = ("positive", "random", "adversarial")


@dataclass(frozen=True, slots=True)
class Replies:
    """The items of some contexts as a dataset, and of each item its kind and the number of its context."""

    dataset: Dataset
    kinds: np.ndarray[tuple[int], np.dtype[np.str_]]
    contexts: np.ndarray[tuple[int], np.dtype[np.int64]]


def make_replies(name: str, contexts: Sequence[Context], beside: Beside, seed: int, kinds: Sequence[Kind] = KINDS,
                 change: Callable[[str], str] = str) -> Replies:
    """Every reply of these kinds, `change`d; the contexts one after the other."""
    rows = [(kind, number, Item(f"{context.name}_{kind}_{k}", context.utterances, Utterance(SYSTEM, change(text)),
                                tuple(_references(context, k, beside, seed))))
            for number, context in enumerate(contexts) for kind in kinds
            for k, text in enumerate(context.replies[kind])]
    items = tuple(item for _, _, item in rows)
    card = DatasetCard(
        name=name, title="DailyDialog++", split="test", level="turn", qualities=(Quality("relevance", 0, 1),),
        size=len(items), sources=(Source(URL),), licence="none stated", citation="Sai et al. 2020")
    return Replies(Dataset(card, items, (), "imported"),
                   np.array([kind for kind, _, _ in rows]), np.array([number for _, number, _ in rows], np.int64))


def _references(context: Context, k: int, beside: Beside, seed: int) -> Iterator[Reference]:
    def without(kind: Kind) -> list[str]:
        return [text for place, text in enumerate(context.replies[kind]) if place != k % len(context.replies[kind])]

    if beside == "single":
        own = int.from_bytes(hashlib.sha256(f"{context.name}_{k}".encode()).digest()[:8])
        others = without("positive")
        yield Reference(others[int(np.random.default_rng([seed, own]).integers(len(others)))])
    elif beside != "none":
        yield from map(Reference, without("positive"))
    if beside == "weighted":
        yield from (Reference(text, -1.0) for text in without("random"))
