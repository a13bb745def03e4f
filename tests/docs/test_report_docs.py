"""docs/report.md has every file of a report, and of every type in it each field, and no other."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from harness.results import files as reports
from harness.results import rows
from tests.conftest import ROOT
from tests.harness.test_results import small

NOT_ON_DISK = {"Results", "Exhibit", "Grid"}
"""The report itself, and what a study leaves in its own folder."""

PAGE = (ROOT / "docs" / "report.md").read_text()


def sections() -> dict[str, str]:
    """The sections by the last word of their heading, the type that they are of."""
    parts = re.split(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    return {head.split()[-1]: text for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def kinds(kind: Any = rows.Results) -> Iterator[type[Any]]:
    """Every dataclass that a report is made of."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        yield kind
        for hint in typing.get_type_hints(kind, {**vars(rows), "np": np, "npt": npt}).values():
            yield from kinds(hint)
    for argument in typing.get_args(kind):
        yield from kinds(argument)


def documented(section: str) -> list[str]:
    return list(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


@pytest.mark.parametrize("kind", sorted({kind.__name__: kind for kind in kinds()}.items()), ids=lambda given: given[0])
def test_every_field_is_documented_and_no_other(kind: tuple[str, type[Any]]) -> None:
    name, made = kind
    if name not in NOT_ON_DISK:
        assert documented(sections()[name]) == [entry.name for entry in dataclasses.fields(made)]


def test_every_type_that_is_documented_is_there() -> None:
    assert {kind.__name__ for kind in kinds()} >= {"Run", "Look", "ItemScores", "Example", "Timing", "QualityEntry"}


def test_every_file_and_every_part_of_the_head_is_documented(tmp_path: Path) -> None:
    reports.write(small(), tmp_path)
    files = set(re.findall(r"`([a-z]+\.[a-z]+)`", sections()["run"]))
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == files
    assert documented(sections()["report.json"]) == list(json.loads((tmp_path / "report.json").read_text()))
