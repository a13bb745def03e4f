"""One run at a time in one store: the second waits and names the first; a dead run holds nothing."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from benchmarks.storage.files import Files
from harness.scoring import lease

HOLDS = """
import sys, time
from benchmarks.storage.files import Files
from harness.scoring.lease import exclusive
with exclusive(Files(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["folder", "memory://"])
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    MemoryFileSystem.store.clear()
    monkeypatch.setattr(lease, "SETTLED", 0.05)
    yield Files(tmp_path / "scores" if request.param == "folder" else "memory://scores")
    MemoryFileSystem.store.clear()


def test_a_second_run_waits_and_names_the_first(files: Files) -> None:
    said: list[str] = []
    order: list[str] = []

    def second() -> None:
        with lease.exclusive(files, said.append):
            order.append("second")

    thread = threading.Thread(target=second)
    with lease.exclusive(files, said.append):
        thread.start()
        while not said:
            time.sleep(0.01)
        time.sleep(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert len(said) == 1
    assert f"process {os.getpid()} on " in said[0]
    with lease.exclusive(files, said.append):
        assert len(said) == 1


def test_a_killed_run_holds_no_folder(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.kill()
    said: list[str] = []
    with lease.exclusive(Files(tmp_path), said.append):
        assert said == []


@pytest.mark.parametrize(("age", "waits"), [(61, False), (55, True)])
def test_a_lease_lapses(age: int, waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    MemoryFileSystem.store.clear()
    files, said = Files("memory://scores"), list[str]()
    files.write("lease", b"process 1 on elsewhere")
    written = time.monotonic()
    monkeypatch.setattr(type(files), "age", lambda *_: age + time.monotonic() - written)
    monkeypatch.setattr(lease, "STALE", 56.0 if waits else 60.0)
    with lease.exclusive(files, said.append):
        assert bool(said) == waits
