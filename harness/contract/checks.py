"""The checks of the contract; each turns a trial into a finding."""

from __future__ import annotations

import contextlib
import functools
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.dataset import Item, Level
from harness.contract import hard
from harness.contract.trial import Broken, Finding, Trial
from harness.scoring import score
from metrics.errors import CannotScore, MissingResource
from metrics.metric import Column, as_metric, signature

Check = Callable[[Trial], Finding]
SEED = 7
BATCHES = (1, 7, 64)
OTHERS = "not tried: the card says that a score depends on the other items of the dataset"


def speed(trial: Trial) -> Finding:
    """Measure the speed, with models loaded."""
    names = [name for name, scores in trial.sampled.items() if not isinstance(scores, CannotScore)]  # loads and scores
    datasets = [dataset for dataset in trial.scorable if dataset.card.name in names]
    items = sum(len(dataset.items) for dataset in datasets)
    start = time.perf_counter()
    for dataset in datasets:
        trial.scored(dataset)
    return Finding("", "note", f"{items / max(time.perf_counter() - start, 1e-9):,.0f} items per second over {items}")


def complete_card(trial: Trial) -> Finding:
    """The card is complete, and the signature is one line."""
    as_metric(type(trial.metric))
    card = trial.metric.card
    if lacking := [name for name in ("title", "family") if not getattr(card, name)]:
        raise Broken(f"the card has no {' and no '.join(lacking)}")
    if not (card.paper or card.notes):
        raise Broken("the card has neither a paper nor notes: say what the metric measures")
    signed = signature(trial.metric, trial.models)
    if not signed.isprintable():
        raise Broken(f"its signature is not one line of printable signs: {signed!r:.100}")
    return Finding("", "ok", f"{card.name}, columns {', '.join(card.columns)}, levels {', '.join(card.levels)}, needs "
                             f"{', '.join((*card.needs, *card.resources, *card.models)) or 'nothing'}")


def sample(trial: Trial) -> Finding:
    """The columns on the bundled sample are as promised, finite or NaN, and not all NaN."""
    scored = {name: scores for name, scores in trial.sampled.items() if not isinstance(scores, CannotScore)}
    reasons = [str(error) for error in trial.sampled.values() if isinstance(error, CannotScore)]
    columns = [column for scores in scored.values() for column in scores.values()]
    numbers, values = sum(int(np.isfinite(column).sum()) for column in columns), sum(map(len, columns))
    if not numbers:
        reason = reasons[0] if reasons else f"every value is NaN on {', '.join(scored)}"
        raise Broken(f"scores no item at all: {reason}")
    if same := [name for name in trial.metric.card.columns if _constant(scores[name] for scores in scored.values())]:
        return Finding("", "note", f"{', '.join(same)}: the same for every item, so it cannot agree with anyone")
    return Finding("", "ok", f"{numbers} of {values} values are numbers, on {', '.join(scored)}")


def _constant(columns: Iterable[Column]) -> bool:
    """Return True if all scores of all columns are equal."""
    values = np.concatenate(list(columns))
    return np.unique(values[np.isfinite(values)]).size == 1


def case(items: Sequence[Item], level: Level, trial: Trial) -> Finding:
    """Odd items get a score or NaN, alone or as dialogues of 1 to 500 utterances."""
    dataset = hard.dataset(items, level)
    if lacking := score.unmet(trial.metric, dataset):
        kind = "item" if level == "turn" else "dialogue"
        return Finding("", "note", f"not scored: no {kind} has {lacking}, which the card needs")
    scored = int(np.any([np.isfinite(column) for column in trial.scored(dataset).values()], axis=0).sum())
    return Finding("", "ok", f"{scored} of {len(items)} items have a number, the others NaN" if scored < len(items) else
                   f"{scored} {'items have' if scored > 1 else 'item has'} a number")


