"""A metric's signature taken apart: what its scores depend on, by name.

    deb|r1|encoder=all-MiniLM-L6-v2@53aa51172d14.a9d2b0|negatives=random|weights=deb@ac5ec123f754

A composition names its inputs, each with its own signature behind `input=`; their parts carry the input's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["data", "code", "weights", "options", "environment"]
"""Where a difference lies; weights are those of models, and other files that scores are made with."""

DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{12}(?:\.[0-9a-f]{6})?(?:\+[0-9a-f]{6})?(?![0-9a-f])")
REVISION = re.compile(r"r\d+")
LIBRARIES = frozenset({"evaluate", "sentence-transformers"})
"""What stands in a signature with the version of a library."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What two signatures differ in: the part by name, and both values, empty where it is not there."""

    kind: Kind
    name: str
    old: str
    new: str


def parts(signature: str) -> dict[str, str]:
    """Take a signature apart: `revision`, options and `weights NAME` by name, those of inputs behind the input's."""
    found: dict[str, str] = {}
    owner, last = "", ""
    tokens = list(_tokens(signature))
    for place, token in enumerate(tokens):
        name, equals, value = token.partition("=")
        if name == "input" and equals:
            owner, _, called = value.partition("|")
            last = f"{owner}: metric"
            found[last] = called
            continue
        if name == "weights" and owner and place == len(tokens) - 1:
            owner = ""  # behind the inputs of a composition stands what it learned itself
        if place == 0:
            name, value = "metric", token
        elif not equals and REVISION.fullmatch(token):
            name, value = "revision", token
        elif not equals:
            name, value = "remark", token
        elif name == "weights":
            name = f"weights {value.partition('@')[0]}"
        last = f"{owner}: {name}" if owner else name
        found[last] = value
    return found


def differences(old: str, new: str) -> tuple[Difference, ...]:
    """Tell what two signatures of a metric differ in."""
    before, after = parts(old), parts(new)
    names = (name for name in {**before, **after} if before.get(name) != after.get(name))
    return tuple(Difference(_kind(name, before.get(name, ""), after.get(name, "")), name,
                            before.get(name, ""), after.get(name, "")) for name in names)


def _tokens(signature: str) -> Iterator[str]:
    """Split at the bars; `input=NAME` keeps the name of its metric behind it."""
    pieces = iter(signature.split("|"))
    for piece in pieces:
        yield f"{piece}|{next(pieces, '')}" if piece.startswith("input=") else piece


def _kind(name: str, old: str, new: str) -> Kind:
    own = name.rpartition(": ")[2]
    if own in ("revision", "code"):
        return "code"
    if own in LIBRARIES:
        return "environment"
    if own.startswith("weights "):
        return "weights"
    same = DIGEST.sub("", old) == DIGEST.sub("", new)
    return "weights" if same else "options"
