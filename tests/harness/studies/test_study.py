"""`harness study`: its pictures, and what it refuses."""

from pathlib import Path

from tests.conftest import Invoke


def test_impossible_studies_are_refused_in_one_line(tmp_path: Path, invoke: Invoke) -> None:
    for line, message in (
        ("dimension", "did you mean 'dimensions'"),
        ("dimensions --seed -1", "--seed should be 0 or more"),
        ("dimensions --limit 0", "--limit should be 1 or more"),
        ("dimensions --metric bleu", "dimensions does not support --metric"),
        ("dimensions --data sample --dataset esl", "has 3 qualities or more"),
        ("dailydialogpp --metric length --from nowhere", "nowhere holds no dev.json and test.json of DailyDialog++"),
        ("dailydialogpp --metric length", "DailyDialog++ is not here: `harness fetch --corpora dailydialog_pp`"),
        ("discrimination --metric dynaeval[window=6]", "this study sets window itself"),
        ("discrimination --metric bleu", "none of them was asked for"),
        ("discrimination --metric random", "none of the corpora is here"),
    ):
        error = invoke("study", *line.split(), "--out", tmp_path, status=2).err
        assert message in error.splitlines()[-1]
        assert error.count("\n") == 1
    assert not (tmp_path / "studies").exists()
