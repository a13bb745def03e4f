"""Several runs in one store: what another run has scored is taken, what it is scoring is passed over and waited for."""

from pathlib import Path

import numpy as np
import pytest

from harness.run import plan
from harness.run.plan import Draws, Selection
from harness.run.workspace import Workers, Workspace, open_workspace
from harness.scoring import scorer
from harness.scoring.executors import _batches, score_pairs
from harness.scoring.pairs import Pair, pairs
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer
from harness.scoring.store import lock_name


def opened(home: Path, out: Path, executor: str, *metrics: str) -> tuple[Workspace, Scorer, list[Pair]]:
    """A workspace, and the scorer and the pairs of one dataset."""
    planned = plan.make(Selection(metrics=metrics, datasets=("esl",), limit=20), Draws(0, 0))
    work = open_workspace(planned, home, out, workers=Workers(executor))
    dataset = plan.load(planned.cards[0], home, planned.selection)
    assert dataset is not None
    return (work, Scorer(dataset, work.models, work.store),
            pairs(dataset, planned.chosen, work.models, work.store, work.costs))


def score_in(work: Workspace, own: Scorer, to_score: list[Pair]) -> set[str]:
    """Score as a run does; the signatures of what was scored."""
    if work.executor is None:
        own.score_all(to_score, work.locks, work.progress)
        return own.fresh
    done = score_pairs(to_score, work.executor, work.store, work.locks, work.limits, work.progress)
    assert done.errors == {}
    return {signature for _, signature in done.scored}


@pytest.mark.parametrize("executor", ["local", "local:1"])
def test_what_another_run_scored_after_the_plan_was_made_is_taken_as_it_is(
        executor: str, tmp_path: Path, home: Path) -> None:
    work, own, (pair,) = opened(home, tmp_path / "out", executor, "length")
    with work.locks:
        work.store.put(*pair.key, Scores(pair.items, {"length": np.zeros(20)}, 0.5))
        assert score_in(work, own, [pair]) == set()
        assert work.store.files.names("locks", "*") == []
    stored = work.store.get(*pair.key)
    assert stored is not None
    assert not stored.columns["length"].any()


@pytest.mark.parametrize("executor", ["local", "local:1"])
def test_what_another_run_is_scoring_is_waited_for_at_the_end(
        executor: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, *_ = opened(home, tmp_path / "out", "local", "length", "distinct")
    work, own, (first, second) = opened(home, tmp_path / "out", executor, "length", "distinct")
    monkeypatch.setattr(scorer, "WAIT", 0)
    said: list[tuple[str, bool]] = []

    def finish(text: str) -> None:
        """The other run ends as soon as this one says that it waits."""
        said.append((text, work.store.has(*second.key)))
        work.store.put(*first.key, Scores(first.items, {"length": np.zeros(20)}, 0.5))
        theirs.locks.release(lock_name(*first.key))

    monkeypatch.setattr(type(work.progress), "say", lambda self, text: finish(text))
    with theirs.locks, work.locks:
        assert theirs.locks.take(lock_name(*first.key))
        try:
            assert score_in(work, own, [first, second]) == {second.signature}
        finally:
            if work.executor:
                work.executor.close()
    ((text, scored),) = said
    assert "another run works on 1 pairs" in text
    assert scored, "it waits when it has nothing else to do"


def test_beside_another_run_a_model_for_each_worker_is_locked_at_once(tmp_path: Path, home: Path) -> None:
    theirs, *_ = opened(home, tmp_path / "out", "local", "length")
    work, _, to_score = opened(home, tmp_path / "out", "local:2", "length", "distinct", "random")
    with work.locks:
        assert list(_batches(to_score, work.locks, 2)) == [to_score]
        with theirs.locks:
            assert list(_batches(to_score, work.locks, 2)) == [to_score[:2], to_score[2:]]
