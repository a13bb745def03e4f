"""Each check of the contract finds a metric that breaks it, and names the item."""

import itertools
import os
import re
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.dataset import Item
from harness.contract import BrokenContract, Finding, Trial, demand, run_check, uncached
from harness.contract.checks import CHECKS
from harness.contract.trial import hard_cases
from metrics import registry
from metrics.errors import CannotScore, MissingResource
from metrics.metric import Metric, MetricCard
from metrics.models.service import Models
from tests.conftest import Invoke
from tests.faults import runs

Scoring = Callable[[Sequence[Item]], Any]


def made(score: Scoring, **card: Any) -> Metric:
    """Return a metric with this function as its score."""
    values = {"name": "odd", "title": "Odd", "columns": ("odd",), "family": "plug-in", "notes": "Odd.", **card}

    @dataclass(frozen=True)
    class Odd:
        card: ClassVar[MetricCard] = MetricCard(**values)

        def score(self, items: Sequence[Item], models: Models) -> Any:
            return score(items)

    return Odd()


def of_each(score: Callable[[Item], float], **card: Any) -> Metric:
    return made(lambda items: {"odd": np.array([score(item) for item in items], dtype=float)}, **card)


def check(name: str, metric: Metric, home: Path, **more: Any) -> Finding:
    return run_check(name, Trial(metric, uncached(Models(home)), **more))


def crashes_on(trouble: Callable[[Item], bool]) -> Metric:
    def score(item: Item) -> float:
        if trouble(item):
            raise ValueError(f"no {item.id}")
        return 1.0

    return of_each(score)


@pytest.mark.parametrize("name", hard_cases())
def test_a_crash_on_hard_items_is_found(name: str, home: Path) -> None:
    odd = hard_cases()[name][0].id
    finding = check(name, crashes_on(lambda item: item.id == odd), home)
    assert finding.state == "BROKEN"
    assert re.search(f"ValueError: no {odd}.* item '{odd}'", finding.text)
    assert check(name, of_each(lambda item: 1.0), home).state == "ok"


def after(action: Callable[[], object]) -> Metric:
    """Return a metric that does something else before it scores."""
    return made(lambda items: (action(), {"odd": np.ones(len(items))})[1])


def refuses(items: object) -> Any:
    raise CannotScore("no such language")


def len_of(item: Item) -> float:
    return float(len(item.response.text if item.response else ""))


