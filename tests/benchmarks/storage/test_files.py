"""Files are written whole or not at all, and what a killed process left is swept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.storage.files import STALE, sweep, write_atomically


def test_a_failure_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_atomically(tmp_path / "taken", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_only_what_is_old_is_swept(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    old, young, whole = (tmp_path / "below" / name for name in (".a.part", ".b.part", "c.parquet"))
    for path in (old, young, whole):
        path.write_bytes(b"half")
        if path != young:
            os.utime(path, (time.time() - 2 * STALE,) * 2)
    sweep(tmp_path)
    assert (old.exists(), young.exists(), whole.exists()) == (False, True, True)


def test_what_a_killed_process_left_is_swept_at_once(tmp_path: Path) -> None:
    """And what a process writes that still runs is not."""
    code = ("import os, pathlib, sys\nfrom benchmarks.storage import files\n"
            "os.fsync = lambda stream: (print('half', flush=True), sys.stdin.read())\n"
            f"files.write_atomically(pathlib.Path({str(tmp_path / 'a.json')!r}), b'half')")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        sweep(tmp_path)
        assert len(list(tmp_path.iterdir())) == 1, "it is being written"
        process.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 1
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
