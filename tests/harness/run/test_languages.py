"""Datasets in several languages: read, kept and passed on with their language, on boards of each."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.dataset import Item, fingerprint
from harness.api import score, to_datasets
from harness.cli import main
from harness.results import files

CHINESE = (("你喜欢喝茶吗？", "喜欢，我每天都喝绿茶。", 5), ("车站在哪里？", "不知道。", 2),
           ("你吃饭了吗？", "今天天气很好。", 1), ("你周末做什么？", "我和朋友去爬山。", 4),
           ("这本书好看吗？", "很好看，故事很感人。", 5))
MIXED = (("你喜欢喝茶吗？", "喜欢，我每天都喝绿茶。", 5, "zh"), ("¿Dónde está la estación?", "No lo sé.", 2, "es"),
         ("What do you do on Sundays?", "I go hiking with a friend.", 4, "en"),
         ("هل تحب القهوة؟", "نعم، كل صباح.", 5, "ar"), ("¿Has comido?", "Hoy hace buen tiempo.", 1, "es"))


def card(folder: Path, name: str, rows: list[dict[str, object]], language: str = "") -> str:
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\nfile = "{name}.jsonl"\nqualities = ["overall"]\n' + (
        f'language = "{language}"\n' if language else ""))
    return str(path)


def chinese(folder: Path, language: str = "zh") -> str:
    return card(folder, "cha", [{"item": str(place), "context": context, "response": response, "overall": vote}
                                for place, (context, response, vote) in enumerate(CHINESE)], language)


def mixed(folder: Path) -> str:
    return card(folder, "mixed", [{"item": str(place), "context": context, "response": response, "overall": vote,
                                   "language": language}
                                  for place, (context, response, vote, language) in enumerate(MIXED)], "mul")


def test_a_board_for_each_language_and_one_over_them(tmp_path: Path, home: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--dataset", chinese(tmp_path), "--dataset", mixed(tmp_path), "--metric", "length", "--metric",
           "context-overlap", "--metric", "distinct", "--draws", "50", "--out", str(tmp_path / "out")]
    assert main([*run, "--language", "all"]) == 0
    results = files.read(tmp_path / "out" / "report")
    boards = {row.board for row in results.ranking if ":" not in row.board}
    assert boards == {"own", "own-zh", "own-mul"}
    (own,) = (row for row in results.ranking if (row.board, row.metric, row.statistic, row.rule) == (
        "own-zh", "length", "spearman", "dev"))
    (alone,) = (row for row in results.correlations if (row.dataset, row.metric, row.statistic) == (
        "cha", "length", "spearman"))
    assert (own.targets, own.value) == (1, alone.value)
    assert main(["submit", str(tmp_path / "packed.zip"), "--out", str(tmp_path / "out")]) == 0
    assert main(["verify", str(tmp_path / "packed.zip")]) == 0
    printed = capsys.readouterr().out
    assert "Your own datasets in zh: Spearman" in printed
    assert "no difference" in printed
    assert "<dt>Language</dt><dd>zh</dd>" in (tmp_path / "out/site/dataset/cha.html").read_text().replace("\n", "")
    assert main([*run, "--language", "zh"]) == 0
    assert [entry.name for entry in files.read(tmp_path / "out" / "report").datasets] == ["cha"]
    assert main([*run, "--language", "tlh"]) == 2
    assert "no dataset here is in the language tlh; there are en, mul, zh" in capsys.readouterr().err


def test_an_item_keeps_its_language_wherever_it_goes(tmp_path: Path, home: Path) -> None:
    assert main(["import", mixed(tmp_path)]) == 0
    dataset = registry.load("mixed", home)
    assert [item.language for item in dataset.items] == ["zh", "es", "en", "ar", "es"]
    assert fingerprint(replace(item, language="en") for item in dataset.items) != dataset.fingerprint
    lengths = score("length", dataset)["length"]
    assert lengths.tolist() == [9, 3, 6, 3, 4]
    pytest.importorskip("datasets")
    np.testing.assert_array_equal(score("length", to_datasets("mixed", home)["items"])["length"], lengths)
    assert [Item.of(json.loads(json.dumps(item.record))) for item in dataset.items] == [*dataset.items]


def test_a_language_is_said_and_never_guessed(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", chinese(tmp_path, "")]) == 0
    assert ("look at this: 5 items are mostly in letters that are not Latin, and of the language en; name another by "
            "language (cha.jsonl, line 1;") in capsys.readouterr().out
    assert main(["check", chinese(tmp_path, "Chinese")]) == 2
    assert "language: should be the code of a language, such as en or zh, is 'Chinese'" in capsys.readouterr().err
    path = card(tmp_path, "bad", [{"item": "1", "context": "a", "response": "b", "overall": 1, "language": "Spanish"}])
    assert main(["check", path]) == 2
    assert "bad.jsonl, line 1: record 1, field 'language': should be a code such as en or zh, not 'Spanish'" in (
        capsys.readouterr().err)
