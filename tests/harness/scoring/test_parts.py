"""The loop over parts: each part is scored once, stored and joined; errors, damage and lost workers are handled."""

import io
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from harness.errors import ScoringFailed, StoreError
from harness.scoring.pairs import Pair, models_key
from harness.scoring.parts import Part, Result, cut_pairs, score_pairs, stoppable
from harness.scoring.progress import Progress, RunProgress
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore, Span
from metrics import registry
from metrics.errors import CannotScore, MissingResource
from metrics.models.service import Models
from metrics.registry import Chosen

ITEMS = tuple(f"item-{number}" for number in range(300))
SPANS = [(0, 64), (64, 128), (128, 192), (192, 256), (256, 300)]
FINGERPRINT = "f" * 64
COLUMN = np.arange(300.0)

Answer = Callable[[Part], Exception | str | None]


def pair(name: str, *, group: str = "", whole: bool = False, cost: float = 1.0, models: Sequence[str] = ()) -> Pair:
    """Return a metric on a dataset; at a second per item, a part has 64 items."""
    metric = SimpleNamespace(card=SimpleNamespace(name=name, scope="dataset" if whole else "item", models=models))
    return Pair("toy", FINGERPRINT, ITEMS, Chosen(metric, "", name), f"{name}|r1", group, cost)  # type: ignore[arg-type]


@dataclass
class Fake:
    """Two workers that store the index of each item, or fail as `answer` says; a string stands for a lost worker."""

    store: ScoreStore
    answer: Answer = lambda part: None
    scored: list[tuple[str, Span]] = field(default_factory=list)

    def score(self, parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress) -> Iterator[Result]:
        for part in parts:
            if stopping():
                return
            self.scored.append((part.pair.label, part.span))
            error = self.answer(part)
            if error is None:
                scores = Scores(ITEMS[slice(*part.span)], {"x": COLUMN[slice(*part.span)]}, 0.5)
                if part.span == (0, len(ITEMS)):
                    self.store.put(*part.pair.key, scores)
                else:
                    self.store.put_part(*part.pair.key, part.span, scores)
            yield Result(part, 0.5, lost=error) if isinstance(error, str) else Result(part, 0.5, error)


@pytest.fixture
def store(tmp_path: Path) -> ScoreStore:
    return ScoreStore(tmp_path)


def run(store: ScoreStore, *pairs: Pair, answer: Answer = lambda part: None) -> tuple[dict[str, Exception], Fake]:
    executor = Fake(store, answer)
    errors = score_pairs(pairs, executor.score, store, RunProgress(terminal=Progress(io.StringIO())), workers=2)
    return {key.partition("|")[0]: error for (_, key), error in errors.items()}, executor


def column(store: ScoreStore, name: str) -> list[float]:
    scores = store.get(FINGERPRINT, f"{name}|r1")
    assert scores is not None
    assert scores.items == ITEMS
    return scores.columns["x"].tolist()


def keep(store: ScoreStore, *spans: Span) -> None:
    for span in spans:
        store.put_part(FINGERPRINT, "a|r1", span, Scores(ITEMS[slice(*span)], {"x": COLUMN[slice(*span)]}, 1.0))


def test_parts_are_scored_once_and_joined(store: ScoreStore, tmp_path: Path) -> None:
    errors, executor = run(store, pair("a"), pair("b", group="m"), pair("c", group="m"), pair("d", whole=True))
    assert errors == {}
    for name in "abcd":
        assert column(store, name) == COLUMN.tolist()
    assert list(tmp_path.rglob("*.shard")) == []
    assert [span for name, span in executor.scored if name == "a"] == SPANS
    assert ("d", (0, 300)) in executor.scored
    assert len(executor.scored) == len(set(executor.scored))


def test_metrics_that_share_models_have_equal_consecutive_parts(store: ScoreStore) -> None:
    parts = cut_pairs([pair("b", group="m", cost=0.5), pair("c", group="m", cost=0.5)], store, workers=2)
    assert [(part.pair.label, part.span) for part in parts[:4]] == [
        ("b", (0, 64)), ("c", (0, 64)), ("b", (64, 128)), ("c", (64, 128))]
    assert [part.span for part in cut_pairs([pair("a")], store)] == [(0, 300)]
    assert [part.span for part in cut_pairs([pair("a", models=["lm"])], store)] == [(0, 256), (256, 300)]


@pytest.mark.parametrize("kind", [ScoringFailed, MissingResource, CannotScore])
def test_a_pair_without_scores_has_the_error_of_its_first_part(kind: type[Exception], store: ScoreStore) -> None:
    errors, _ = run(store, pair("a"), pair("b"),
                    answer=lambda part: kind(f"at {part.span[0]}") if part.pair.label == "a" else None)
    assert (type(errors["a"]), str(errors["a"])) == (kind, "at 0")
    assert column(store, "b") == COLUMN.tolist()