CALLS = itertools.count()
RANKS = made(lambda items: {"odd": np.full(len(items), float(len(items)))}, scope="dataset")
OUTCOMES: list[tuple[str, Metric, str, str]] = [
    ("card", of_each(lambda item: 1.0, title=""), "BROKEN", "title"),
    ("card", of_each(lambda item: 1.0, notes=""), "BROKEN", "notes"),
    ("card", of_each(lambda item: 1.0, name="Odd One"), "BROKEN", "lower-case"),
    ("card", of_each(lambda item: 1.0, levels=("dialog",)), "BROKEN", "'dialog'"),
    ("sample", made(lambda items: {"odd": np.ones(1)}), "BROKEN", "1 number"),
    ("sample", made(lambda items: {name: np.ones(len(items)) for name in ("odd", "odd@Relevant")}), "BROKEN",
     "'relevance'"),
    ("sample", of_each(lambda item: np.nan), "BROKEN", "no item"),
    ("whole dialogues", crashes_on(lambda item: len(item.context) > 400), "BROKEN", "ValueError"),
    ("speed", crashes_on(lambda item: True), "BROKEN", "ValueError"),
    ("what is missing", of_each(lambda item: len(item.references), needs=("references",)), "BROKEN", "NaN"),
    ("what is missing", of_each(lambda item: len(item.context), needs=("context",)), "BROKEN", "'without context'"),
    ("permuted items", made(lambda items: {"odd": np.arange(len(items), dtype=float)}), "BROKEN", "in another order"),
    ("batches of 1, 7 and 64", made(lambda items: {"odd": np.full(len(items), float(len(items)))}), "BROKEN",
     'scope="dataset"'),
    ("batches of 1, 7 and 64", of_each(lambda item: len(item.context), needs=("context",)), "BROKEN",
     '"what is missing"'),
    ("batches of 1, 7 and 64", made(lambda items: {"odd": np.full(len(items), float(len(items) == 7))}),
     "BROKEN", "in batches of 7"),
    ("repeated runs", of_each(lambda item: next(CALLS)), "BROKEN", "the second time"),
    ("sample", of_each(lambda item: 1.0), "note", "cannot correlate with ratings"),
    ("sample", made(refuses), "BROKEN", "scores no item: no such language"),
    ("repeated runs", made(refuses), "note", ""),
    ("batches of 1, 7 and 64", RANKS, "note", ""),
    ("nothing but a response", of_each(lambda item: 1.0, needs=("references",)), "note",
     "not scored: no item has references, which the card needs"),
    ("repeated runs", of_each(len_of), "ok", "this process opens no connection; exactly equal"),
    ("process state", after(lambda: sys.stdout.write("hello\n")), "note", "hello"),
    ("process state", of_each(len_of), "ok", "as before"),
    ("process state", after(lambda: os.chdir("/")), "BROKEN", "changes the working directory, which"),
    ("card", made(refuses, columns=("bleu-1",)), "note", "tables show odd/bleu-1"),
    ("direction", of_each(lambda item: -len_of(item)), "note", "higher must be better"),
    ("direction", of_each(len_of), "ok", "odd 0."),
]


def test_promises_are_found_broken_or_kept(home: Path) -> None:
    for name, metric, state, part in OUTCOMES:
        finding = check(name, metric, home)
        assert (finding.check, finding.state) == (name, state)
        assert part in finding.text
    assert {*hard_cases(), *(name for name, *_ in OUTCOMES)} == set(CHECKS), "every check has a metric"


def test_a_changed_default_type_or_environment_is_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def change() -> None:
        torch.set_default_dtype(torch.float64)
        os.environ["ODD"] = "changed"

    monkeypatch.setenv("ODD", "")
    try:
        finding = check("process state", after(change), home)
    finally:
        torch.set_default_dtype(torch.float32)
    assert (finding.state, "variable ODD, torch's default type" in finding.text) == ("BROKEN", True)
    monkeypatch.delenv("ODD")  # libraries add variables when they are imported
    assert check("process state", after(lambda: os.environ.setdefault("ODD", "1")), home).state == "ok"


def test_scores_without_the_network_are_the_same_or_refused(home: Path) -> None:
    for offline, state, part in ((lambda item: 0.0, "BROKEN", "0 the second"), (refuses, "note", "no such language"),
                                 (lambda item: 1.0, "BROKEN", "127.0.0.1:9"),
                                 (lambda item: 1 / 0, "BROKEN", "ZeroDivision")):
        def score(item: Item, offline: Callable[[Item], float] = offline) -> float:
            try:
                socket.create_connection(("127.0.0.1", 9), timeout=0.001).close()
            except OSError as error:
                if "network is off" in str(error):
                    return offline(item)
            return 1.0

        finding = check("repeated runs", of_each(score), home)
        assert finding.state == state
        assert part in finding.text
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_only_rounding_is_tolerated(home: Path) -> None:
    """With lengths up to 100,000, a tolerance relative to the largest would mistake one word for a rounding error."""
    for noise, state in ((0.0, "ok"), (1e-7, "ok"), (1e-3, "BROKEN"), (np.nan, "BROKEN")):
        metric = made(lambda items, noise=noise: {"odd": np.ones(len(items)) + (noise if len(items) > 1 else 0.0)})
        assert check("batches of 1, 7 and 64", metric, home).state == state
        assert check("batches of 1, 7 and 64", metric, home, tolerance=0.0).state == ("BROKEN" if noise else "ok")
    metric = made(lambda items: {"odd": [len_of(item) + (len(items) > 1) for item in items]})
    assert check("batches of 1, 7 and 64", metric, home).state == "BROKEN"


