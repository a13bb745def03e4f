"""`evaluate:PATH-or-ID[:FIELD]`: a module of Hugging Face evaluate as a metric, item by item.

A module is a script, its folder, or an id on the hub. Since a module is code, ids are loaded only from the library's
cache: download the module once with `evaluate.load`. The library runs a copy of the script and of the files that it
imports, and the digest is that of the copy. The module gets one response and its references, in the format that its
features describe; its arguments are options.

If a module raises an error, the item has no score if the response is blank or the error is a ValueError or an
ArithmeticError. Any other error, or an error for every item, fails the metric.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.dataset import Item
from benchmarks.errors import nearest
from metrics.errors import BadOption, BrokenPlugin, MetricError, MissingResource, in_one_line
from metrics.metric import Columns, Metric, MetricCard, variant
from metrics.models.resources import digest_of
from metrics.models.service import Models
from metrics.paths import label
from metrics.text.words import Aggregation, over_references, reference_groups, reply, unscored

ITEM_ERRORS = (ValueError, ArithmeticError)
"""Errors of a module that leave an item without a score."""
RESPONSES = ("predictions", "data")
"""Names of the scored text; measurements call it data."""
TRIAL = "Green tea, please.", ("Green tea, please.",)
PLAIN_TYPES = (bool, int, float, str, type(None))


@dataclass(frozen=True, slots=True)
class EvaluateModule:
    """The number that compute() returns for each response; set `negated` if lower is better.

    `standard` passes all references as a list, or uses the best if the module accepts one reference.
    """

    card: ClassVar[MetricCard]
    module: ClassVar[Any]
    """Return the module; the first call downloads and prepares the data that it needs."""
    digest: ClassVar[str]
    response_field: ClassVar[str]
    takes_lists: ClassVar[bool | None]
    """Whether the module takes references as lists; None if it takes no references."""
    arguments: ClassVar[Mapping[str, Any]]
    """The module's own arguments and their defaults."""
    field: ClassVar[str]
    names: ClassVar[tuple[str, ...]]
    """Names of the module; if no field is requested, the number with one of these names is used."""
    references: Aggregation = "standard"
    negated: bool = False

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the module's number per item; NaN if it needs references and the item has only blank ones."""
        column = unscored(1, len(items))[0]
        failures: list[MetricError] = []
        for row, response, references in self._texts(items):
            try:
                column[row] = self._number(response, references)
            except MetricError:
                raise
            except Exception as error:
                failure = MetricError(f"{self.card.name}: item {items[row].id}: {in_one_line(error, 1000)}")
                if response.strip():
                    failures.append(failure)
                    if not isinstance(error, ITEM_ERRORS):
                        raise failure from error
        if failures and not np.isfinite(column).any():
            raise failures[0]
        return {self.card.name: column}

    def check_field(self) -> None:
        """Raise BadOption if the module's result for a trial text lacks the requested field."""
        try:
            self._compute(*TRIAL)
        except BadOption:
            raise
        except Exception:  # the trial text may not suit the module; a run reports the items on which it fails
            return

    def depends(self, models: Models) -> Mapping[str, str]:
        return {"asked": self.card.name, "evaluate": importlib.metadata.version("evaluate"), "code": self.digest[:12]}

    def _texts(self, items: Sequence[Item]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        if self.takes_lists is None:
            yield from ((row, reply(item), ()) for row, item in enumerate(items))
            return
        for references, replies in reference_groups(items, "first" if self.references == "first" else "max"):
            yield from ((row, response, tuple(reference.text for reference in references)) for row, response in replies)

    def _number(self, response: str, references: tuple[str, ...]) -> float:
        """Score a response with all its references if the module takes lists, else with each of them."""
        at_once = not references or (self.takes_lists and self.references == "standard")
        groups = [references] if at_once else [(reference,) for reference in references]
        numbers = [self._compute(response, group) for group in groups]
        return over_references([-value if self.negated else value for value in numbers], self.references)

    def _compute(self, response: str, references: Iterable[str]) -> float:
        response, *references = (text.encode("utf-8", "replace").decode() for text in (response, *references))
        inputs: dict[str, Any] = {self.response_field: [response]}  # without lone surrogates, which Arrow rejects
        if self.takes_lists is not None:
            inputs["references"] = [references if self.takes_lists else references[0]]
        options = {name: value for name, default in self.arguments.items()
                   if (value := getattr(self, name)) != default}
        return self._pick(self.module().compute(**inputs, **options))

    def _pick(self, result: Any) -> float:
        """Return the requested field, else the only number or the number with the module's name."""
        fields = result if isinstance(result, Mapping) else {"": result}
        numbers = {str(key): number for key, value in fields.items() if (number := _as_number(value)) is not None}
        if not numbers:
            raise BadOption(f"{self.card.name}: returns no number: {result!r:.80}")
        for name in [self.field] if self.field else list(numbers) if len(numbers) == 1 else self.names:
            if name in numbers:
                return numbers[name]
        why = f"returns no number {self.field!r}" if self.field else "returns several numbers; choose one as NAME:FIELD"
        raise BadOption(f"{self.card.name}: {why}; {nearest(self.field, numbers)}")


def metric_class(name: str) -> type[Metric]:
    """Return the metric of one module, with an option for each argument whose default is a plain value."""
    requested, field = _split(name)
    module = _instance(requested)
    response, takes_lists = _inputs(requested, module.features)
    stem, full_name = Path(requested).stem, label("evaluate", name)
    folder = Path(inspect.getfile(type(module))).parent  # the copy of the script and its imports that is run
    card = MetricCard(
        name=full_name, title=f"{stem} of Hugging Face evaluate", columns=(full_name,), family="evaluate",
        needs=() if takes_lists is None else ("references",),
        notes="Called item by item; data that its code loads by itself are not in the signature.")
    fixed = {*dir(EvaluateModule), *EvaluateModule.__annotations__, *RESPONSES}
    arguments = {
        name: default for name, parameter in inspect.signature(module._compute).parameters.items()
        if parameter.kind in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD} and name not in fixed
        and isinstance(default := None if parameter.default is parameter.empty else parameter.default, PLAIN_TYPES)}
    return variant(
        EvaluateModule,
        [(name, Any if default is None else type(default), default) for name, default in arguments.items()],
        card=card, module=staticmethod(functools.cache(lambda: _ready(module))), response_field=response, field=field,
        digest=digest_of(folder, folder.rglob("*.py")), takes_lists=takes_lists, arguments=arguments,
        names=(stem, str(module.name)))


