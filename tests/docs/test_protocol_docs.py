"""The page of the protocol says what the code does, and its example works as it is printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from metrics.external import isolation
from metrics.external.isolation import wire
from metrics.external.isolation.settings import KEYS, SKIPPED, TIMEOUT
from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import ROOT, make_item

PAGE = (ROOT / "docs" / "protocol.md").read_text()


def block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[place]


@pytest.mark.skipif(shutil.which("perl") is None, reason="there is no perl")
def test_the_example_works_as_it_is_printed(tmp_path: Path) -> None:
    (tmp_path / "metric.pl").write_text(block("perl"))
    (tmp_path / "pyproject.toml").write_text(block("toml", 1))
    items = [make_item("a", "Hello Big world yes"), make_item("b", ""), make_item("c", None, context=("Ünsere",))]
    try:
        column = choose(str(tmp_path) + "/").metric.score(items, Models(tmp_path))["capitals"]
        assert list(column[[0, 2]]) == [0.5, 1.0]
        assert np.isnan(column[1])
        assert np.isnan(choose(f"{tmp_path}/[least=5]").metric.score(items, Models(tmp_path))["capitals"]).all()
    finally:
        isolation.adapter_of(isolation.metric_class(tmp_path)).close()


def test_the_page_names_what_there_is() -> None:
    for word in (*KEYS, *wire.TYPES, *SKIPPED - {"__pycache__", "node_modules"}):
        assert f"`{word}`" in PAGE or f"\n{word} = " in PAGE, word
    assert wire.LONGEST == 1 << 30
    assert f"({TIMEOUT:.0f})" in PAGE
    assert f"| {wire.PROTOCOL} |" in PAGE
