"""The messages between the harness and a metric's process (docs/protocol.md), and the metric's side in Python.

Invalid messages raise records.Refused. In the metric's environment, this needs no third-party package but numpy.
"""

from __future__ import annotations

import dataclasses
import functools
import json
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
from benchmarks.formats import records
from benchmarks.formats.records import SURROGATE, Refused, value_of
from metrics.column import Column, checked
from metrics.errors import BadScores, BrokenPlugin
from metrics.metric import GROUP, Combining, File, Metric, MetricCard, as_metric
from metrics.models.service import Choice, Models

PROTOCOL = 2
MAX_MESSAGE_BYTES = 1 << 30
TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""Types of options without `choices`."""
_models = functools.cache(Models)

Description = tuple[MetricCard, tuple[tuple[str, Any, Any], ...], tuple[str, ...]]
"""A card, options (name, type, default), and the environment."""


def encoded(message: Mapping[str, Any]) -> bytes:
    """Encode a message as a line; raise ValueError for NaN and infinity."""
    return SURROGATE.sub("\ufffd", json.dumps(message, ensure_ascii=False, allow_nan=False)).encode() + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    where = repr(line[:40])
    return records.mapping(where, records.load(where, line))


def columns_record(columns: Mapping[str, Column]) -> dict[str, list[float | None]]:
    return {name: [None if value != value else value for value in column.tolist()] for name, column in columns.items()}


def columns_of(columns: Any) -> dict[str, Column]:
    numbers = value_of(Mapping[str, tuple[float, ...]], columns, "columns")
    return {name: np.array(values, dtype=np.float64) for name, values in numbers.items()}


def scores(answer: Mapping[str, Any]) -> tuple[dict[str, Column], set[tuple[str, str]]]:
    """Return columns, and the kinds and names of the models that were used."""
    return (columns_of(answer.get("columns")),
            set(value_of(tuple[tuple[str, str], ...], answer.get("asked", []), "asked")))


def description(answer: Mapping[str, Any]) -> Description:
    if answer.get("protocol") != PROTOCOL:
        raise Refused(f"protocol {answer.get('protocol')!r:.40} is not supported; expected {PROTOCOL}")
    listed = value_of(tuple[Mapping[str, Any], ...], answer.get("options", []), "its options")
    return (value_of(MetricCard, answer.get("card"), "its card"), tuple(map(_option_of, listed)),
            value_of(tuple[str, ...], answer.get("environment", []), "its environment"))


def _option_of(entry: Mapping[str, Any]) -> tuple[str, Any, Any]:
    name = value_of(str, entry.get("name"), "option, name")
    default, choices = entry.get("default"), entry.get("choices")
    if isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices):
        kind: Any = Literal[tuple(choices)]
        return name, kind, value_of(kind, default, f"option {name}, default")
    if choices is not None or str(entry.get("type")) not in TYPES:
        raise Refused(f"option {name}: needs a type ({', '.join(TYPES)}) or choices (strings or integers)")
    kind = TYPES[entry["type"]]
    return name, kind, kind(value_of(str if kind is File else kind, default, f"option {name}, default"))


def serve_metric(target: str) -> None:
    """Serve requests to describe the metric at `module:Class` and to score with it."""
    @functools.cache
    def kind() -> type[Metric]:  # loaded by the first request, so that its errors are sent as the answer
        metric = as_metric(EntryPoint("", target, GROUP).load())
        if issubclass(metric, Combining):
            raise BrokenPlugin(f"{target} is a composite; set `python` in [tool.harness] for its inputs instead")
        return metric

    serve(lambda request: _described(kind()) if request["ask"] == "describe" else _scored(kind(), request))


def serve(answer: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Answer requests until the input is closed; exceptions are sent back as answers.

    Messages use the original stdin and stdout; anything that the metric prints, even from C code, goes to stderr.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    for request in map(decoded, source):
        try:
            line = encoded({**answer(request), "id": request["id"]})
        except BaseException as error:  # third-party code can raise anything
            traceback.print_exc()
            line = encoded({"error": type(error).__name__, "message": _message(error), "id": request["id"]})
        sink.write(line)
        sink.flush()


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
    if hint not in TYPES.values():
        raise BrokenPlugin(f"option {field.name}: the type must be {', '.join(TYPES)} or Literal, for a metric in its "
                           "own environment")
    return {**option, "type": "file" if hint is File else hint.__name__}


def _scored(kind: type[Metric], request: Mapping[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    options = {name: File(value) if hints[name] is File else value for name, value in request["options"].items()}
    choice = request["models"]["choice"]
    models = _models(Path(request["models"]["home"]), Choice(**{**choice, "price": tuple(choice["price"])}))
    models.requested.clear()
    items = tuple(map(Item.of, request["items"]))
    columns = checked(kind.card.name, kind.card.columns, items, kind(**options).score(items, models))
    return {"asked": sorted(models.requested), "columns": columns_record(columns)}


def _message(error: BaseException) -> str:
    """Return the error message with the last traceback line in the metric's own code."""
    lines = [f"{Path(frame.filename).name} line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
             if not frame.filename.startswith((str(Path(__file__).parent), "<", sys.base_prefix))]
    return f"{error}" + (f" ({lines[-1]})" if lines and not isinstance(error, BrokenPlugin | BadScores) else "")