def test_a_crash_keeps_the_other_parts(store: ScoreStore) -> None:
    errors, _ = run(store, pair("a"), answer=lambda part: ScoringFailed("broken") if part.span[0] == 64 else None)
    assert errors.keys() == {"a"}
    assert list(store.parts(FINGERPRINT, "a|r1")) == [SPANS[0], *SPANS[2:]]


def test_items_of_a_refused_part_have_no_score(store: ScoreStore) -> None:
    errors, _ = run(store, pair("a"), answer=lambda part: CannotScore("no reference") if part.span[0] == 64 else None)
    assert errors == {}
    assert np.isnan(column(store, "a")[64:128]).all()
    assert np.isfinite(column(store, "a")[:64]).all()


def test_a_retry_next_to_a_refused_part_keeps_its_boundaries(store: ScoreStore) -> None:
    lost = iter(["died"])

    def answer(part: Part) -> Exception | str | None:
        if part.pair.label == "a" and part.span[1] <= 64:
            return CannotScore("no reference")
        return next(lost, None) if (part.pair.label, part.span[0]) == ("a", 64) else None

    errors, executor = run(store, pair("a", group="m", cost=0.3), pair("b", group="m", cost=0.3), answer=answer)
    assert errors == {}
    assert np.isnan(column(store, "a")).nonzero()[0].tolist() == list(range(64))
    assert executor.scored[-1] == ("a", (64, 128))


@pytest.mark.parametrize(("stored", "scored"), [([(10, 200)], [(0, 10), (200, 256), (256, 300)]), (SPANS, [])])
def test_stored_parts_are_joined_and_not_scored_again(stored: list[Span], scored: list[Span],
                                                      store: ScoreStore) -> None:
    keep(store, *stored)
    _, executor = run(store, pair("a"))
    assert [span for _, span in executor.scored] == scored
    assert column(store, "a") == COLUMN.tolist()


def test_a_damaged_part_is_scored_again(store: ScoreStore, tmp_path: Path) -> None:
    keep(store, *SPANS)
    damaged = sorted(tmp_path.rglob("*.shard"))[2]
    damaged.write_bytes(damaged.read_bytes()[:-7])
    _, executor = run(store, pair("a"))
    assert column(store, "a") == COLUMN.tolist()
    assert [span for _, span in executor.scored] == [(128, 192)]
    assert len(store.set_aside) == 1


def test_a_part_that_lost_its_worker_is_tried_again(store: ScoreStore) -> None:
    deaths = iter(["died", "died"])
    _, executor = run(store, pair("a"), answer=lambda part: next(deaths, None) if part.span[0] == 64 else None)
    assert [span for _, span in executor.scored] == [*SPANS, SPANS[1], SPANS[1]]
    assert column(store, "a") == COLUMN.tolist()


def test_a_part_that_killed_three_workers_fails(store: ScoreStore) -> None:
    errors, executor = run(store, pair("a"), pair("b"), answer=lambda part: "died" if part.pair.label == "a" else None)
    assert str(errors["a"]).endswith(" killed 3 workers: died")
    assert errors.keys() == {"a"}
    assert len(executor.scored) == 4 * len(SPANS)


def test_parts_that_cannot_be_read_back_end_the_run(store: ScoreStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScoreStore, "join_parts", lambda *_: None)
    with pytest.raises(StoreError):
        run(store, pair("a"))


def test_a_stopped_run_keeps_the_current_part(store: ScoreStore) -> None:
    def stop(part: Part) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(store, pair("a"), answer=stop)
    assert list(store.parts(FINGERPRINT, "a|r1")) == SPANS[:1]


@pytest.mark.parametrize(("signals", "raises", "announced"), [
    ((signal.SIGINT,), None, ["stopping", "end"]),
    ((signal.SIGTERM,), ValueError, ["stopping"]),
    ((signal.SIGINT, signal.SIGINT), None, ["stopping"]),
], ids=["once", "failing meanwhile", "twice"])
def test_the_second_signal_acts_at_once(
        signals: tuple[signal.Signals, ...], raises: type[Exception] | None, announced: list[str]) -> None:
    events: list[str] = []

    def block() -> None:
        with stoppable(lambda: events.append("stopping")):
            for number in signals:
                signal.raise_signal(number)
            if raises:
                raise raises
            events.append("end")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert events == announced


def test_a_missing_model_is_not_shared(tmp_path: Path) -> None:
    class Without(Models):
        def identity(self, kind: str, name: str) -> str:
            raise MissingResource(f"{kind} {name}: torch is not installed")

    metric = registry.choose("cosine").metric
    assert models_key(metric, Models(tmp_path)).startswith("encoder=")
    assert models_key(metric, Without(tmp_path)) == ""