def _ready(module: Any) -> Any:
    with contextlib.redirect_stdout(sys.stderr):
        module.download_and_prepare()
    return module


def _as_number(value: Any) -> float | None:
    """Return a number, or the only number in a list; None for any other value."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list | tuple) and len(plain) == 1:
        return _as_number(plain[0])
    return float(plain) if isinstance(plain, bool | int | float) else None


def _split(name: str) -> tuple[str, str]:
    """Split `PATH`, `ID`, `PATH:FIELD` or `ID:FIELD` into module and field; a path may contain colons."""
    head, _, last = name.rpartition(":")
    return (head, last) if head and last and not set(last) & set("/\\") and not _exists(name) else (name, "")


def _exists(name: str) -> bool:
    try:
        return Path(name).expanduser().exists()
    except (OSError, RuntimeError):  # too long, or the home of an unknown user
        return False


def _instance(requested: str) -> Any:
    """Load a module, seeded so that it returns the same scores in every process."""
    if importlib.util.find_spec("evaluate") is None:
        raise MissingResource("evaluate is not installed: pip install 'dialogue-harness[all]'")
    is_file = _exists(requested)
    try:
        with _offline(), contextlib.redirect_stdout(sys.stderr):
            from evaluate import loading

            module_file = loading.evaluation_module_factory(str(Path(requested).expanduser()) if is_file else requested)
            kind = loading.import_main_class(module_file.module_path)
            module = kind(hash=module_file.hash, keep_in_memory=True) if kind else None
    except (Exception, SystemExit) as error:
        raise _load_error(requested, is_file, error) from error
    if module is None:
        raise BrokenPlugin(f"evaluate:{requested:.80}: has no subclass of evaluate.Metric")
    module.seed = 0
    return module


def _load_error(requested: str, is_file: bool, error: BaseException) -> MetricError:
    """Return the error for a module that could not be loaded; third-party code can raise any exception."""
    message = in_one_line(error, 300)
    if isinstance(error, ImportError):
        return MissingResource(f"evaluate:{requested:.80}: {message}")
    if isinstance(error, OSError) and not is_file:
        return MissingResource(f"evaluate:{requested:.80}: no such script, and no module of that id in evaluate's "
                               "cache; it is code that runs on this machine, so fetch it yourself: evaluate.load(ID)")
    return BrokenPlugin(f"evaluate:{requested:.80}: cannot be loaded: {message}")


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Keep the library from contacting the hub, and from warning that it did not."""
    from unittest import mock  # imports asyncio

    with warnings.catch_warnings(action="ignore"):
        import evaluate
        from evaluate import config

    level = evaluate.logging.get_verbosity()
    evaluate.logging.set_verbosity_error()
    try:
        with mock.patch.object(config, "HF_EVALUATE_OFFLINE", True):
            yield
    finally:
        evaluate.logging.set_verbosity(level)


def _inputs(requested: str, features: Any) -> tuple[str, bool | None]:
    """Return the name of the response, and whether references are passed as lists; None if there are none."""
    alternatives = features if isinstance(features, list) else [features]
    formats = list(filter(None, map(_inputs_of, alternatives)))
    if not formats:
        taken = "; or ".join(" ".join(str(inputs).split()) for inputs in alternatives)
        raise BrokenPlugin(f"evaluate:{requested:.80}: takes {taken:.300}; expected a response and references, as "
                           "strings")
    return max(formats, key=lambda inputs: inputs[1] is True)


def _inputs_of(features: Any) -> tuple[str, bool | None] | None:
    """Return the inputs of one alternative, as `_inputs` does; None if it takes anything else."""
    response = next((name for name in RESPONSES if name in features), "")
    if not response or set(features) - {response, "references"} or not _is_text(features[response]):
        return None
    if "references" not in features:
        return response, None
    references = features["references"]
    if _is_text(references):
        return response, False
    inner = references[0] if isinstance(references, list) and references else getattr(references, "feature", None)
    return (response, True) if _is_text(inner) else None


def _is_text(feature: Any) -> bool:
    return getattr(feature, "dtype", "") in {"string", "large_string"}
