"""Datasets in several languages: items keep their language, and each language has its boards."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.dataset import Item, fingerprint
from harness.api import score, to_datasets
from harness.results import files
from tests.conftest import Invoke

CHINESE = (("你喜欢喝茶吗？", "喜欢，我每天都喝绿茶。", 5), ("车站在哪里？", "不知道。", 2),
           ("你吃饭了吗？", "今天天气很好。", 1), ("你周末做什么？", "我和朋友去爬山。", 4),
           ("这本书好看吗？", "很好看，故事很感人。", 5))
MIXED = (("你喜欢喝茶吗？", "喜欢，我每天都喝绿茶。", 5, "zh"), ("¿Dónde está la estación?", "No lo sé.", 2, "es"),
         ("What do you do on Sundays?", "I go hiking with a friend.", 4, "en"),
         ("هل تحب القهوة؟", "نعم، كل صباح.", 5, "ar"), ("¿Has comido?", "Hoy hace buen tiempo.", 1, "es"))


def card(folder: Path, name: str, rows: list[dict[str, object]], language: str = "") -> Path:
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\nfile = "{name}.jsonl"\nqualities = ["overall"]\n' + (
        f'language = "{language}"\n' if language else ""))
    return path


def written(folder: Path, name: str, language: str) -> Path:
    """Write a dataset of the Chinese rows, or of those in several languages."""
    fields = ("context", "response", "overall", "language")
    rows = CHINESE if name == "cha" else MIXED
    return card(folder, name, [{"item": str(index), **dict(zip(fields, row, strict=False))}
                               for index, row in enumerate(rows)], language)


def test_each_language_has_a_board_and_all_share_one(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    out, packed = tmp_path / "out", tmp_path / "packed.zip"
    run = ["run", "--dataset", written(tmp_path, "cha", "zh"), "--dataset", written(tmp_path, "mixed", "mul"),
           "--metric", "length", "--metric", "context-overlap", "--metric", "distinct", "--draws", "50", "--out", out]
    printed = invoke(*run, "--language", "all").out
    results = files.read(out / "report")
    assert {row.board for row in results.ranking if ":" not in row.board} == {"own", "own-zh", "own-mul"}
    (ranked,) = (row for row in results.ranking if (row.board, row.metric, row.statistic, row.rule) == (
        "own-zh", "length", "spearman", "dev"))
    (correlation,) = (row for row in results.correlations if (row.dataset, row.metric, row.statistic) == (
        "cha", "length", "spearman"))
    assert (ranked.targets, ranked.value) == (1, correlation.value)
    assert "in zh: Spearman" in printed
    assert "<dt>Language</dt><dd>zh</dd>" in (out / "site/dataset/cha.html").read_text().replace("\n", "")
    invoke("submit", packed, "--out", out)
    assert "no difference" in invoke("verify", packed).out
    invoke(*run, "--language", "zh")
    assert [entry.name for entry in files.read(out / "report").datasets] == ["cha"]
    assert "en, mul, zh" in invoke(*run, "--language", "tlh", status=2).err


def test_items_keep_their_language_wherever_they_go(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    invoke("import", written(tmp_path, "mixed", "mul"))
    dataset = registry.load("mixed", home)
    assert [item.language for item in dataset.items] == ["zh", "es", "en", "ar", "es"]
    assert fingerprint(replace(item, language="en") for item in dataset.items) != dataset.fingerprint
    assert [Item.of(json.loads(json.dumps(asdict(item)))) for item in dataset.items] == [*dataset.items]
    lengths = score("length", dataset)["length"]
    assert lengths.tolist() == [9, 3, 6, 3, 4]
    pytest.importorskip("datasets")
    np.testing.assert_array_equal(score("length", to_datasets("mixed", home)["items"])["length"], lengths)


def test_the_language_is_declared_and_never_guessed(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    for english in ("", "en-US"):
        printed = invoke("check", written(tmp_path, "cha", english)).out
        assert re.search(r"please check: 5 items .*`language` \(cha.jsonl, row 1;", printed)
    row = {"item": "1", "context": "a", "response": "b", "overall": 1, "language": "Spanish"}
    for path, part in ((written(tmp_path, "cha", "Chinese"), "'Chinese'"),
                       (card(tmp_path, "bad", [row]), "bad.jsonl, row 1: field 'language'")):
        assert part in invoke("check", path, status=2).err