def test_a_test_demands_the_contract_but_no_missing_resource(home: Path) -> None:
    def score(items: Sequence[Item]) -> Any:
        raise MissingResource("fetch it")

    with pytest.raises(MissingResource):
        demand(made(score), Models(home))
    demand(registry.choose("length").metric)
    with pytest.raises(BrokenContract, match="permuted items"):
        demand(made(lambda items: {"odd": np.arange(len(items), dtype=float)}))


def file(folder: Path, trouble: str) -> str:
    """Write a metric that prints, and runs `trouble` if a response is a wide space."""
    return runs.metric(folder, "odd", "print('a word of its own')\n"
                       f"if any(item.response.text == '\\u3000' for item in items):\n    {trouble}")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that leaves out all other checks."""
    return lambda *names: monkeypatch.setattr("harness.contract.process.CHECKS", {name: CHECKS[name] for name in names})


def test_a_score_that_depends_on_hashes_is_found(tmp_path: Path, invoke: Invoke, only: Callable[..., None],
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    only("repeated runs")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "struct.py").write_text("raise SystemExit(3)")  # a module that only the new process imports
    odd = runs.metric(tmp_path, "odd", "right = [hash(item.response.text) % 1000 for item in items]")
    same, other, last = invoke("check", odd, status=1).out.splitlines()
    assert same.split()[:3] == ["ok", "repeated", "runs"]
    assert other.split()[:4] == ["BROKEN", "another", "process", "item"]
    assert "1 of 2" in last


def test_a_metric_that_downloads_only_once_is_found(tmp_path: Path, invoke: Invoke, only: Any) -> None:
    only("repeated runs")
    with socket.create_server(("127.0.0.1", 0)) as server:
        odd = runs.metric(tmp_path, "odd", "import socket\nif not hasattr(socket, 'fetched'):\n"
                          f"    socket.fetched = socket.create_connection({server.getsockname()}, timeout=5)")
        same, found, _ = invoke("check", odd, status=1).out.splitlines()
    assert same.split()[0] == "ok"
    assert "connects to 127.0.0.1" in found


def test_checks_that_break_for_one_reason_are_shown_once(tmp_path: Path, invoke: Invoke, only: Any) -> None:
    only("whitespace only", "permuted items", "batches of 1, 7 and 64")
    first, _, same, last = invoke("check", file(tmp_path, "1 / 0"), status=1).out.splitlines()
    assert first.endswith("division by zero in line 25 of odd.py for item 'whitespace only 3 as response'")
    assert same == "BROKEN  2 more with the same problem as whitespace only: permuted items, batches of 1, 7 and 64"
    assert last == "the contract is broken: 3 of 4 checks failed"


@pytest.mark.slow
def test_a_metric_that_hangs_or_dies_fails_only_that_check(tmp_path: Path, invoke: Invoke, only: Any) -> None:
    only("card", "whitespace only", "emoji")
    for trouble, text in (("time.sleep(600)", "gave no answer in 4 s"), ("os._exit(7)", "exit status 7")):
        *findings, _ = invoke("check", file(tmp_path, trouble), "--timeout", "4", status=1).out.splitlines()
        assert [finding.split()[0] for finding in findings] == ["ok", "BROKEN", "ok", "ok"]
        assert text in findings[1]


def test_a_metric_that_cannot_be_loaded_breaks_no_contract(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "odd.py"
    for content, part in (("import os\nos._exit(3)", "exit status 3"), ("1 / 0", "ZeroDivisionError")):
        path.write_text(content)
        assert re.fullmatch(f".*{part}.*\n", invoke("check", path, status=2).err)
