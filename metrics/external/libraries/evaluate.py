"""`evaluate:PATH-or-ID[:FIELD]`: a module of Hugging Face evaluate as a metric, item by item.

A script or its folder is loaded by the library from where it lies. An id of the hub is code, so it is taken from the
library's cache alone: who asks for it has fetched it before, by `evaluate.load`; while a module is looked for the
library is offline. It copies a script beside the files it imports into a folder of its own and runs it from there; the
digest is that of the code in that folder. The module is called with one
response and its references as its features want them; its own arguments are options.

Where a module raises an error the item is missing if the texts are blank, or if the error is a ValueError or an
ArithmeticError, which say that this value has no score. Any other error, and one for every item, is a crash.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from benchmarks.dataset import Item
from benchmarks.errors import nearest
from metrics.errors import BadOption, BrokenPlugin, MetricError, MissingResource
from metrics.metric import Columns, Metric, MetricCard
from metrics.models.service import Models
from metrics.paths import label
from metrics.text.words import Aggregation, over_references, reply, sharing, unscored

EXCUSED = (ValueError, ArithmeticError)
"""Errors by which a module says that one item has no score."""

RESPONSES = ("predictions", "data")
"""What modules call the text that is scored: of measurements it is the data."""

PLAIN = (bool, int, float, str, type(None))


class Script:
    """A module of evaluate that scores texts, made ready when it is first called."""

    def __init__(self, requested: str, module: Any) -> None:
        self.names = (Path(requested).stem, str(module.name))
        self.response, self.takes_lists = _taken(requested, module.features)
        self._module = module

    @property
    def wants_references(self) -> bool:
        """Whether it compares the response with references."""
        return self.takes_lists is not None

    @cached_property
    def arguments(self) -> dict[str, tuple[Any, Any]]:
        """Its own arguments: their types, which is any where the default is None, and defaults."""
        arguments: dict[str, tuple[Any, Any]] = {}
        for parameter in inspect.signature(self._module._compute).parameters.values():
            default = None if parameter.default is parameter.empty else parameter.default
            by_name = parameter.kind in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD}
            if by_name and parameter.name not in {*RESPONSES, "references"} and isinstance(default, PLAIN):
                arguments[parameter.name] = (Any if default is None else type(default), default)
        return arguments

    @cached_property
    def digest(self) -> str:
        """The sha256 of the code that runs: the script and what was copied beside it."""
        folder = Path(inspect.getfile(type(self._module))).parent
        digest = hashlib.sha256()
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    @cached_property
    def library(self) -> str:
        """The version of the library."""
        return importlib.metadata.version("evaluate")

    def compute(self, response: str, references: Sequence[str], arguments: dict[str, Any]) -> Any:
        """What the module says of one response: all references as a list where it takes lists, else the first."""
        inputs: dict[str, Any] = {self.response: [response]}
        if self.wants_references:
            inputs["references"] = [list(references) if self.takes_lists else references[0]]
        return self._ready.compute(**inputs, **arguments)

    @cached_property
    def _ready(self) -> Any:
        """The module with what it loads for itself."""
        with contextlib.redirect_stdout(sys.stderr):
            self._module.download_and_prepare()
        return self._module


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
    full_name = label("evaluate", name)
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



def find(name: str) -> tuple[Script, str]:
    """The module of `PATH`, `ID`, `PATH:FIELD` or `ID:FIELD`, and the field; a path may hold colons."""
    if importlib.util.find_spec("evaluate") is None:
        raise MissingResource("evaluate is not installed; the extra [all] brings it")
    script, field = name, ""
    if not _exists(name):
        head, _, last = name.rpartition(":")
        if head and last and not set(last) & set("/\\"):
            script, field = head, last
    return Script(script, _instance(script)), field


def _exists(name: str) -> bool:
    try:
        return Path(name).expanduser().exists()
    except (OSError, RuntimeError):  # too long, or the home of nobody
        return False


def _instance(requested: str) -> Any:
    """The module's object, seeded, so that it gives the same in every process."""
    here = _exists(requested)
    try:
        with _offline(), contextlib.redirect_stdout(sys.stderr):
            from evaluate import loading

            module_file = loading.evaluation_module_factory(str(Path(requested).expanduser()) if here else requested)
            kind = loading.import_main_class(module_file.module_path)
            module = kind(hash=module_file.hash, keep_in_memory=True) if kind else None
    except (Exception, SystemExit) as error:
        raise _refusal(requested, here, error) from error
    if module is None:
        raise BrokenPlugin(f"evaluate:{requested:.80}: holds no class that is an evaluate.Metric")
    module.seed = 0
    return module


def _refusal(requested: str, here: bool, error: BaseException) -> MetricError:
    """Why a module could not be loaded: it is foreign code, which can raise anything."""
    message = f"{type(error).__name__}: {' '.join(str(error).split()):.300}"
    if isinstance(error, ImportError):
        return MissingResource(f"evaluate:{requested:.80}: {message}")
    if isinstance(error, OSError) and not here:
        return MissingResource(f"evaluate:{requested:.80}: no script is there, and the cache of evaluate has no "
                               "module of that id; fetch it once with evaluate.load(ID) in Python, for it is code to "
                               "be run here")
    return BrokenPlugin(f"evaluate:{requested:.80}: cannot be loaded: {message}")


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Keep the library from asking the hub, and from remarking that it did not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import evaluate
        from evaluate import config

    before, level = config.HF_EVALUATE_OFFLINE, evaluate.logging.get_verbosity()
    config.HF_EVALUATE_OFFLINE = True
    evaluate.logging.set_verbosity_error()
    try:
        yield
    finally:
        config.HF_EVALUATE_OFFLINE = before
        evaluate.logging.set_verbosity(level)


def _taken(requested: str, features: Any) -> tuple[str, bool | None]:
    """What the response is called, and whether references are taken as lists; None where none are taken."""
    offered = features if isinstance(features, list) else [features]
    fitting = [form for form_ in offered if (form := _form(form_))]
    if not fitting:
        wanted = "; or ".join(" ".join(str(form_).split()) for form_ in offered)
        raise BrokenPlugin(f"evaluate:{requested:.80}: takes {wanted:.300}; what can be given is a response and its "
                           "references, as texts")
    return max(fitting, key=lambda form: form[1] is True)


def _form(features: Any) -> tuple[str, bool | None] | None:
    """One way in which a module takes its texts; None where it wants something else."""
    response = next((name for name in RESPONSES if name in features), "")
    if not response or set(features) - {response, "references"} or not _is_text(features[response]):
        return None
    if "references" not in features:
        return response, None
    wanted = features["references"]
    if _is_text(wanted):
        return response, False
    inner = wanted[0] if isinstance(wanted, list) and wanted else getattr(wanted, "feature", None)
    return (response, True) if _is_text(inner) else None


def _is_text(feature: Any) -> bool:
    return getattr(feature, "dtype", "") in {"string", "large_string"}
