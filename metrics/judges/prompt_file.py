"""Read a judge's prompt from a TOML file, shipped or the user's own.

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

import dataclasses
import functools
import hashlib
import json
import tomllib
from pathlib import Path

from benchmarks.errors import nearest
from benchmarks.formats.records import Refused, value_of
from metrics.errors import BadOption, MissingResource, UnknownMetric
from metrics.judges.prompt import JudgedQuality, Prompt, places
from metrics.metric import NEEDS, is_name

SHIPPED = Path(__file__).parent / "prompts"
LARGEST = 1 << 20
"""Maximum bytes of a prompt file."""

OF_ITEMS = ("context", "response", "dialogue", "references", "facts")
TOGETHER, ONE_BY_ONE = ("qualities", "form"), ("quality", "description", "steps", "low", "high")
OWN = {"system", "user", "model", "messages", "temperature", "max_tokens", "seed", "logprobs", "top_logprobs", "n"}
"""Fields of a request that a prompt cannot set."""


def names() -> tuple[str, ...]:
    """List the shipped prompts."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def find(requested: str) -> Prompt:
    """Load a prompt by name or path."""
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
    """Parse a prompt file; BadOption for the first problem."""
    if len(content) > LARGEST:
        raise BadOption(f"{where}: larger than {LARGEST} bytes; that is no prompt")
    if not is_name(name):
        raise BadOption(f"{where}: columns are named by the file, so its name is small letters, digits and hyphens")
    try:
        table = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise BadOption(f"{where}: {' '.join(str(error).split()):.200}") from error
    request = table.pop("request", {})
    if not isinstance(table.get("qualities"), list) or not isinstance(request, dict):
        raise BadOption(f"{where}: has no [[qualities]], or a request that is no table")
    own = {"name": name, "digest": hashlib.sha256(content).hexdigest()[:12],
           "request": json.dumps(request, sort_keys=True, default=str)}
    if lost := [*(OWN & request.keys()), *(own.keys() & table.keys())]:
        raise BadOption(f"{where}: {'request.' * (lost[0] in OWN)}{lost[0]} is not for a prompt to set")
    try:
        prompt: Prompt = value_of(Prompt, table | own, where)
    except Refused as error:
        raise BadOption(str(error)) from error
    for quality in prompt.qualities:
        _check_quality(quality, where)
    _check(prompt, where)
    return dataclasses.replace(prompt, temperature=float(prompt.temperature))


def _check_quality(quality: JudgedQuality, where: str) -> None:
    if not is_name(quality.name):
        raise BadOption(f"{where}: the name {quality.name!r:.80} of a quality is not small letters, digits and hyphens")
    if not quality.low < quality.high:
        raise BadOption(f"{where}: {quality.name}: low should be below high; more is better")


def _check(prompt: Prompt, where: str) -> None:
    """Raise BadOption for an inconsistent prompt."""
    if prompt.answer not in {"json", "number", "yes"}:
        raise BadOption(f"{where}: answer should be json, number or yes, not {prompt.answer!r:.80}")
    if prompt.answer == "yes" and not prompt.logprobs:
        raise BadOption(f"{where}: answer = \"yes\" is read off probabilities: write logprobs = true")
    if not prompt.levels:
        raise BadOption(f"{where}: has neither a template turn nor one for a dialogue")
    if not 0 < len({quality.name for quality in prompt.qualities}) == len(prompt.qualities):
        raise BadOption(f"{where}: has no qualities, or two of one name")
    if unknown := set(prompt.needs) - set(NEEDS):
        raise BadOption(f"{where}: needs {min(unknown)!r:.80}; {nearest(min(unknown), NEEDS)}")
    known = (*OF_ITEMS, *(TOGETHER if prompt.answer == "json" else ONE_BY_ONE))
    for place in places(prompt):
        if place not in known:
            raise BadOption(f"{where}: a template holds {{{place:.80}}}; {nearest(place, known)}")
