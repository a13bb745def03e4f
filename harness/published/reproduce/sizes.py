"""What the two papers about the challenge print about its datasets, against each other and against their prose."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from harness import published
from harness.published import DatasetSize
from harness.published.reproduce.check import Claim
from harness.published.reproduce.rounding import Number, exact, total

MME = "MME-CRS Tables 1, 2"
OURS = "Table 1"


def claims() -> Iterator[Claim]:
    """Both tables dataset by dataset, then sums, then what the numbers imply about each other."""
    ours, theirs = _tables()
    for name, size in theirs.items():
        yield from _pair(ours[name], size)
    yield from _sums(ours, theirs)
    yield from _implied(ours, theirs)


def _tables() -> tuple[dict[str, DatasetSize], dict[str, DatasetSize]]:
    by_source: dict[str, dict[str, DatasetSize]] = {"dstc10": {}, "mmecrs2022": {}}
    for size in published.sizes():
        by_source[size.source][size.dataset] = size
    return by_source["dstc10"], by_source["mmecrs2022"]


def _annotations(size: DatasetSize) -> Number:
    half = Fraction(size.unit, 2) if size.unit > 1 else Fraction()
    return Number(Fraction(size.annotations), size.annotations - half, size.annotations + half)


def _pair(ours: DatasetSize, theirs: DatasetSize) -> Iterator[Claim]:
    for field in ("turns", "qualities"):
        yield Claim(MME, f"{field} of {ours.dataset}", Decimal(getattr(theirs, field)),
                    exact(getattr(ours, field)), "as printed by the organisers")
    yield Claim(MME, f"annotations of {ours.dataset}", Decimal(theirs.annotations), _annotations(ours),
                "as printed by the organisers")


def _sum(sizes: dict[str, DatasetSize], field: str, split: str) -> Number:
    return total([exact(getattr(size, field)) for size in sizes.values() if size.split == split])


def _sums(ours: dict[str, DatasetSize], theirs: dict[str, DatasetSize]) -> Iterator[Claim]:
    yield Claim("MME-CRS prose", "qualities of the development sets", Decimal(37), _sum(theirs, "qualities", "dev"),
                "sum in its Table 1")
    yield Claim("MME-CRS prose", "qualities of the test sets", Decimal(11), _sum(theirs, "qualities", "test"),
                "sum in its Table 2")
    yield Claim("prose", "scored test instances", Decimal(18641), _sum(ours, "turns", "test"),
                "sum in Table 1")
    yield Claim("prose", "scored test instances", Decimal(18641), _sum(theirs, "turns", "test"),
                "sum in Table 2 of MME-CRS")
    for what, said, name, field in (("Persona pairs", 5000, "dstc10-persona", "turns"),
                                    ("FED dialogues", 124, "fed-dial", "turns"),
                                    ("criteria of Persona-See", 8, "persona-see", "qualities")):
        yield Claim("prose", what, Decimal(said), exact(getattr(ours[name], field)), "as printed in Table 1")


def _implied(ours: dict[str, DatasetSize], theirs: dict[str, DatasetSize]) -> Iterator[Claim]:
    for where, turns, table in ((MME, theirs, "MME-CRS"), (OURS, ours, "the organisers")):
        yield Claim(where, "annotations of dstc7", Decimal(29700), exact(3 * turns["dstc7"].turns),
                    f"three raters for each of the turns of {table}", last=Fraction(ours["dstc7"].unit),
                    reason="29,700 over three raters suits 9,900 turns")
        yield Claim(where, "annotations of dstc10-persona", Decimal(ours["dstc10-persona"].annotations),
                    exact(16 * turns["dstc10-persona"].turns), f"four raters, four qualities, turns of {table}",
                    last=Fraction(ours["dstc10-persona"].unit), reason="5,000 pairs suit neither print")
    yield Claim(OURS, "annotations of convai2-grade", Decimal(3000),
                exact(Fraction(11910, 1200) * ours["convai2-grade"].turns),
                "turns, at GRADE's 11,910 ratings for 1,200 pairs", last=Fraction(ours["convai2-grade"].unit),
                reason="3,000 suit 300 pairs, as MME-CRS prints, and not 600")
    for name in ("fed-turn", "fed-dial"):
        size = theirs[name]
        yield Claim(MME, f"annotations of {name}", Decimal(size.annotations), exact(size.turns * size.qualities),
                    "turns × qualities", reason=f"suits {size.annotations // size.qualities} rows")
