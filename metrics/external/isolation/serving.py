"""The metric's side of the pipe in Python: load the metric, describe it, score with it, say what went wrong.

Runs in an environment that holds the metric's packages and not ours, so nothing is imported here beyond numpy.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import json
import platform
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args, get_origin

import numpy as np

from metrics.errors import BrokenPlugin
from metrics.external.isolation.wire import PROTOCOL, TYPES, columns_record, decoded, encoded, items_of
from metrics.metric import File, Metric, as_metric, class_in
from metrics.models.service import Choice, Models


def serve_metric(name: str, place: str, source: BinaryIO, sink: BinaryIO) -> None:
    """Describe a metric and score with it; it is loaded when it is first needed."""
    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        kind = loaded(name, place)
        return _described(kind) if question["ask"] == "describe" else _scored(kind, question)

    serve(answer, source, sink)


def serve(answer: Callable[[Mapping[str, Any]], dict[str, Any]], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each question until the pipe is closed; an exception is an answer too."""
    for question in map(decoded, source):
        try:
            answered = answer(question)
        except BaseException as error:  # a metric is foreign code
            traceback.print_exc()
            answered = {"error": type(error).__name__, "message": _message(error)}
        sink.write(encoded({**answered, "id": question["id"]}))
        sink.flush()


def _described(kind: type[Metric]) -> dict[str, Any]:
    """Card, options and environment: Python and every installed package, with its version."""
    packages = {f"{package.metadata['Name']}=={package.version}" for package in importlib.metadata.distributions()}
    return {"protocol": PROTOCOL, "card": dataclasses.asdict(kind.card), "options": list(_options(kind)),
            "environment": [f"python=={platform.python_version()}", *sorted(packages)]}


def _scored(kind: type[Metric], question: Mapping[str, Any]) -> dict[str, Any]:
    """The columns, and the kinds and names of the models that were requested."""
    hints = typing.get_type_hints(kind)
    options = {name: File(value) if hints[name] is File else value
               for name, value in question["options"].items()}
    models = _service(json.dumps(question["models"]))
    models.requested.clear()
    scores = kind(**options).score(items_of(question["items"]), models)
    columns = {str(name): _vector(str(name), column) for name, column in scores.items()}
    return {"asked": sorted(models.requested), "columns": columns_record(columns)}


@functools.cache
def _service(settings: str) -> Models:
    """The models of a question, from one question to the next."""
    settled = json.loads(settings)
    return Models(Path(settled["home"]), Choice(**settled["choice"]))


@functools.cache
def loaded(name: str, place: str) -> type[Metric]:
    """The class at `module:Class`, or the one in `module` whose card has that name."""
    module, _, path = place.partition(":")
    kind: Any = importlib.import_module(module)
    for part in filter(None, path.split(".")):
        kind = getattr(kind, part)
    metric = class_in(kind, name) if inspect.ismodule(kind) else as_metric(kind)
    if hasattr(metric, "made_of"):
        raise BrokenPlugin(f"{place} is a composition, whose inputs are scored where the harness runs; it runs there")
    return metric


def _options(kind: type[Metric]) -> Iterator[dict[str, Any]]:
    hints = typing.get_type_hints(kind)
    names = {value: name for name, value in TYPES.items()}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        hint = hints[field.name]
        if field.default is dataclasses.MISSING or (get_origin(hint) is not Literal and hint not in names):
            raise BrokenPlugin(f"option {field.name}: one of a metric in an environment of its own has a default and "
                               f"the type {', '.join(names.values())} or Literal")
        type_ = {"choices": list(get_args(hint))} if get_origin(hint) is Literal else {"type": names[hint]}
        yield {"name": field.name, "default": field.default, **type_}


def _vector(name: str, column: Any) -> Any:
    vector = np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)
    if vector.ndim != 1:
        raise BrokenPlugin(f"column {name} has shape {vector.shape}; it should be one number per item")
    return vector


def _message(error: BaseException) -> str:
    """What was raised, with the line of the metric's own code."""
    root = str(Path(__file__).parent)
    lines = [f"{Path(frame.filename).name} line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
             if not frame.filename.startswith((root, "<", sys.base_prefix))]
    return f"{error}" + (f" ({lines[-1]})" if lines else "")
