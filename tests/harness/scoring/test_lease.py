"""One run at a time in one store: the second waits and names the first."""

import os
import threading
import time
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from benchmarks.storage.files import Files
from harness.errors import StoreError
from harness.scoring import lease


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryFileSystem, "store", {})
    monkeypatch.setattr(lease, "SETTLE_SECONDS", 0.05)


@pytest.mark.parametrize("place", ["folder", "memory://scores"])
def test_a_second_run_waits_and_names_the_first(place: str, tmp_path: Path) -> None:
    files = Files(tmp_path if place == "folder" else place)
    messages, order = list[str](), list[str]()

    def second() -> None:
        with lease.exclusive(files, messages.append):
            order.append("second")

    thread = threading.Thread(target=second)
    with lease.exclusive(files, messages.append):
        thread.start()
        while not messages:
            time.sleep(0.01)
        time.sleep(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert len(messages) == 1
    assert f"process {os.getpid()} on " in messages[0]
    with lease.exclusive(files, messages.append):
        assert len(messages) == 1


@pytest.mark.parametrize(("age", "waits"), [(61, False), (55, True)])
def test_a_stale_lease_is_taken_over(age: int, waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    files, messages = Files("memory://scores"), list[str]()
    files.write("lease", b"process 1 on elsewhere")
    written = time.monotonic()
    monkeypatch.setattr(type(files), "age", lambda *_: age + time.monotonic() - written)
    monkeypatch.setattr(lease, "STALE_SECONDS", 56.0 if waits else 60.0)
    with lease.exclusive(files, messages.append):
        assert bool(messages) == waits


def test_a_suspended_run_keeps_the_lease_of_its_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files("memory://scores")
    monkeypatch.setattr(lease, "RENEWAL_SECONDS", 0.01)

    def suspended() -> None:
        with lease.exclusive(files, print):
            files.write("lease", b"its successor")
            time.sleep(0.1)

    with pytest.raises(StoreError, match="another run"):
        suspended()
    assert files.read("lease") == b"its successor"
