"""`evaluate:PATH-or-ID[:FIELD]`: a module of Hugging Face evaluate as a metric, item by item.

A script or its folder is loaded by the library from where it lies. An id of the hub is code, so it is taken from the
library's cache alone: who asks for it has fetched it before, by `evaluate.load`. The module is called with one
response and its references as its features want them; its own arguments are options.

Where a module raises an error the item is missing if the texts are blank, or if the error is a ValueError or an
ArithmeticError, which say that this value has no score. Any other error, and one for every item, is a crash.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from benchmarks.dataset import Item
from benchmarks.errors import nearest
from metrics.errors import BadOption, MetricError
from metrics.external.libraries.scripts import Script, find
from metrics.metric import Columns, Metric, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, over_references, reply, sharing, unscored

EXCUSED = (ValueError, ArithmeticError)
"""Errors by which a module says that one item has no score."""


@dataclass(frozen=True, slots=True)
class EvaluateModule:
    """The number that compute() gives for a response alone; `negated` where less of it is better.

    `standard` hands over all references as a list, and takes the best where the module takes but one.
    """

    card: ClassVar[MetricCard]
    script: ClassVar[Script]
    field: ClassVar[str]
    references: Aggregation = "standard"
    negated: bool = False

    def score(self, items: Sequence[Item], models: Models) -> Columns:  # noqa: ARG002
        """The module's number per item; NaN without a reference that holds text, where it wants one."""
        column = unscored(1, len(items))[0]
        refused: list[MetricError] = []
        for row, response, references in self._texts(items):
            try:
                column[row] = self._number(response, references)
            except MetricError:
                raise
            except Exception as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                failure = MetricError(f"{self.card.name}: item {items[row].id}: {reason}")
                if response.strip():
                    refused.append(failure)
                    if not isinstance(error, EXCUSED):
                        raise failure from error
        if refused and not np.isfinite(column).any():
            raise refused[0]
        return {self.card.name: column}

    def depends(self, models: Models) -> tuple[str, ...]:  # noqa: ARG002
        """The version of the library and the digest of the module's code."""
        return (f"asked={self.card.name}", f"evaluate={self.script.library}", f"code={self.script.digest[:12]}")

    def _texts(self, items: Sequence[Item]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        if not self.script.wants_references:
            yield from ((row, reply(item), ()) for row, item in enumerate(items))
            return
        for together, replies in sharing(items, "first" if self.references == "first" else "max"):
            for row, response in replies:
                yield row, response, tuple(reference.text for reference in together)

    def _number(self, response: str, references: tuple[str, ...]) -> float:
        one_call = not references or (self.script.takes_lists and self.references == "standard")
        calls = [references] if one_call else [(reference,) for reference in references]
        numbers = [self._picked(self.script.compute(response, some, self._arguments())) for some in calls]
        return over_references([-value if self.negated else value for value in numbers], self.references)

    def _arguments(self) -> dict[str, Any]:
        """The module's own arguments that were set."""
        own = [field for field in dataclasses.fields(self) if field.name in self.script.arguments]
        return {field.name: value for field in own if (value := getattr(self, field.name)) != field.default}

    def _picked(self, result: Any) -> float:
        """The field that was named; else the only number, or the one named as the module."""
        fields = result if isinstance(result, Mapping) else {"": result}
        numbers = {str(key): number for key, value in fields.items() if (number := _as_number(value)) is not None}
        if not numbers:
            raise BadOption(f"{self.card.name}: gives no number, but {result!r:.80}")
        wanted = [self.field] if self.field else list(numbers) if len(numbers) == 1 else self.script.names
        for name in wanted:
            if name in numbers:
                return numbers[name]
        why = f"has no number {self.field!r}" if self.field else "gives several numbers, so say which as NAME:FIELD"
        raise BadOption(f"{self.card.name}: {why}; {nearest(self.field, numbers)}")


def metric_class(name: str) -> type[Metric]:
    """The metric of one module, with an option for each of its arguments that has a plain default."""
    script, field = find(name)
    full_name = f"evaluate:{name}"
    card = MetricCard(
        name=full_name, title=f"{script.names[0]} of Hugging Face evaluate", columns=(full_name,), family="evaluate",
        needs=("references",) if script.wants_references else (),
        notes="Called item by item; what its code loads by itself is not in the signature.")
    taken = {*dir(EvaluateModule), *EvaluateModule.__annotations__}
    own = [(name, kind, dataclasses.field(default=default)) for name, (kind, default) in script.arguments.items()
           if name not in taken]
    namespace = {"card": card, "script": script, "field": field, "__module__": __name__}
    made = dataclasses.make_dataclass("EvaluateModule", own, bases=(EvaluateModule,), namespace=namespace, frozen=True,
                                      slots=True)
    return cast("type[Metric]", made)


def _as_number(value: Any) -> float | None:
    """The number that a value is or, as a list of one, holds; None where it is none."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list | tuple) and len(plain) == 1:
        return _as_number(plain[0])
    return float(plain) if isinstance(plain, bool | int | float) else None