def missing(trial: Trial) -> Finding:
    """An item that lacks what the metric needs is NaN."""
    lacks = {"references": ("without references", "blank reference", "bare"), "context": ("without context", "bare"),
             "facts": ("bare",)}
    needs = trial.metric.card.needs
    if not needs:
        return Finding("", "note", "the card needs nothing of an item")
    dataset, scores = trial.hard
    for name, column in scores.items():
        rows = dict(zip((item.id for item in dataset.items), column.tolist(), strict=True))
        for need in needs:
            for item in lacks[need]:
                if rows[item] == rows[item]:
                    raise Broken(f"item {item!r} has no {need}, and {name} {rows[item]:.9g} where NaN is due")
    return Finding("", "ok", f"NaN without {' or '.join(needs)}")


def permuted(trial: Trial) -> Finding:
    """Permuting the items permutes the scores."""
    dataset, scores = trial.hard
    order = np.random.default_rng(SEED).permutation(len(dataset.items))
    items = [dataset.items[index] for index in order]
    after = trial.scored(hard.dataset(items))
    return Finding("", "ok", trial.compare(items, {name: column[order] for name, column in scores.items()}, after,
                                           "in another order"))


def standalone(trial: Trial) -> Finding:
    """An item scores the same by itself as among others, unless the card has scope="dataset"."""
    if trial.metric.card.scope == "dataset":
        return Finding("", "note", OTHERS)
    dataset, scores = trial.hard
    return Finding("", "ok", trial.compare(dataset.items, scores, trial.scored_in_batches(dataset, 1), "alone"))


def batched(trial: Trial) -> Finding:
    """The sample scores the same 1, 7 or 64 items at a time."""
    if trial.metric.card.scope == "dataset":
        return Finding("", "note", OTHERS)
    dataset, whole = trial.first
    texts = [trial.compare(dataset.items, whole, trial.scored_in_batches(dataset, size), f"in batches of {size}")
             for size in BATCHES]
    return Finding("", "ok", "; ".join(dict.fromkeys(texts)))


def repeated(trial: Trial) -> Finding:
    """The same items score the same again, after other items."""
    dataset, first = trial.first
    trial.scored(hard.awkward())
    return Finding("", "ok", trial.compare(dataset.items, first, trial.scored(dataset), "the second time"))


def offline(trial: Trial) -> Finding:
    """Without a network the scores are the same, or the metric refuses."""
    dataset, before = trial.first
    with _no_network() as requested:
        try:
            after = trial.scored(dataset)
        except (CannotScore, MissingResource) as error:
            return Finding("", "note", f"has no scores without the network: {error}")
    text = trial.compare(dataset.items, before, after, "without the network")
    if requested:
        return Finding("", "note", f"asks for {', '.join(sorted(requested)[:3])} and does without: {text}")
    return Finding("", "ok", f"asks for no connection; {text}")


@contextlib.contextmanager
def _no_network() -> Iterator[set[str]]:
    """Refuse every connection of this process, and record the addresses."""
    requested: set[str] = set()

    def refuse(*args: Any, **_: Any) -> Any:
        target = args[1] if isinstance(args[0], socket.socket) else args[:2]
        if isinstance(args[0], socket.socket) and args[0].family not in (socket.AF_INET, socket.AF_INET6):
            return original[0](*args)
        requested.add(":".join(map(str, target[:2])) if isinstance(target, tuple) else str(target))
        raise OSError("the network is off while the contract is tried")

    original = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo
    socket.socket.connect, socket.socket.connect_ex = refuse, refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse
    try:
        yield requested
    finally:
        socket.socket.connect, socket.socket.connect_ex = original[:2]  # type: ignore[method-assign]
        socket.getaddrinfo = original[2]


CHECKS: dict[str, Check] = {
    "card": complete_card,
    "sample": sample,
    "speed": speed,
    **{name: functools.partial(case, items, "turn") for name, items in hard.cases().items()},
    "whole dialogues": functools.partial(case, hard.dialogues(), "dialogue"),
    "what is missing": missing,
    "permuted items": permuted,
    "an item alone": standalone,
    "batches of 1, 7 and 64": batched,
    "repeated runs": repeated,
    "network off": offline,
}
"""Every check by name, in order."""
