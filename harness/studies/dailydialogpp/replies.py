"""Every reply of DailyDialog++ as an item, with one reference, several, or none.

The k-th reply of each kind is compared with all relevant replies except the k-th: a relevant one with the other four,
and an irrelevant one with four as well, since the best of five would favour it. The reference of `single` is drawn
from these, once for the k-th replies of all three kinds. ΔBLEU also gets all random replies except the k-th, with
weight -1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.corpora.dailydialogpp import URL, Context, Kind
from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Quality, Reference, Source, Utterance

References: TypeAlias = Literal["none", "single", "several", "weighted"]

KINDS: tuple[Kind, ...] = ("positive", "random", "adversarial")


@dataclass(frozen=True, slots=True)
class Replies:
    """The items of contexts as a dataset, with the kind and the context number of each item."""

    dataset: Dataset
    kinds: np.ndarray[tuple[int], np.dtype[np.str_]]
    contexts: np.ndarray[tuple[int], np.dtype[np.int64]]


def make_replies(name: str, contexts: Sequence[Context], references: References, seed: int,
                 kinds: Sequence[Kind] = KINDS, change: Callable[[str], str] = str) -> Replies:
    """Return all replies of these kinds, context by context, with `change` applied to each."""
    rows = [(kind, number, Item(f"{context.name}_{kind}_{k}", context.utterances, Utterance(SYSTEM, change(text)),
                                tuple(_references(context, k, references, seed))))
            for number, context in enumerate(contexts) for kind in kinds
            for k, text in enumerate(context.replies[kind])]
    items = tuple(item for _, _, item in rows)
    card = DatasetCard(
        name=name, title="DailyDialog++", split="test", level="turn", qualities=(Quality("relevance", 0, 1),),
        size=len(items), sources=(Source(URL),), licence="none stated", citation="Sai et al. 2020")
    return Replies(Dataset(card, items, (), "imported"),
                   np.array([kind for kind, _, _ in rows]), np.array([number for _, number, _ in rows], np.int64))


def _references(context: Context, k: int, references: References, seed: int) -> Iterator[Reference]:
    def without_kth(kind: Kind) -> list[str]:
        replies = context.replies[kind]
        return [text for index, text in enumerate(replies) if index != k % len(replies)]

    relevant = without_kth("positive")
    if references == "single":
        digest = int.from_bytes(hashlib.sha256(f"{context.name}_{k}".encode()).digest()[:8])
        yield Reference(relevant[int(np.random.default_rng([seed, digest]).integers(len(relevant)))])
    elif references != "none":
        yield from map(Reference, relevant)
    if references == "weighted":
        yield from (Reference(text, -1.0) for text in without_kth("random"))
