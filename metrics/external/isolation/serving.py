"""The metric's side of the pipe in Python: load the metric, describe it, score with it, report errors.

Runs in an environment that holds the metric's packages and not ours, so nothing is imported here beyond numpy.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import json
import os
import platform
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np

from benchmarks.dataset import Item
from metrics.errors import BrokenPlugin
from metrics.external.isolation.wire import PROTOCOL, TYPES, columns_record, decoded, encoded
from metrics.metric import File, Metric, as_metric, class_in
from metrics.models.service import Choice, Models


def serve_metric(name: str, target: str) -> None:
    """Describe a metric and score with it; it is loaded when it is first needed."""
    kind = functools.cache(lambda: _loaded(name, target))
    serve(lambda question: _described(kind()) if question["ask"] == "describe" else _scored(kind(), question))


def serve(answer: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Answer each question until the input is closed; an exception is an answer too.

    Input and output are taken away from the standard streams: whatever prints, in C too, prints to the standard error.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    for question in map(decoded, source):
        try:
            answered = answer(question)
        except BaseException as error:  # a metric is foreign code
            traceback.print_exc()
            answered = {"error": type(error).__name__, "message": _message(error)}
        sink.write(encoded({**answered, "id": question["id"]}))
        sink.flush()


def _loaded(name: str, target: str) -> type[Metric]:
    """Return the class at `module:Class`, or the class in `module` whose card has that name."""
    module, _, path = target.partition(":")
    kind: Any = importlib.import_module(module)
    for part in filter(None, path.split(".")):
        kind = getattr(kind, part)
    metric = class_in(kind, name) if inspect.ismodule(kind) else as_metric(kind)
    if hasattr(metric, "made_of"):
        raise BrokenPlugin(f"{target} is a composition; remove `python` from [tool.harness], and give it to its inputs")
    return metric


def _described(kind: type[Metric]) -> dict[str, Any]:
    packages = {f"{package.metadata['Name']}=={package.version}" for package in importlib.metadata.distributions()}
    return {"protocol": PROTOCOL, "card": dataclasses.asdict(kind.card), "options": list(_options(kind)),
            "environment": [f"python=={platform.python_version()}", *sorted(packages)]}


def _options(kind: type[Metric]) -> Iterator[dict[str, Any]]:
    hints = typing.get_type_hints(kind)
    names = {value: name for name, value in TYPES.items()}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        hint = hints[field.name]
        if get_origin(hint) is not Literal and hint not in names:
            raise BrokenPlugin(f"option {field.name}: the type should be {', '.join(names.values())} or Literal, for "
                               "a metric in an environment of its own")
        values = {"choices": list(get_args(hint))} if get_origin(hint) is Literal else {"type": names[hint]}
        yield {"name": field.name, "default": field.default, **values}


def _scored(kind: type[Metric], question: Mapping[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    options = {name: File(value) if hints[name] is File else value for name, value in question["options"].items()}
    models = _models(json.dumps(question["models"]))
    models.requested.clear()
    columns = {str(name): np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan) for name, column in
               kind(**options).score(tuple(map(Item.of, question["items"])), models).items()}
    for name, column in columns.items():
        if column.ndim != 1:
            raise ValueError(f"column {name} has shape {column.shape}; it should be one number per item")
    return {"asked": sorted(models.requested), "columns": columns_record(columns)}


@functools.cache
def _models(settings: str) -> Models:
    values = json.loads(settings)
    return Models(Path(values["home"]), Choice(**values["choice"]))


def _message(error: BaseException) -> str:
    """Return the message with the last line of the metric's own code."""
    root = str(Path(__file__).parent)
    lines = [f"{Path(frame.filename).name} line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
             if not frame.filename.startswith((root, "<", sys.base_prefix))]
    return f"{error}" + (f" ({lines[-1]})" if lines else "")
