"""Run docs/notebook.ipynb in an empty folder and store the output of its cells: `python -m tools.notebook`."""

from __future__ import annotations

import ast
import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent.parent / "docs" / "notebook.ipynb"


def value_of(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line; None if that is a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None  # noqa: S307


def main() -> None:
    notebook, names, count = json.loads(NOTEBOOK.read_text()), dict[str, Any](), 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            value, count = value_of("".join(cell["source"]), names), count + 1
            shown = {"text/plain": repr(value)}
            if hasattr(value, "_repr_html_"):
                shown["text/html"] = value._repr_html_()
            lines = {kind: text.splitlines(keepends=True) for kind, text in shown.items()}
            cell |= {"execution_count": count, "outputs": [] if value is None else [
                {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": lines}]}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
