"""A full disk: a small file system without room at one stage of a run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Invoke
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, flags, left_behind, report, scored

pytestmark = pytest.mark.faults

ARGV = [*flags("--metric", ("length", "bleu", "distinct", "chrf", "repetition")), "--dataset", "persona-zhao"]
STAGES = ("scores", "statistics", "report", "site")
PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def pages(*folders: Path) -> int:
    """Return the number of pages that the files in these folders occupy."""
    return sum(-(-path.stat().st_size // PAGE) for folder in folders for path in folder.rglob("*") if path.is_file())


def fill(folder: Path, free: int) -> Path:
    """Fill a file system except for some pages, and return the file that fills it."""
    ballast, room = folder / "ballast", os.statvfs(folder)
    ballast.write_bytes(b"\0" * (room.f_bavail * room.f_bsize - free * PAGE))
    return ballast


@pytest.mark.parametrize("stage", [*STAGES, "store"])
def test_a_run_continues_once_there_is_room(stage: str, disk: Path, tmp_path: Path, undisturbed: Reports,
                                            invoke: Invoke) -> None:
    argv, out, free = ["run", *ARGV, *QUICK], disk / "out", 2
    if stage == "store":
        out = tmp_path / "out"
        argv += ["--store", str(disk / "store")]
    else:
        invoke(*argv, "--out", tmp_path / "whole")
        before = [tmp_path / "whole" / name for name in STAGES[:STAGES.index(stage)]]
        free = pages(*before) + max(1, pages(tmp_path / "whole" / stage) // 2) + 1  # one page for the log
    ballast = fill(disk, free)
    error = invoke(*argv, "--out", out, status=2).err.strip().splitlines()[-1]
    assert all(text in error for text in (str(disk), "No space left on device", "command"))
    stored = scored(out)
    ballast.unlink()
    invoke(*argv, "--out", out)
    assert not stored & scored(out)
    assert report(out) == undisturbed(*ARGV)
    assert left_behind(out) == []
