"""`harness study discrimination`: dialogues and worse ones, accuracies by hand, what is printed, and end to end."""

import csv
import dataclasses
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from benchmarks.corpora import corpora, files  # noqa: E402
from benchmarks.dataset import Item, Utterance  # noqa: E402
from benchmarks.errors import BenchmarkError  # noqa: E402
from harness.cli import main  # noqa: E402
from harness.results.cache import Cache  # noqa: E402
from harness.studies import discrimination  # noqa: E402
from harness.studies.discrimination import Cell, trainings  # noqa: E402
from harness.studies.discrimination.trainings import PARTS, adjacent, dialogues, share  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.graph.dynaeval.dialogues import Turns  # noqa: E402
from metrics.graph.dynaeval.network import DialogueGraph  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.models.text_table import TextTable  # noqa: E402

DAILY = PARTS[2]
SAID = ("do you like", "yes i like", "what is it that", "i know that")
SYSTEMS = ("random", "cosim", "s-dicoh")
THINGS = ("tea", "the reply", "what is not", "good tea", "a reply", "you and i", "to be there", "hello")


def rows(split: str, count: int, turns: int = 4) -> list[dict[str, Any]]:
    def said(number: int, turn: int) -> str:
        return f"{SAID[turn % 4]} {THINGS[number % 8]} {split[:2]} {chr(97 + number % 26)} {turn}"

    return [{"dialogue_id": f"{split}-{turns}-{number}", "split": split, "utterances": [
        {"speaker": "AB"[turn % 2], "text": said(number, turn)} for turn in range(turns)]} for number in range(count)]


@pytest.fixture
def with_corpus(home: Path) -> Path:
    files.write(home / "corpora" / "dailydialog.jsonl.gz",
                       [*rows("train", 40), *rows("test", 6), *rows("test", 2, turns=3), *rows("test", 1, turns=31)])
    return home


def test_the_part_is_its_split_without_what_is_too_short_or_long(with_corpus: Path) -> None:
    assert [one.id for one in dialogues(DAILY, with_corpus)] == [f"test-4-{number}" for number in range(6)]
    assert len(dialogues(DAILY, with_corpus, 2)) == 2
    tried = {each.id for each in dialogues(DAILY, with_corpus)}
    assert not tried & {each.id for each in corpora.load("dailydialog", with_corpus).dialogues}, "none is trained on"
    with pytest.raises(BenchmarkError, match="harness fetch --corpora personachat"):
        dialogues(PARTS[1], with_corpus)


def read(texts: Sequence[str]) -> Any:
    return np.array([[len(text), text.count("e"), 1.0, 0.0] for text in texts], dtype=np.float32)


def test_share_by_hand() -> None:
    # 3 is above 1 and 2 and ties with 3; 0 is above none
    assert share(np.array([3.0, 0.0]), np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])) == pytest.approx(2.5 / 6)
    assert np.isnan(share(np.array([np.nan]), np.array([1.0, 2.0])))


def test_adjacent_is_cosim(tiny_encoder: Path, home: Path) -> None:
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    turns = (Utterance("A", "hello there"), Utterance("B", "you like tea"), Utterance("A", "what"))
    items = [Item("three", turns, None), Item("two", turns[1:], None)]
    table = TextTable((turn.text for turn in turns), models.encoder().means_and_maxima)
    expected = registry.choose("cosim").metric.score(items, models)["cosim"]
    rows = [Turns(item.context) for item in items]
    np.testing.assert_allclose(adjacent(rows, table), expected, atol=1e-6)


def test_the_paper_stands_beside() -> None:
    findings = discrimination.findings({
        Cell("dynaeval", "dynaeval", PARTS[0], "ur"): (0.95, 0.97), Cell("cosim", "cosim", PARTS[0], "ur"): (0.9, 0.9),
        Cell("cosim", "cosim", PARTS[1], "ss"): (0.5, 0.5)})
    (table,) = findings.tables
    assert table.head == ("system", "EmpatheticDialogues UR", "paper", "ConvAI2 SS", "paper")
    assert table.rows == (("dynaeval", "96.00 ± 1.41", "94.30", "", ""), ("cosim", "90.00", "63.54", "50.00", "92.93"))
    assert discrimination.paper(Cell("s-dicoh", "s-dicoh", PARTS[2], "ss")) == Decimal("0.8492")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrimination, "PARTS", [dataclasses.replace(part, steps=1) for part in PARTS])
    monkeypatch.setattr(trainings, "SEEDS", 1)


@pytest.mark.usefixtures("short")
def test_end_to_end(with_corpus: Path, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                    capsys: pytest.CaptureFixture[str]) -> None:
    command = ["study", "discrimination", "--encoder", str(tiny_encoder), "--limit", "3",
               "--out", str(tmp_path), *(word for name in reversed(SYSTEMS) for word in ("--metric", name))]
    assert main(command) == 0
    printed = capsys.readouterr().out
    folder = tmp_path / "studies" / "discrimination"
    with (folder / "accuracy.csv").open() as stream:
        entries = list(csv.DictReader(stream))
    assert [(entry["system"], entry["negatives"]) for entry in entries] == [
        (name, kind) for kind in ("ur", "ss") for name in SYSTEMS]
    assert all(0 <= float(entry["accuracy"]) <= 1 and len(json.loads(entry["accuracies"])) == 1 for entry in entries)
    page = (folder / "discrimination.md").read_text()
    assert "| s\\-dicoh |" in page
    assert "Not here, and left out: EmpatheticDialogues, ConvAI2" in page

    def trained(*_: object) -> None:
        raise AssertionError("what was trained is not trained again")

    monkeypatch.setattr("metrics.training.loop.fit", trained)
    assert main(command) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.usefixtures("short")
def test_options_and_the_encoder_of_a_system_are_heeded(with_corpus: Path, tiny_encoder: Path, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """Three speakers have relations of their own when it is judged too; an encoder of its own is the one that reads."""
    def job(asked: str, choice: Choice) -> trainings.Training:
        metric = registry.choose(asked).metric
        return trainings.Training(asked, metric, DAILY, "ur", 0, 3, Models(with_corpus, choice), Cache(tmp_path))

    seen: list[tuple[int, int]] = []

    def judged(network: DialogueGraph, readings: Sequence[Turns], _table: Any) -> Any:
        seen.append((readings[0].window, network.speakers))
        return np.zeros(len(readings))

    monkeypatch.setattr(DialogueGraph, "logits", judged)
    monkeypatch.setattr("metrics.training.loop.fit", lambda *_: None)
    named = Choice(encoder=str(tiny_encoder))
    assert job("dynaeval[speakers=3]", named).accuracies() == [0.5]
    assert set(seen) == {(4, 3)}
    own = job(f"s-dicoh[encoder={tiny_encoder}]", Choice())
    same, other = job("s-dicoh", named), job("s-dicoh", Choice())
    assert own.key[-1] == same.key[-1] != other.key[-1]
    assert own.read(["tea"]).shape == same.read(["tea"]).shape


def test_a_corpus_too_small_to_train_on_is_a_failure_of_its_cells(home: Path, tiny_encoder: Path, short: None,
                                                                   tmp_path: Path,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    files.write(home / "corpora" / "dailydialog.jsonl.gz", [*rows("train", 1), *rows("test", 3)])
    assert main(["study", "discrimination", "--encoder", str(tiny_encoder), "--metric", "s-dicoh", "--metric", "random",
                 "--out", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "s-dicoh on DailyDialog, ur: the corpora have" in told.err
    assert "random" in told.out
