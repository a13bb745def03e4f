"""What FineD-Eval (Zhang et al. 2022) prints of the qualities of fed-dial, under the names that they have here."""

from __future__ import annotations

from decimal import Decimal

from harness.published import table

DATASET = "fed-dial"
OWN = {"likability": "likeability", "topic depth": "depth"}
"""Qualities whose name in print is another than here."""


def groups() -> dict[str, tuple[str, ...]]:
    """The groups of Table 1, each with its representative first."""
    members: dict[str, list[str]] = {}
    for row in table("finedeval"):
        if row.statistic == "group-membership":
            members.setdefault(row.metric, []).append(_own(row.quality))
    return {name: tuple(qualities) for name, qualities in members.items()}


def selected() -> frozenset[str]:
    """The qualities that the paper selects for a sub-metric."""
    return frozenset(_own(row.quality) for row in table("finedeval") if "selected for a sub-metric" in row.note)


def pairs() -> dict[tuple[str, str], Decimal]:
    """The correlations of two qualities that Section 2.1 prints."""
    rows = [row for row in table("finedeval") if " ~ " in row.quality]
    return {(_own(first), _own(second)): row.value for row in rows for first, second in [row.quality.split(" ~ ")]}


def bound(which: str) -> Decimal:
    """The minimum or the maximum over all pairs."""
    return next(row.value for row in table("finedeval") if row.quality == "all pairs" and row.note.startswith(which))


def printed(quality: str, statistic: str) -> Decimal:
    """One number: `interannotator-spearman` of a quality (of all but consistency a lower bound), or `fraction`."""
    return next(row.value for row in table("finedeval") if (row.quality, row.statistic) == (quality, statistic))


def _own(quality: str) -> str:
    return OWN.get(quality, quality)
