"""A metric under test, scored on the bundled sample and on items that tend to break metrics."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import registry as datasets
from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Item, Level, Reference, Source, Utterance
from harness.scoring import score
from metrics.errors import BadScores, CannotScore, MetricError, MissingResource, in_one_line, line_of
from metrics.metric import Column, Metric
from metrics.models.service import Models

TOLERANCE = 1e-4
"""Tolerated difference between two scores of an item, relative to the largest of the two and the column's median.

Rounding of networks in single precision depends on the rest of the batch; nothing else may make a difference.
"""

ScoredColumns = Mapping[str, Column]
ODD_TEXTS: dict[str, tuple[str, ...]] = {
    "empty response": ("",),
    "whitespace only": (" ", "\t\n", "\u3000"),
    "punctuation and single letters": (".", "?!", "a", "-\nx", "3.5 % of $1,000-2,000", "don't can't won't"),
    "repeated words": ("na na na na na", "ok " * 2000),
    "Arabic and Hebrew": ("مرحبا ، كيف حالك اليوم ؟", "ירושלים مرحبا"),
    "Chinese and Japanese": ("你好，你今天怎么样？", "日本語のテキスト です"),
    "emoji": ("🙂🙃 🙂", "👩‍👩‍👧‍👦 🏳️‍🌈 ❤️"),
    "combining marks": ("émigré naïve café", "e\u0301 n\u0303 Z\u0351\u036b\u0343", "İstanbul ǅ ß"),
    "control characters": ("a\u202eb\u0000c", "\x00\x07\x1b[31m", "cut \ud800 short"),
    "markup": ("<b>&amp;</b> <skipped>",),
    "very long texts": ("x" * 100_000, "word " * 20_000),
}
HARD_CARD = DatasetCard("hard-cases", "Hard cases", "dev", "turn", (), 0, (Source("made here"),), "Apache-2.0", "none")
FACTS = ("I like tea.",)


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check; the state is ok, BROKEN or note."""

    check: str
    state: str
    text: str


class Broken(Exception):
    """A check failed; the message names the item and the numbers."""


class Note(Exception):
    """A check has a remark, or was not tried."""


@dataclass(frozen=True)
class Trial:
    """A metric with its models; differences up to `tolerance` are rounding."""

    metric: Metric
    models: Models
    tolerance: float = TOLERANCE

    @functools.cached_property
    def sample(self) -> tuple[Dataset, ...]:
        """The bundled sample of four datasets, turns and dialogues, with references and without."""
        return tuple(datasets.sample(datasets.card(name)) for name in ("dstc7", "fed-turn", "topical-usr", "fed-dial"))

    @functools.cached_property
    def scored_sample(self) -> tuple[list[tuple[Dataset, ScoredColumns]], list[CannotScore]]:
        """The scored datasets of the sample, and the errors of the others.

        Raises CannotScore if no item of the sample has the fields that the metric needs.
        """
        scored: list[tuple[Dataset, ScoredColumns]] = []
        reasons: list[CannotScore] = []
        scorable = [dataset for dataset in self.sample if not score.unmet(self.metric, dataset)]
        if not scorable:
            raise CannotScore(f"no item of the sample has {' and '.join(self.metric.card.needs)}")
        for dataset in scorable:
            try:
                scored.append((dataset, self.scored(dataset)))
            except CannotScore as error:
                reasons.append(error)
        return scored, reasons

    @property
    def first_scored(self) -> tuple[Dataset, ScoredColumns]:
        """The first scored dataset of the sample with its scores; raises CannotScore if there is none."""
        scored, reasons = self.scored_sample
        if not scored:
            raise CannotScore(f"no dataset of the sample could be scored: {reasons[0]}")
        return scored[0]

    @functools.cached_property
    def scored_hard_cases(self) -> tuple[Dataset, ScoredColumns]:
        dataset = hard_dataset()
        return dataset, self.scored(dataset)

    def scored(self, dataset: Dataset) -> ScoredColumns:
        """Return checked columns; raise CannotScore, MissingResource, or Broken for any other failure."""
        try:
            return score.score(self.metric, dataset, self.models).columns
        except (CannotScore, MissingResource, KeyboardInterrupt):
            raise
        except BadScores as error:
            raise Broken(str(error)) from error
        except BaseException as error:  # including SystemExit
            where = f"{line_of(error, self.metric)}{self._name_crashing_item(dataset)}"
            raise Broken(f"raises {in_one_line(error, 200)}{where}") from error

    def scored_in_batches(self, dataset: Dataset, size: int) -> ScoredColumns:
        """Score a dataset in batches; NaN where a batch cannot be scored."""
        columns: dict[str, Column] = {}
        for start in range(0, len(dataset.items), size):
            batch = Dataset(dataset.card, dataset.items[start : start + size], (), dataset.origin)
            with contextlib.suppress(CannotScore):
                scored = {} if score.unmet(self.metric, batch) else self.scored(batch)
                for name, column in scored.items():
                    columns.setdefault(name, np.full(len(dataset.items), np.nan))[start : start + size] = column
        return columns

    def compare(self, items: Sequence[Item], before: ScoredColumns, after: ScoredColumns, condition: str,
                hint: str = "") -> str:
        """Describe the largest difference between the scores before and after.

        Raise Broken, naming the condition and the hint, if a difference exceeds the tolerance.
        """
        largest, item_id = 0.0, ""
        for name, column in before.items():
            values_after = after.get(name, np.full(len(column), np.nan))
            gap = np.abs(column - values_after)
            gap[np.isnan(column) & np.isnan(values_after)] = 0
            finite = np.abs(column[np.isfinite(column)])
            allowed = self.tolerance * np.fmax(np.fmax(np.abs(column), np.abs(values_after)),
                                               np.median(finite) if finite.size else 0)
            row = int(np.argmax(np.where(np.isnan(gap), np.inf, gap - allowed)))
            if not gap[row] <= allowed[row]:
                raise Broken(f"item {items[row].id!r} has {name} {column[row]:.9g}, but {values_after[row]:.9g} "
                             f"{condition}{hint}")
            if gap.max() > largest:
                largest, item_id = float(gap.max()), items[int(np.argmax(gap))].id
        return f"equal within rounding: at most {largest:.1g} apart (item {item_id!r})" if largest else "exactly equal"

    def _name_crashing_item(self, dataset: Dataset) -> str:
        """Name the first item that crashes the metric when scored by itself; "" if there is none."""
        for item in dataset.items:
            try:
                score.score(self.metric, dataclasses.replace(dataset, items=(item,), fingerprint=""), self.models)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if not isinstance(error, MetricError):
                    return f" for item {item.id!r}"
        return ""


