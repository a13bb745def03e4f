"""The checks of the contract; each returns a remark, or raises Broken or Note."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.dataset import Item, Level
from harness.contract.trial import Broken, Note, Trial, dataset_of, hard_cases, hard_dataset, hard_dialogues
from harness.run.correlate import judged
from harness.scoring import score
from harness.statistics.coefficients import spearmans
from metrics import registry
from metrics.errors import CannotScore, MissingResource
from metrics.metric import as_metric, line, signature

SEED = 7
BATCHES = (1, 7, 64)
MIN_CORRELATION = -0.15
"""A mean correlation with the sample's ratings below this is not due to chance."""
MANY_ITEMS = 10_000


def complete_card(trial: Trial) -> str:
    """The card is complete, and the signature is one line."""
    card = trial.metric.card
    if ":" not in card.name:  # cards of other libraries' metrics are generated
        as_metric(type(trial.metric))
    if missing_fields := [name for name in ("title", "family") if not getattr(card, name)]:
        raise Broken(f"the card has no {' and no '.join(missing_fields)}")
    if not (card.paper or card.notes):
        raise Broken("the card has neither a paper nor notes: say what the metric measures")
    signed = line(signature(trial.metric, trial.models))
    if not signed.isprintable():
        raise Broken(f"its signature is not one line of printable characters: {signed!r:.100}")
    other_columns = [(name, registry.card(name).columns) for name in registry.names() if name != card.name]
    if shared := [(column, name) for name, columns in other_columns for column in card.columns if column in columns]:
        raise Note(f"its column {shared[0][0]!r} has the same name as one of {shared[0][1]}; tables show "
                   f"{card.name}/{shared[0][0]}")
    return (f"{card.name}, columns {', '.join(card.columns)}, levels {', '.join(card.levels)}, needs "
            f"{', '.join((*card.needs, *card.resources, *card.models)) or 'nothing'}")


def sample(trial: Trial) -> str:
    """The columns on the bundled sample are as promised, finite or NaN, and not all NaN."""
    scored, reasons = trial.scored_sample
    for dataset, columns in scored:
        score.check_qualities(dataset, columns)
    values = {name: np.concatenate([np.empty(0), *(scores[name] for _, scores in scored)])
              for name in trial.metric.card.columns}
    finite = {name: column[np.isfinite(column)] for name, column in values.items()}
    count = sum(column.size for column in finite.values())
    if not count:
        raise Broken(f"scores no item: {reasons[0] if reasons else 'every value is NaN'}")
    if constant := [name for name, column in finite.items() if np.unique(column).size == 1]:
        raise Note(f"{', '.join(constant)}: the same for every item, so it cannot correlate with ratings")
    return (f"{count} of {sum(column.size for column in values.values())} values are numbers, on "
            f"{', '.join(dataset.card.name for dataset, _ in scored)}")


def process_state(trial: Trial) -> str:
    """Scoring leaves the process as it was, and writes nothing to standard output, which belongs to the harness."""
    dataset = next((dataset for dataset in trial.sample if not score.unmet(trial.metric, dataset)), trial.sample[0])
    before = _process_state()
    with contextlib.chdir("."), contextlib.redirect_stdout(io.StringIO()) as printed:
        trial.metric.score(score.read_items(trial.metric, dataset), trial.models)
        after = _process_state()
    if changed := sorted(name for name in before if before[name] != after.get(name)):  # imports add variables
        raise Broken(f"changes {', '.join(changed[:3])}, which other metrics in this process share; restore it before "
                     "`score` returns")
    if text := printed.getvalue().strip():
        raise Note(f"prints to standard output: {text.splitlines()[0]!r:.80}; write to sys.stderr instead")
    return "working directory, environment and default type are as before; nothing on standard output"


def _process_state() -> dict[str, str]:
    torch = sys.modules.get("torch")
    return {"the working directory": str(Path.cwd()),
            "torch's default type": str(torch.get_default_dtype()) if torch else "torch.float32",
            **{f"the environment variable {name}": value for name, value in os.environ.items()}}


def direction(trial: Trial) -> str:
    """Scores rise where people rate higher, on average over the qualities of the sample."""
    values: dict[str, list[float]] = {}
    for dataset, scores in trial.scored_sample[0]:
        for target in judged(dataset, dataset.card.qualities):
            for name, column in scores.items():
                rows = np.isfinite(target.means) & np.isfinite(column)
                rho = spearmans(target.means[None, rows], column[None, rows])[0] if rows.sum() > 2 else np.nan
                values.setdefault(name, []).append(rho)
    with warnings.catch_warnings(action="ignore"):
        means = {name: float(np.nanmean(rhos)) for name, rhos in values.items()}
    if negative := [f"{name} {mean:.2f}" for name, mean in means.items() if mean < MIN_CORRELATION]:
        raise Note(f"agrees negatively with the sample's ratings ({', '.join(negative)}); higher must be better")
    return "mean correlation with the sample's ratings: " + ", ".join(f"{name} {mean:.2f}"
                                                                      for name, mean in list(means.items())[:3])


