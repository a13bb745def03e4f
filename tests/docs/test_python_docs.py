"""What docs/python.md shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytest.importorskip("evaluate")


def test_the_examples_give_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluate import config

    monkeypatch.setattr(config, "HF_METRICS_CACHE", str(tmp_path))
    found: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL):
        exec(compile(block, "docs/python.md", "exec"), found)  # noqa: S102
    columns, computed = found["columns"], found["found"]
    assert isinstance(columns, dict)
    assert isinstance(computed, dict)
    assert list(columns) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]
    assert computed["bleu-1"] == columns["bleu-1"].tolist()
    assert computed["mean_bleu-1"] == columns["bleu-1"].mean()
