"""The commands for score files: template, validation and ranking."""

import csv
import json
from pathlib import Path

import pytest

from benchmarks import registry
from harness.cli import main

ID = registry.sample(registry.card("jsalt")).items[0].id


def filled(folder: Path, *flags: str, every: int = 1) -> Path:
    """Fill a score into every row of the template, or into one of `every` rows."""
    path, mine = folder / "template.csv", folder / "mine.csv"
    assert main(["template", "--dataset", "fed-dial", "--dataset", "jsalt", "--out", str(path), *flags]) == 0
    with path.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    with mine.open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *([row[0], number * 7919 % 101 / 10] for number, row in enumerate(rows)
                                              if number % every == 0)])
    return mine


def test_filled_template_is_valid_and_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, out = filled(tmp_path), tmp_path / "out"
    assert "bundled sample" in capsys.readouterr().err
    assert main(["validate", str(mine)]) == 0
    assert capsys.readouterr().out.endswith("mine.csv: valid\n")
    assert main(["run", "--dataset", "jsalt", "--dataset", "fed-dial", "--metric", f"scores:{mine}", "--metric",
                 "length", "--draws", "0", "--out", str(out), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    scored = {row["dataset"] for row in rows if row["metric"] == "scores:mine.csv" and row["value"] is not None}
    assert scored == {"jsalt", "fed-dial"}
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert str(tmp_path).encode() not in written, "no folder of this machine is in what can be published"


def test_missing_scores_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = filled(tmp_path, "--by", "item", every=2)
    items = {name: len(registry.sample(registry.card(name)).items) for name in ("fed-dial", "jsalt")}
    capsys.readouterr()
    assert main(["validate", str(mine), "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)
    assert problems["counts"] == {"missing": sum(items.values()) // 2}
    assert (problems["file"], problems["refused"], problems["origin"]) == ("mine.csv", False, "sample")
    assert set(problems["datasets"]) == set(items)
    assert main(["validate", str(mine), "--dataset", "fed-dial", "--dataset", "esl"]) == 1
    printed = capsys.readouterr().out
    assert "esl: none of its 24 items has a score" in printed
    assert "warnings" in printed


def test_invalid_score_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.csv"
    for content, status, message in (
            (None, 2, "unreadable: cannot be opened"), ("dialogue_id,score\njsalt_0,1\n", 1, "2 unknown"),
            (f"dialogue_id,score\n{ID},x\n", 1, "1 no number, 31 missing"),
            ("dialogue_id;value\n", 2, "1 unreadable")):
        if content is not None:
            path.write_text(content)
        assert main(["validate", str(path), "--dataset", "jsalt"]) == status
        assert message in capsys.readouterr().out


def test_template_never_overwrites_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", "--split", "test"]) == 0
    assert capsys.readouterr().out.startswith("dialogue_id,score\ndstc10-task5.1_")
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    for out, part in ((tmp_path / "mine.docx", ".csv"), (path, "mine.csv")):
        assert main(["template", "--out", str(out)]) == 2
        assert part in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_texts_suffice_to_score_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Covers a whole dialogue and a response."""
    lines, names = tmp_path / "texts.jsonl", ("persona-usr", "fed-dial")
    assert main(["template", "--texts", "--dataset", names[0], "--dataset", names[1], "--out", str(lines)]) == 0
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    items = [item for name in names for item in registry.sample(registry.card(name)).items]
    assert {row["dataset"]: row["response"] is None for row in rows} == {"persona-usr": False, "fed-dial": True}
    for row, item in zip(rows, items, strict=True):
        assert row["dialogue_id"] == item.id
        assert row["context"] == [{"speaker": turn.speaker, "text": turn.text} for turn in item.context]
        assert row["references"] == [reference.text for reference in item.references]
        assert row["facts"] == list(item.facts)
    mine = tmp_path / "mine.csv"
    mine.write_text("dialogue_id,score\n" + "".join(f"{row['dialogue_id']},{len(row['response'])}\n" for row in rows
                                                   if row["response"] is not None))
    assert main(["validate", str(mine), "--dataset", "persona-usr"]) == 0
    capsys.readouterr()
    assert main(["template", "--texts", "--dataset", "jsalt"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["dataset"] == "jsalt"
