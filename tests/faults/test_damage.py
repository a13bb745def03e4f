"""Damaged and half-written files are noticed, moved aside and replaced; the report is the same."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.storage import store
from harness.cli import main
from tests.conftest import Invoke
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, flags, left_behind, report, rows

pytestmark = pytest.mark.faults

ARGV = [*flags("--metric", ("length", "bleu")), *flags("--dataset", ("persona-zhao", "esl"))]


@pytest.fixture
def out(tmp_path: Path, invoke: Invoke) -> Path:
    invoke("run", *ARGV, *QUICK, "--out", tmp_path / "out")
    return tmp_path / "out"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "a bit flipped": flip,
    "emptied": lambda path: path.write_bytes(b""),
    "overwritten": lambda path: path.write_bytes(os.urandom(3000)),
}


def test_damaged_scores_and_statistics_are_made_again(out: Path, undisturbed: Reports, invoke: Invoke) -> None:
    for damage in DAMAGES.values():
        scores = next((out / "scores").rglob("*.parquet"))
        for path in (scores, *(out / "statistics").iterdir()):
            if path.suffix != ".damaged":
                damage(path)
        printed, errors = invoke("run", *ARGV, *QUICK, "--out", out)
        assert str(scores) in errors
        assert "1 scored, 2 already stored" in printed
        assert report(out) == undisturbed(*ARGV)


def test_a_damaged_report_is_refused_and_made_again(out: Path, tmp_path: Path, undisturbed: Reports, invoke: Invoke,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    shown, published = ["report", "--out", str(out)], ["publish", "--out", str(out), "--site", str(tmp_path / "site")]
    answer = invoke(*shown).out
    for how, damage in DAMAGES.items():
        contents = dict(undisturbed(*ARGV))
        if how == "a bit flipped":
            del contents["report.json"]  # a changed letter in a word is not noticed
        for name, content in contents.items():
            damage(out / "report" / name)
            for argv in (shown, published):
                status, (printed, errors) = main(argv), capsys.readouterr()
                assert status == 2 or (argv is shown and printed == answer), (name, errors)
                if status:
                    assert "\n" not in errors.strip()
                    assert str(out / "report") in errors
            (out / "report" / name).write_bytes(content)
    (out / "report" / "report.json").write_bytes(b"")
    invoke("run", *ARGV, *QUICK, "--out", out)
    assert report(out) == undisturbed(*ARGV)


@pytest.mark.parametrize("how", ["cut short", "a bit flipped"])
def test_only_the_damaged_dataset_fails(how: str, tmp_path: Path, home: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    argv = ["run", *ARGV, *QUICK[2:], "--out", str(out)]
    store.save(registry.sample(registry.card("esl")), home)

    def others() -> list[str]:
        return [repr(row) for row in rows(out, "correlations") if row.dataset == "persona-zhao"]

    assert main(argv) == 0
    before, failures = others(), 0
    for path in [path for path in (home / "datasets").rglob("*") if path.is_file() and path.stat().st_size]:
        content = path.read_bytes()
        DAMAGES[how](path)
        capsys.readouterr()
        status, errors = main(argv), capsys.readouterr().err
        assert status in {0, 1}, errors
        assert "Traceback" not in errors
        assert others() == before
        failed = json.loads(report(out)["report.json"])["failures"]
        assert [row["dataset"] for row in failed] == ["esl"] * status
        failures += status
        path.write_bytes(content)
    assert failures >= 3, "the note and the two tables"


def test_half_written_files_are_removed(out: Path, undisturbed: Reports, invoke: Invoke) -> None:
    writer = ("import os, sys; from pathlib import Path; from benchmarks.storage import files\n"
              "os.replace = Path.replace = lambda *names: os.kill(os.getpid(), 9)\n"
              "files.write_atomically(Path(sys.argv[1]) / 'half.json', b'[1, 2')")
    for folder in ("scores", "statistics", "report", "site"):
        assert subprocess.run([sys.executable, "-c", writer, str(out / folder)], check=False).returncode == -9
    assert len(left_behind(out)) == 4
    invoke("run", *ARGV, *QUICK, "--out", out)
    assert left_behind(out) == []
    assert report(out) == undisturbed(*ARGV)
