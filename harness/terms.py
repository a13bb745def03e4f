"""Types of settings that people write in TOML, read by `benchmarks.formats.records`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from benchmarks.dataset import LANGUAGE, is_language
from benchmarks.formats import records
from benchmarks.formats.records import Rule
from benchmarks.formats.records import one_of as one_of
from harness.errors import BadConfig

Line = Annotated[str, Rule("a single line of at most 200 characters",
                           lambda text: text.isprintable() and len(text) <= 200)]
NonEmpty = Annotated[str, Rule("a single line of 1 to 200 characters",
                               lambda text: text.isprintable() and 0 < len(text) <= 200)]
Paragraphs = Annotated[str, Rule("at most 2000 characters, without control characters", lambda text: (
    len(text) <= 2000 and text.translate({ord(character): " " for character in "\t\r\n"}).isprintable()))]
Language = Annotated[str, Rule(LANGUAGE, is_language)]
Count = Annotated[int, Rule("a whole number, 0 or more", lambda number: number >= 0)]
Number = Annotated[float, Rule("a number from -1,000,000 to 1,000,000", lambda number: abs(number) <= 1e6)]
Share = Annotated[float, Rule("a number above 0 and below 1", lambda number: 0 < number < 1)]
Weight = Annotated[float, Rule("a number from 0 to 1,000,000", lambda number: 0 <= number <= 1e6)]
Weights = Annotated[Mapping[str, Weight], Rule("numbers that are not all 0", lambda weights: any(weights.values()))]


def table(path: Path, name: str) -> dict[str, Any]:
    """Read a TOML file; messages call it `name`."""
    with records.refused_as(BadConfig):
        return records.toml(name, path.read_bytes())
