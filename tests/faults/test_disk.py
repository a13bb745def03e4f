"""A disk that fills: a file system of a few pages, so full that a run has no room at one stage or another."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import main
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, left_behind, report, scored, words

pytestmark = pytest.mark.faults

ARGV = [*words("--metric", ("length", "bleu", "distinct", "chrf", "repetition")), "--dataset", "persona-zhao"]
STAGES = ("scores", "statistics", "report", "site")
PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def pages(*folders: Path) -> int:
    """As many pages as the files of folders take."""
    return sum(-(-path.stat().st_size // PAGE) for folder in folders for path in folder.rglob("*") if path.is_file())


def leave(folder: Path, count: int) -> Path:
    """Fill a file system but for so many pages; the file that does it."""
    ballast = folder / "ballast"
    room = os.statvfs(folder)
    ballast.write_bytes(b"\0" * (room.f_bavail * room.f_bsize - count * PAGE))
    return ballast


@pytest.mark.parametrize("stage", STAGES)
def test_a_disk_that_is_full_at_a_stage(stage: str, disk: Path, tmp_path: Path, undisturbed: Whole,
                                        capfd: pytest.CaptureFixture[str]) -> None:
    argv = ["run", *ARGV, *QUICK, "--out"]
    assert main([*argv, str(tmp_path / "whole")]) == 0
    before = [tmp_path / "whole" / name for name in STAGES[:STAGES.index(stage)]]
    ballast = leave(disk, pages(*before) + max(1, pages(tmp_path / "whole" / stage) // 2) + 1)  # one for the log
    out = disk / "out"
    capfd.readouterr()
    assert main([*argv, str(out)]) == 2
    said = capfd.readouterr().err.strip().splitlines()[-1]
    assert str(out) in said
    assert "No space left on device" in said
    assert "same command" in said
    kept = scored(out)
    ballast.unlink()
    assert main([*argv, str(out)]) == 0
    assert not kept & scored(out)
    assert report(out) == undisturbed(*ARGV)
    assert left_behind(out) == []


def test_a_store_that_is_full(disk: Path, tmp_path: Path, undisturbed: Whole,
                              capfd: pytest.CaptureFixture[str]) -> None:
    argv = ["run", *ARGV, *QUICK, "--store", str(disk / "store"),
             "--out", str(tmp_path / "out")]
    ballast = leave(disk, 2)
    assert main(argv) == 2
    said = capfd.readouterr().err.strip().splitlines()[-1]
    assert str(disk) in said
    assert "No space left on device" in said
    kept = scored(tmp_path / "out")
    ballast.unlink()
    assert main(argv) == 0
    assert not kept & scored(tmp_path / "out")
    assert report(tmp_path / "out") == undisturbed(*ARGV)
