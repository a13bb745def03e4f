"""Reading a judge's prompt from a TOML file, one of those that are shipped or the user's own.

    title, paper               what it is
    answer                     "json": one answer with a number for every quality; "number": one call per quality;
                               "yes": one call per quality, and the score is log p(Yes) − log p(No)
    system, turn, dialogue     templates; a level is judged if its template is there
    needs                      what an item must have: context, references, facts
    samples, temperature, max_tokens, logprobs         defaults of the options of the same name
    [request]                  further fields of the request, as the server wants them
    [[qualities]]              name, low, high, description, steps
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from benchmarks.errors import nearest
from metrics.errors import BadOption, MissingResource, UnknownMetric
from metrics.judges.prompt import JudgedQuality, Prompt, places
from metrics.metric import NEEDS, is_name

SHIPPED = Path(__file__).parent / "prompts"
LARGEST = 1 << 20
"""Bytes of a prompt file; a larger one is none."""

OF_ITEMS = ("context", "response", "dialogue", "references", "facts")
TOGETHER, ONE_BY_ONE = ("qualities", "form"), ("quality", "description", "steps", "low", "high")
OWN = {"system", "user", "model", "messages", "temperature", "max_tokens", "seed", "logprobs", "top_logprobs", "n"}
"""Fields of a request that are options, or not a prompt's to set."""


def names() -> tuple[str, ...]:
    """The shipped prompts."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def find(requested: str) -> Prompt:
    """The prompt of a name, or in a file; an error says in one line what is wrong with it."""
    if not (requested.endswith(".toml") or "/" in requested or "\\" in requested):
        if requested not in names():
            raise UnknownMetric(f"no prompt {requested:.80}; {nearest(requested[:80], names())}; a file ends in .toml")
        return _shipped(requested)
    path = Path(requested).expanduser()
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise MissingResource(f"{path}: {error.strerror}") from error
    name = path.stem.replace("_", "-").casefold()
    if name in names():
        raise BadOption(f"{path}: {name} is the name of a shipped prompt, and columns are named by it; rename the file")
    return read(name, content, str(path))


@functools.cache
def _shipped(name: str) -> Prompt:
    path = SHIPPED / f"{name}.toml"
    return read(name, path.read_bytes(), path.name)


def read(name: str, content: bytes, where: str) -> Prompt:
    """The prompt that a file holds; BadOption with the first thing that is wrong."""
    if len(content) > LARGEST:
        raise BadOption(f"{where}: larger than {LARGEST} bytes; that is no prompt")
    if not is_name(name):
        raise BadOption(f"{where}: columns are named by the file, so its name is small letters, digits and hyphens")
    try:
        fields_ = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise BadOption(f"{where}: {' '.join(str(error).split()):.200}") from error
    qualities = fields_.pop("qualities", None)
    request = fields_.pop("request", {})
    if not isinstance(qualities, list) or not qualities or not isinstance(request, dict):
        raise BadOption(f"{where}: has no [[qualities]], or a request that is no table")
    if lost := OWN & request.keys():
        raise BadOption(f"{where}: request.{min(lost)} is not for a prompt to set")
    values = _typed(Prompt, fields_, where, {"name", "digest", "qualities", "request"})
    read_ = tuple(_quality(table, f"{where}: quality {number}") for number, table in enumerate(qualities, 1))
    prompt = Prompt(name=name, digest=hashlib.sha256(content).hexdigest()[:12], qualities=read_,
                    request=json.dumps(request, sort_keys=True, default=str), **values)
    _check(prompt, where)
    return prompt


def _quality(table: Any, where: str) -> JudgedQuality:
    if not isinstance(table, dict):
        raise BadOption(f"{where}: is no table")
    quality = JudgedQuality(**_typed(JudgedQuality, table, where, set()))
    if not is_name(quality.name):
        raise BadOption(f"{where}: its name {quality.name!r:.80} is not small letters, digits and hyphens")
    if not (math.isfinite(quality.low) and math.isfinite(quality.high) and quality.low < quality.high):
        raise BadOption(f"{where}: low should be below high, both finite; more is better")
    return quality


_KINDS: dict[str, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "str": ((str,), str), "int": ((int,), int), "float": ((int, float), float), "bool": ((bool,), bool),
    "tuple[str, ...]": ((list,), lambda listed: tuple(map(str, listed))),
}
"""What TOML gives for the types of the fields, and what becomes of it."""


def _typed(kind: type, table: Mapping[str, Any], where: str, own: set[str]) -> dict[str, Any]:
    """The values of a table that are fields of a dataclass, each of its type."""
    known = {field.name: field for field in fields(kind) if field.name not in own}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise BadOption(f"{where}: has a key {key!r:.80}; {nearest(key, known)}")
        wanted = str(known[key].type)
        kinds, made = _KINDS[wanted]
        if not isinstance(value, kinds) or (isinstance(value, bool) and wanted != "bool"):
            raise BadOption(f"{where}: {key} should be of type {wanted}, not {value!r:.80}")
        values[key] = made(value)
    for name, field in known.items():
        if field.default is MISSING and name not in values:
            raise BadOption(f"{where}: lacks {name}")
    return values


def _check(prompt: Prompt, where: str) -> None:
    """Refuse a prompt that cannot be asked as it is meant."""
    if prompt.answer not in {"json", "number", "yes"}:
        raise BadOption(f"{where}: answer should be json, number or yes, not {prompt.answer!r:.80}")
    if prompt.answer == "yes" and not prompt.logprobs:
        raise BadOption(f"{where}: answer = \"yes\" is read off probabilities: write logprobs = true")
    if not prompt.levels:
        raise BadOption(f"{where}: has neither a template turn nor one for a dialogue")
    if len({quality.name for quality in prompt.qualities}) < len(prompt.qualities):
        raise BadOption(f"{where}: two qualities have one name")
    if unknown := set(prompt.needs) - set(NEEDS):
        raise BadOption(f"{where}: needs {min(unknown)!r:.80}; {nearest(min(unknown), NEEDS)}")
    known = (*OF_ITEMS, *(TOGETHER if prompt.answer == "json" else ONE_BY_ONE))
    for place in places(prompt):
        if place not in known:
            raise BadOption(f"{where}: a template holds {{{place:.80}}}; {nearest(place, known)}")
