"""The notebook of docs/: a valid one, and every cell runs and shows something."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT


def shown(source: str, names: dict[str, Any]) -> str:
    """Run a cell; what a notebook would show of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None  # noqa: S307
    return str(value._repr_html_()) if hasattr(value, "_repr_html_") else repr(value)


def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert all({"outputs", "execution_count"} <= cell.keys() for cell in cells if cell["cell_type"] == "code")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    html = [shown("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    assert "<table" in html[0]
    assert any("<svg" in piece for piece in html)
    assert (names["items"]["again"] == names["items"]["score:length"]).all()
    assert "exclaims" in html[-1]