def speed(trial: Trial) -> str:
    """Measure the speed, with models loaded."""
    datasets = [dataset for dataset, _ in trial.scored_sample[0]]  # scored once, so models are loaded
    items = sum(len(dataset.items) for dataset in datasets)
    start = time.perf_counter()
    for dataset in datasets:
        trial.scored(dataset)
    seconds = max(time.perf_counter() - start, 1e-9)
    minutes = MANY_ITEMS * seconds / items / 60
    warning = f"; {MANY_ITEMS:,} items would take {minutes:,.0f} minutes" if seconds > items / 100 else ""
    raise Note(f"{items / seconds:,.0f} items per second over {items}{warning}")


def case(items: Sequence[Item], level: Level, trial: Trial) -> str:
    """Odd items, or dialogues of 1 to 500 utterances, get a score or NaN."""
    dataset = dataset_of(items, level)
    if unmet_need := score.unmet(trial.metric, dataset):
        kind = "item" if level == "turn" else "dialogue"
        raise Note(f"not scored: no {kind} has {unmet_need}, which the card needs")
    scored = int(np.any([np.isfinite(column) for column in trial.scored(dataset).values()], axis=0).sum())
    return f"{scored} of {len(items)} items have a number" + (", the others NaN" if scored < len(items) else "")


def missing(trial: Trial) -> str:
    """An item that lacks what the metric needs scores NaN."""
    lacks = {"references": ("without references", "bare"), "context": ("without context", "bare"),
             "facts": ("bare",)}
    needs = trial.metric.card.needs
    if not needs:
        raise Note("the metric needs no references, facts or context")
    dataset, scores = trial.scored_hard_cases
    rows = {item.id: row for row, item in enumerate(dataset.items)}
    for name, column in scores.items():
        for need in needs:
            for item in lacks[need]:
                if not np.isnan(value := column[rows[item]]):
                    raise Broken(f"item {item!r} has no {need}, but {name} is {value:.9g}; expected NaN")
    return f"NaN without {' or '.join(needs)}"


def permuted(trial: Trial) -> str:
    """Permuting the items permutes the scores."""
    dataset, scores = trial.scored_hard_cases
    order = np.random.default_rng(SEED).permutation(len(dataset.items))
    items = [dataset.items[index] for index in order]
    return trial.compare(items, {name: column[order] for name, column in scores.items()},
                         trial.scored(dataset_of(items)), "in another order")


def _advice(trial: Trial) -> str:
    """Suggest why an item scores differently alone: a missing need, else perhaps the other items."""
    try:
        missing(trial)
    except Broken:
        return '; fix "what is missing" first'
    except Note:
        pass
    return '; if scores depend on other items, set scope="dataset" in the card'


def batched(trial: Trial) -> str:
    """Items score the same alone or in batches, unless the card has scope="dataset"."""
    if trial.metric.card.scope == "dataset":
        raise Note("not tried: the card says that a score depends on the other items of the dataset")
    parts = [(trial.scored_hard_cases, 1), *((trial.first_scored, size) for size in BATCHES)]
    texts = [trial.compare(dataset.items, scores, trial.scored_in_batches(dataset, size),
                           "alone" if size == 1 else f"in batches of {size}", _advice(trial))
             for (dataset, scores), size in parts]
    return "; ".join(dict.fromkeys(texts))


def repeated(trial: Trial) -> str:
    """The same items score the same again, after other items and without the network."""
    dataset, before = trial.first_scored
    trial.scored(hard_dataset())
    return without_network(
        lambda: trial.compare(dataset.items, before, trial.scored(dataset), "the second time"))


def without_network(compare: Callable[[], str]) -> str:
    """Return the outcome of a comparison; raise Broken if the metric opens a connection during it."""
    with _no_network() as requested:
        try:
            text = compare()
        except (CannotScore, MissingResource) as error:
            raise Note(f"has no scores without the network: {error}") from error
        except Exception as error:  # raised by the metric because its connection was refused
            if not requested:
                raise
            text = str(error)
    if requested:
        raise Broken(f"connects to {', '.join(sorted(requested)[:3])}: metrics must not use the network; `models` has "
                     f"models and resources (without the network: {text})")
    return f"this process opens no connection; {text}"


@contextlib.contextmanager
def _no_network() -> Iterator[set[str]]:
    """Refuse every connection of this process, and record the addresses."""
    requested: set[str] = set()

    def refuse(host: Any, port: Any = "", *_: Any, **__: Any) -> None:
        requested.add(f"{host}:{port}")
        raise OSError("the network is off while the contract is checked")

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def guard(connection: socket.socket, *arguments: Any) -> Any:
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                refuse(*arguments[-1])  # the address
            return call(connection, *arguments)

        return guard

    connect, sendto = guarded(socket.socket.connect), guarded(socket.socket.sendto)
    with (mock.patch.multiple(socket.socket, connect=connect, connect_ex=connect, sendto=sendto),
          mock.patch.object(socket, "getaddrinfo", refuse)):
        yield requested


CHECKS: dict[str, Callable[[Trial], str]] = {
    "card": complete_card,
    "process state": process_state,
    "sample": sample,
    "direction": direction,
    "speed": speed,
    **{name: functools.partial(case, items, "turn") for name, items in hard_cases().items()},
    "whole dialogues": functools.partial(case, hard_dialogues(), "dialogue"),
    "what is missing": missing,
    "permuted items": permuted,
    "batches of 1, 7 and 64": batched,
    "repeated runs": repeated,
}
"""Every check by name, in order."""
