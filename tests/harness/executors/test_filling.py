"""Filling the store beside other runs: what one of them has scored in the meantime is not scored again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.run import plan, preparing
from harness.run.compare import Draws
from harness.run.plan import Selection
from harness.run.preparing import CrewChoice
from harness.scoring.executors import filling
from harness.scoring.executors.seeing import Seen
from harness.scoring.score import Scores
from harness.scoring.store import stem


def test_what_another_run_scored_after_the_plan_was_made_is_taken_as_it_is(tmp_path: Path, home: Path) -> None:
    planned = plan.make(Selection(metrics=("length",), datasets=("esl",), limit=20))
    context = preparing.prepared(planned, home, tmp_path / "out", Draws(0, 0))
    dataset = plan.load(planned.cards[0], home, planned.selection)
    assert dataset is not None
    with context.filling as ours:
        cell, = ours.cells(dataset, planned.chosen)
        theirs = Scores(cell.items, {"length": np.zeros(20)}, 0.5)
        context.store.put(cell.fingerprint, cell.signature, theirs)
        assert ours.fill([cell]) == {}
        assert ours.scored == set()
        assert context.store.blobs.names("claims", "*") == []
    kept = context.store.get(cell.fingerprint, cell.signature)
    assert kept is not None
    assert not kept.columns["length"].any()


def test_what_another_run_works_on_is_passed_over_and_waited_for(
        tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan.make(Selection(metrics=("length", "distinct"), datasets=("esl", "ncm"), limit=20))
    theirs = preparing.prepared(planned, home, tmp_path / "out", Draws(0, 0)).filling
    context = preparing.prepared(planned, home, tmp_path / "out", Draws(0, 0))
    monkeypatch.setattr(filling, "WAIT", 0)
    with theirs:
        assert not theirs.ahead, "it was alone"
        with context.filling as ours:
            assert ours.ahead
            cells = [cell for card in planned.cards if (dataset := plan.load(card, home, planned.selection))
                     for cell in ours.cells(dataset, planned.chosen)]
            first, *rest = cells
            assert theirs.claims.take(stem(first.fingerprint, first.signature))
            said: list[tuple[str, int]] = []

            class Finishing(Seen):
                def say(self, text: str) -> None:
                    said.append((text, len(ours.scored)))
                    made = Scores(first.items, {"length": np.zeros(20)}, 0.5)
                    context.store.put(first.fingerprint, first.signature, made)

            ours.watcher = Finishing(context.progress)
            assert ours.fill(cells) == {}
            assert ours.scored == {(cell.fingerprint, cell.signature) for cell in rest}
    (text, before), = said
    assert "another run works on 1 pairs" in text
    assert before == len(rest) == 3, "it waits when it has nothing else to do"


def test_beside_another_run_a_model_for_each_worker_is_claimed_at_once(tmp_path: Path, home: Path) -> None:
    planned = plan.make(Selection(metrics=("length", "distinct", "random"), datasets=("esl",), limit=20))
    theirs = preparing.prepared(planned, home, tmp_path / "out", Draws(0, 0)).filling
    ours = preparing.prepared(planned, home, tmp_path / "out", Draws(0, 0), crew=CrewChoice("local:2")).filling
    dataset = plan.load(planned.cards[0], home, planned.selection)
    assert dataset is not None
    with ours:
        cells = ours.cells(dataset, planned.chosen)
        assert ours._batches(cells) == [cells]
        with theirs:
            assert ours._batches(cells) == [cells[:2], cells[2:]]
