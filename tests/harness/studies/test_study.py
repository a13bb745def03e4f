"""`harness study`: its pictures, and what it refuses."""

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from harness.cli import main
from harness.results import heat_maps
from harness.results.rows import HeatMap


def test_the_picture_says_in_words_what_it_shows() -> None:
    values = np.array([[1, -0.5, math.nan], [-0.5, 1, 0], [math.nan, 0, 1]])
    told = HeatMap.of("toy", ("x", "y & z", "w"), values, "From y & z.")
    root = ET.fromstring(heat_maps.drawn("A <title>", [told]))  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    assert root.findtext(f"{space}title") == "A <title>"
    assert root.findtext(f"{space}desc") == "From y & z."
    assert "y & z and x: −0.50" in [title.text for title in root.iter(f"{space}title")]


def test_what_cannot_be_studied_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, message in (
        ("dimension", "did you mean 'dimensions'"),
        ("dimensions --seed -1", "--seed should be 0 or more"),
        ("dimensions --limit 0", "--limit must be 1 or more"),
        ("dimensions --dataset fed-trun", "did you mean 'fed-turn'"),
        ("dimensions --from .", "dimensions does not support --from"),
        ("dimensions --metric bleu", "dimensions does not support --metric"),
        ("dimensions --data sample --dataset esl", "has 3 qualities or more"),
        ("dailydialogpp --dataset fed-turn", "dailydialogpp does not support --dataset"),
        ("dailydialogpp --metric length --from nowhere", "nowhere holds no dev.json and test.json of DailyDialog++"),
        ("dailydialogpp --metric length", "DailyDialog++ is not here: `harness fetch --corpora dailydialog_pp`"),
        ("discrimination --metric dynaeval[window=6]", "this study sets window itself"),
        ("discrimination --metric bleu", "none of them was asked for"),
        ("discrimination --metric random", "none of the corpora is here"),
    ):
        assert main(["study", *line.split(), "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert message in error.splitlines()[-1]
        assert error.count("\n") == 1
    assert not (tmp_path / "studies").exists()