def _items_with(text: str, name: str) -> tuple[Item, ...]:
    """Return items with an odd text as response, reference or context, and plain texts in the other fields."""
    reply, greeting = "a good reply to you", "hello there"
    texts_by_field = {
        "response": (text, reply, greeting), "reference": (reply, text, greeting), "context": (reply, reply, text)}
    return tuple(_item(f"{name}{field}", response, (reference,), (context,))
                 for field, (response, reference, context) in texts_by_field.items())


def _item(name: str, response: str, references: Sequence[str] = ("a good reply to you",),
          context: Sequence[str] = ("hello there",)) -> Item:
    """Return an item whose context alternates between the speakers and ends with the user."""
    turns = [Utterance(USER if back % 2 == 0 else SYSTEM, text) for back, text in enumerate(reversed(context))]
    return Item(name, tuple(turns[::-1]), Utterance(SYSTEM, response), tuple(map(Reference, references)), FACTS, "bot")


def hard_cases() -> dict[str, tuple[Item, ...]]:
    odd_items = {name: tuple(case for number, text in enumerate(texts, 1)
                             for case in _items_with(text, f"{name} {number} as "))
                 for name, texts in ODD_TEXTS.items()}
    response, context = Utterance(SYSTEM, "hello there"), (Utterance(USER, "what now ?"),)
    return odd_items | {
        "no references": (Item("without references", context, response, (), FACTS),
                          _item("blank reference", "well", (" ",)),
                          _item("several references", "well", ("a good reply", "", "another reply"))),
        "no context": (Item("without context", (), response, (Reference("hello"),), FACTS),
                       _item("blank context", "well", context=(" ",))),
        "nothing but a response": (Item("bare", (), response),),
        "one utterance": (_item("one utterance before", "well", context=("hi",)),),
        "500 utterances": (_item("500 utterances", "well", context=("what now ?", "not much .") * 249 + ("and ?",)),),
    }


def hard_dataset() -> Dataset:
    """Return a dataset of all hard cases and a plain item."""
    return dataset_of((_item("plain", "yes , i like tea"), *itertools.chain.from_iterable(hard_cases().values())))


def hard_dialogues() -> tuple[Item, ...]:
    """Return dialogues of one, two and 500 utterances, and a dialogue between named people."""
    turns = tuple(Utterance((USER, SYSTEM)[index % 2], f"line {index} is here") for index in range(500))
    return (Item("one", turns[:1], None), Item("two", turns[:2], None), Item("all", turns, None),
            Item("people", (Utterance("Ann", "hi"), Utterance("Bob", "hello you there")), None))


def dataset_of(items: Sequence[Item], level: Level = "turn") -> Dataset:
    return Dataset(dataclasses.replace(HARD_CARD, level=level, size=len(items)), tuple(items), (), "sample")
