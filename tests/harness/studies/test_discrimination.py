"""`harness study discrimination`: perturbed dialogues, accuracies by hand, published accuracies, end to end."""

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
from harness.results.cache import Cache  # noqa: E402
from harness.studies import discrimination  # noqa: E402
from harness.studies.discrimination import PARTS, adjacent_cosines, dialogues, share_above  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.graph.dynaeval.dialogues import Turns  # noqa: E402
from metrics.graph.dynaeval.network import DialogueGraph  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.models.text_table import TextTable  # noqa: E402
from tests.conftest import Invoke  # noqa: E402
from tests.faults.runs import flags  # noqa: E402

DAILY = PARTS[2]
SAID = ("do you like", "yes i like", "what is it that", "i know that")
SYSTEMS = ("random", "cosim", "s-dicoh")
THINGS = ("tea", "the reply", "what is not", "good tea", "a reply", "you and i", "to be there", "hello")


def rows(split: str, count: int, turns: int = 4) -> list[dict[str, Any]]:
    return [{"dialogue_id": f"{split}-{turns}-{number}", "split": split, "utterances": [
        {"speaker": "AB"[turn % 2],
         "text": f"{SAID[turn % 4]} {THINGS[number % 8]} {split[:2]} {chr(97 + number % 26)} {turn}"}
        for turn in range(turns)]} for number in range(count)]


@pytest.fixture
def with_corpus(home: Path) -> Path:
    files.write(home / "corpora" / "dailydialog.jsonl.gz",
                [*rows("train", 40), *rows("test", 6), *rows("test", 2, turns=3), *rows("test", 1, turns=31)])
    return home


def test_parts_are_a_split_without_short_or_long_dialogues(with_corpus: Path) -> None:
    names = [dialogue.id for dialogue in dialogues(DAILY, with_corpus)]
    assert names == [f"test-4-{number}" for number in range(6)]
    assert len(dialogues(DAILY, with_corpus, 2)) == 2
    assert not {dialogue.id for dialogue in corpora.load("dailydialog", with_corpus).dialogues}.intersection(names)
    with pytest.raises(BenchmarkError, match="harness fetch --corpora personachat"):
        dialogues(PARTS[1], with_corpus)


def test_share_by_hand() -> None:
    # 3 is above 1 and 2 and ties with 3; 0 is above none of them
    assert share_above(np.array([3.0, 0.0]), np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])) == pytest.approx(2.5 / 6)
    assert np.isnan(share_above(np.array([np.nan]), np.array([1.0, 2.0])))


def test_adjacent_is_cosim(tiny_encoder: Path, home: Path) -> None:
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    turns = (Utterance("A", "hello there"), Utterance("B", "you like tea"), Utterance("A", "what"))
    items = [Item("three", turns, None), Item("two", turns[1:], None)]
    table = TextTable((turn.text for turn in turns), models.encoder().means_and_maxima)
    expected = registry.choose("cosim").metric.score(items, models)["cosim"]
    rows = [Turns(item.context) for item in items]
    np.testing.assert_allclose(adjacent_cosines(rows, table), expected, atol=1e-6)


def training(home: Path, name: str, part: discrimination.CorpusPart, kind: Any = "ur", choice: Choice | None = None,
             ) -> discrimination.Training:
    models = Models(home, choice or Choice())
    return discrimination.Training(name, registry.choose(name).metric, part, kind, 0, 3, models, Cache(home / "cache"))


def test_published_accuracies_are_shown(home: Path) -> None:
    findings = discrimination.findings({
        training(home, "dynaeval", PARTS[0]): (0.95, 0.97), training(home, "cosim", PARTS[0]): (0.9, 0.9),
        training(home, "cosim", PARTS[1], "ss"): (0.5, 0.5)})
    (table,) = findings.tables
    assert table.head == ("system", "EmpatheticDialogues UR", "paper", "ConvAI2 SS", "paper")
    assert table.rows == (
        ("dynaeval", "96.00 ± 1.41", "94.30 ± 0.07", "", ""), ("cosim", "90.00", "63.54", "50.00", "92.93"))
    found = discrimination.paper(training(home, "s-dicoh", PARTS[2], "ss"))
    assert found is not None
    assert found.value == Decimal("0.8492")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrimination, "PARTS", [dataclasses.replace(part, steps=1) for part in PARTS])
    monkeypatch.setattr(discrimination, "SEEDS", 1)


@pytest.mark.usefixtures("short", "with_corpus")
def test_end_to_end(tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    command = ["study", "discrimination", "--encoder", tiny_encoder, "--limit", "3", "--out", tmp_path,
               *flags("--metric", SYSTEMS[::-1])]
    printed = invoke(*command).out
    folder = tmp_path / "studies" / "discrimination"
    with (folder / "accuracy.csv").open() as stream:
        entries = list(csv.DictReader(stream))
    assert [(entry["system"], entry["negatives"]) for entry in entries] == [
        (name, kind) for kind in ("ur", "ss") for name in SYSTEMS]
    assert all(0 <= float(entry["accuracy"]) <= 1 and len(json.loads(entry["accuracies"])) == 1 for entry in entries)
    assert "EmpatheticDialogues, ConvAI2" in (folder / "discrimination.md").read_text()
    monkeypatch.setattr("metrics.training.loop.fit", None)  # nothing is trained again
    assert invoke(*command).out == printed


@pytest.mark.usefixtures("short")
def test_options_and_the_encoder_of_a_system_are_used(with_corpus: Path, tiny_encoder: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Three speakers have separate relations in scoring too; a system's encoder takes precedence over the run's."""
    def job(name: str, choice: Choice) -> discrimination.Training:
        return training(with_corpus, name, DAILY, choice=choice)

    seen: list[tuple[int, int]] = []

    def judged(network: DialogueGraph, readings: Sequence[Turns], _table: Any) -> Any:
        seen.append((readings[0].window, network.speakers))
        return np.zeros(len(readings))

    monkeypatch.setattr(DialogueGraph, "logits", judged)
    monkeypatch.setattr("metrics.training.loop.fit", lambda *_: None)
    run = Choice(encoder=str(tiny_encoder))
    assert job("dynaeval[speakers=3]", run).accuracies() == [0.5]
    assert set(seen) == {(4, 3)}
    named = job(f"s-dicoh[encoder={tiny_encoder}]", Choice())
    same, other = job("s-dicoh", run), job("s-dicoh", Choice())
    assert named.key[-1] == same.key[-1] != other.key[-1]
    assert named.vectors(["tea"]).shape == same.vectors(["tea"]).shape


@pytest.mark.usefixtures("short")
def test_a_corpus_too_small_to_train_on_fails_its_cells(home: Path, tiny_encoder: Path, tmp_path: Path,
                                                        invoke: Invoke) -> None:
    files.write(home / "corpora" / "dailydialog.jsonl.gz", [*rows("train", 1), *rows("test", 3)])
    out, err = invoke("study", "discrimination", "--encoder", tiny_encoder, "--metric", "s-dicoh", "--metric", "random",
                      "--out", tmp_path, status=1)
    assert "s-dicoh on DailyDialog, ur" in err
    assert "random" in out
