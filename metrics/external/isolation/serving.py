"""The metric's side of the pipe in Python: load the metric, describe it, score with it, report errors.

Runs in an environment that holds the metric's packages and not ours, so nothing is imported here beyond numpy.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import platform
import sys
import traceback
import typing
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np

from benchmarks.dataset import Item
from metrics.errors import BrokenPlugin
from metrics.external.isolation.wire import PROTOCOL, TYPES, columns_record, decoded, encoded
from metrics.metric import GROUP, File, Metric, as_metric
from metrics.models.service import Choice, Models


def serve_metric(target: str) -> None:
    """Describe the metric at `module:Class` and score with it; it is loaded when it is first needed."""
    kind = functools.cache(lambda: _loaded(target))
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
            line = encoded({**answer(question), "id": question["id"]})
        except BaseException as error:  # a metric is foreign code
            traceback.print_exc()
            line = encoded({"error": type(error).__name__, "message": _message(error), "id": question["id"]})
        sink.write(line)
        sink.flush()


def _loaded(target: str) -> type[Metric]:
    metric = as_metric(EntryPoint("", target, GROUP).load())
    if hasattr(metric, "made_of"):
        raise BrokenPlugin(f"{target} is a composition; remove `python` from [tool.harness], and give it to its inputs")
    return metric


def _described(kind: type[Metric]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    packages = {f"{package.metadata['Name']}=={package.version}" for package in distributions()}
    return {"protocol": PROTOCOL, "card": dataclasses.asdict(kind.card),
            "options": [_option(field, hints[field.name]) for field in dataclasses.fields(kind)],  # type: ignore[arg-type]
            "environment": [f"python=={platform.python_version()}", *sorted(packages)]}


def _option(field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
    option = {"name": field.name, "default": field.default}
    if get_origin(hint) is Literal:
        return {**option, "choices": list(get_args(hint))}
    for name, kind in TYPES.items():
        if hint is kind:
            return {**option, "type": name}
    raise BrokenPlugin(f"option {field.name}: the type should be {', '.join(TYPES)} or Literal, for a metric in an "
                       "environment of its own")


def _scored(kind: type[Metric], question: Mapping[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    options = {name: File(value) if hints[name] is File else value for name, value in question["options"].items()}
    choice = question["models"]["choice"]
    models = _models(question["models"]["home"], Choice(**{**choice, "price": tuple(choice["price"])}))
    models.requested.clear()
    scores = kind(**options).score(tuple(map(Item.of, question["items"])), models)
    columns = {str(name): np.ma.asarray(column, dtype=np.float64).filled(np.nan) for name, column in scores.items()}
    return {"asked": sorted(models.requested), "columns": columns_record(columns)}


@functools.cache
def _models(home: str, choice: Choice) -> Models:
    return Models(Path(home), choice)


def _message(error: BaseException) -> str:
    """Return the message with the last line of the metric's own code."""
    root = str(Path(__file__).parent)
    lines = [f"{Path(frame.filename).name} line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
             if not frame.filename.startswith((root, "<", sys.base_prefix))]
    return f"{error}" + (f" ({lines[-1]})" if lines and not isinstance(error, BrokenPlugin) else "")
