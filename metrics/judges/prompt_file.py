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

import functools
import hashlib
import json
from pathlib import Path

from benchmarks.errors import nearest
from benchmarks.formats import records
from metrics.errors import BadOption, MissingResource, UnknownMetric
from metrics.judges.prompt import Prompt, places
from metrics.metric import is_name

SHIPPED = Path(__file__).parent / "prompts"
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
        content = path.read_bytes()
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
    if not is_name(name):
        raise BadOption(f"{where}: columns are named by the file, so its name is small letters, digits and hyphens")
    with records.refused_as(BadOption):
        table = records.toml(where, content)
        request = records.mapping(f"{where}, request", table.pop("request", {}))
        set_here = {"name": name, "digest": hashlib.sha256(content).hexdigest()[:12],
                    "request": json.dumps(request, sort_keys=True, default=str)}
        if foreign := [*(f"request.{field}" for field in OWN & request.keys()), *(set_here.keys() & table.keys())]:
            raise BadOption(f"{where}: {foreign[0]} is not for a prompt to set")
        prompt: Prompt = records.value_of(Prompt, table | set_here, where)
    _check(prompt, where)
    return prompt


def _check(prompt: Prompt, where: str) -> None:
    """Raise BadOption for an inconsistent prompt."""
    for quality in prompt.qualities:
        if not quality.low < quality.high:
            raise BadOption(f"{where}: {quality.name}: low should be below high; more is better")
    if not 0 < len({quality.name for quality in prompt.qualities}) == len(prompt.qualities):
        raise BadOption(f"{where}: has no [[qualities]], or two of one name")
    if prompt.answer == "yes" and not prompt.logprobs:
        raise BadOption(f"{where}: answer = \"yes\" is read off probabilities: write logprobs = true")
    if not prompt.levels:
        raise BadOption(f"{where}: has neither a template turn nor one for a dialogue")
    known = (*OF_ITEMS, *(TOGETHER if prompt.answer == "json" else ONE_BY_ONE))
    for place in places(prompt):
        if place not in known:
            raise BadOption(f"{where}: a template holds {{{place:.80}}}; {nearest(place, known)}")
