"""Flags that several commands share. The types of flags of `harness run` are those of its settings."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import math
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from benchmarks.formats.records import Rule
from harness.run.settings import Amount, Count, PositiveCount, Settings
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES

FLAGS: dict[str, str] = tomllib.loads(Path(__file__).with_name("flags.toml").read_text(encoding="utf-8"))
"""Help by flag and placeholder of its value."""


class Once(argparse.Action):
    """Store the value of a flag that must not be repeated."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any,
                 option: str | None = None) -> None:
        if getattr(namespace, self.dest) != self.default:
            parser.error(f"{option} takes one value")
        setattr(namespace, self.dest, value)


def parser_of(hint: Any) -> Callable[[str], Any]:
    """Return a parser of the values of an annotated type, for a flag."""
    kind, rule = get_args(hint)

    def parse(text: str) -> Any:
        with contextlib.suppress(ValueError):
            if rule.is_valid(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"should be {rule.description}, not {text!r}")

    return parse


def folder(text: str) -> Path:
    if (path := Path(text)).is_file():
        raise argparse.ArgumentTypeError(f"{text} is a file; name a folder")
    return path


POSITIVE_COUNT = parser_of(PositiveCount)
SECONDS = Annotated[float, Rule("above 0", lambda seconds: 0 < seconds < math.inf)]
TYPES: dict[str, Any] = {
    "N": parser_of(Count), "M": parser_of(Amount), "SECONDS": parser_of(SECONDS), "DIR": folder, "FILE": Path}
"""Types of values by placeholder; others are strings."""
RESULTS = "out: results of a run (default: ./results)"
"""The flag --out of commands that read results."""
MODELS = ("encoder", "lm", "vectors", "device", "precision", "batch-tokens", "offline")
LIMITS = ("price", "max-cost", "max-requests")
WORKERS = ("executor", "address", "gpus", "timeout", "memory")


def separated(names: str) -> list[str]:
    """Split names at the commas outside brackets, unless they are the path of a file."""
    with contextlib.suppress(OSError):  # a list may be too long for a file name
        if Path(names).exists():
            return [names]
    commas = [index for index, character in enumerate(names) if character == "," and names[:index].count("[") ==
            names[:index].count("]")]
    return [names[start + 1:end].strip() for start, end in itertools.pairwise([-1, *commas, len(names)])]


OVERRIDES: dict[str, dict[str, Any]] = {
    "statistic": {"choices": (*STATISTIC_NAMES, "kendall-b")}, "level": {"choices": LEVEL_NAMES},
    "split": {"action": Once}, "out": {"type": folder},
    **{name: {"action": "extend", "type": separated} for name in ("metric", "with", "dataset")}}
"""Parts of declarations of shared flags that do not follow from the types of the settings."""


def add(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Add flags; `changes` replace parts of their declarations.

    A shared flag is given by its name, with the default of its setting; "NAME: help" replaces its help. Any other flag
    is declared as "NAME METAVAR: help".
    """
    types = get_type_hints(Settings, include_extras=True)
    defaults = {field.name: field.default for field in dataclasses.fields(Settings)}
    heads = {head.partition(" ")[0]: head for head in FLAGS}
    for declared in names:
        head, _, text = declared.partition(": ")
        name, _, metavar = heads.get(head, head).partition(" ")
        field = f"{name}_" if name == "with" else name.replace("-", "_")
        declaration: dict[str, Any] = {"dest": field, "help": text or FLAGS[heads[name]]}
        if head in heads:
            declaration |= {"default": [] if defaults[field] == () else defaults[field], **_of_type(types[field]),
                            **OVERRIDES.get(name, {})}
        else:
            declaration |= _of_metavar(metavar, text, changes)
        parser.add_argument(f"--{name}", **{**declaration, **({"metavar": metavar} if metavar else {}), **changes})


def _of_metavar(metavar: str, text: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declaration of a flag by its placeholder; it takes several values if its help says "repeatable"."""
    if not metavar and "choices" not in changes:
        return {"action": "store_true"}
    kind = TYPES.get(metavar, str)
    if "repeatable" in text:
        return {"action": "append", "type": kind, "default": []}
    return {"type": kind, "default": "" if kind is str and metavar else None}


def _of_type(hint: Any) -> dict[str, Any]:
    if hint is bool:
        return {"action": "store_true"}
    if get_origin(hint) is Annotated:
        return {"type": parser_of(hint)}
    if get_origin(hint) is tuple:
        return {"action": "append", **_of_type(get_args(hint)[0])}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    if isinstance(hint, UnionType) or type(None) in get_args(hint):
        return _of_type(get_args(hint)[0])
    return {} if hint is str else {"type": hint}
