"""Files that are cut short, flipped, emptied or left half-written: noticed, set aside, made anew; the same report."""

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
from harness.scoring import parts as loop
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, left_behind, metric, report, rows, scored, words

pytestmark = pytest.mark.faults

ARGV = [*words("--metric", ("length", "bleu")), *words("--dataset", ("persona-zhao", "esl"))]

Damage = Callable[[Path], object]
DAMAGES: dict[str, Damage] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "a bit flipped": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "emptied": lambda path: path.write_bytes(b""),
    "overwritten by something else": lambda path: path.write_bytes(os.urandom(3000)),
}
SOME = ("cut short", "a bit flipped")


def flipped(content: bytes) -> bytes:
    """The same but for one bit in its middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1:]


@pytest.mark.parametrize("how", SOME)
def test_a_damaged_part_is_scored_again(how: str, tmp_path: Path, undisturbed: Whole,
                                        capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four parts of a metric that raises once, three are kept; one of them is damaged."""
    does = "if items[0].id == 'persona-zhao_00016' and times('raised') < 1:\n    raise OSError('busy')"
    argv, out = [*ARGV, "--metric", metric(tmp_path, "toy", does)], tmp_path / "out"
    whole = undisturbed(*argv)  # which met the part whole, and so did not raise
    monkeypatch.setattr(loop, "LARGEST", 8)
    assert main(["run", *argv, *QUICK, "--out", str(out)]) == 1
    parts = sorted(out.rglob("toy*.shard"))
    assert len(parts) == 3
    DAMAGES[how](parts[1])
    assert main(["run", *argv, *QUICK, "--out", str(out)]) == 0
    assert f"damaged, moved aside and scored again: {parts[1]}" in capfd.readouterr().err
    assert scored(out).keys() == {("persona-zhao", "toy", place) for place in range(8, 24)}
    assert report(out) == whole
    assert left_behind(out) == []


def test_damaged_scores_are_scored_again(tmp_path: Path, undisturbed: Whole,
                                         capfd: pytest.CaptureFixture[str]) -> None:
    again = ["run", *ARGV, *QUICK, "--out", str(tmp_path / "out")]
    assert main(again) == 0
    for damage in DAMAGES.values():
        path = next((tmp_path / "out" / "scores").rglob("bleu-*.parquet"))
        damage(path)
        capfd.readouterr()
        assert main(again) == 0
        printed, said = capfd.readouterr()
        assert f"damaged, moved aside and scored again: {path}" in said
        assert "1 scored, 2 kept from before" in printed
        assert report(tmp_path / "out") == undisturbed(*ARGV)


def test_damaged_statistics_are_computed_again(tmp_path: Path, undisturbed: Whole) -> None:
    again = ["run", *ARGV, *QUICK, "--out", str(tmp_path / "out")]
    assert main(again) == 0
    kept = sorted((tmp_path / "out" / "statistics").iterdir())
    for damage in DAMAGES.values():
        for path in kept:
            damage(path)
        assert main(again) == 0
        assert scored(tmp_path / "out") == {}
        assert report(tmp_path / "out") == undisturbed(*ARGV)


def test_a_damaged_report_is_refused_and_made_again(tmp_path: Path, undisturbed: Whole,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["run", *ARGV, *QUICK, "--out", str(out)]) == 0
    commands = (("report", "--out", str(out)), ("publish", "--out", str(out), "--site", str(tmp_path / "site")))
    for how, damage in DAMAGES.items():
        whole = dict(undisturbed(*ARGV))
        capsys.readouterr()
        assert main([*commands[0]]) == 0
        answer = capsys.readouterr().out
        if how == "a bit flipped":
            del whole["report.json"]  # a word of it that is another is not noticed
        for name, content in whole.items():
            damage(out / "report" / name)
            for argv in commands:
                status, (shown, said) = main([*argv]), capsys.readouterr()
                assert status == 2 or (argv is commands[0] and shown == answer), (name, said)
                if status:
                    assert "\n" not in said.strip()
                    assert str(out / "report") in said
            (out / "report" / name).write_bytes(content)
    (out / "report" / "report.json").write_bytes(b"")
    assert main(["run", *ARGV, *QUICK, "--out", str(out)]) == 0
    assert report(out) == undisturbed(*ARGV)


@pytest.mark.parametrize("how", SOME)
def test_a_damaged_dataset_fails_alone(how: str, tmp_path: Path, home: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["run", *words("--metric", ("length", "bleu")), *words("--dataset", ("persona-zhao", "esl")), *QUICK[2:],
            "--out", str(tmp_path / "out")]
    store.save(registry.sample(registry.card("esl")), home)
    assert main(argv) == 0
    before = [repr(row) for row in rows(tmp_path / "out", "correlations") if row.dataset == "persona-zhao"]
    files = [path for path in (home / "datasets").rglob("*") if path.is_file() and path.stat().st_size]
    named = 0
    for path in files:
        content = path.read_bytes()
        DAMAGES[how](path)
        capsys.readouterr()
        status, said = main(argv), capsys.readouterr().err
        assert status in {0, 1}, said
        assert "Traceback" not in said
        now = [repr(row) for row in rows(tmp_path / "out", "correlations") if row.dataset == "persona-zhao"]
        assert now == before
        failed = json.loads(report(tmp_path / "out")["report.json"])["failures"]
        assert [row["dataset"] for row in failed] == ["esl"] * status
        named += status
        path.write_bytes(content)
    assert named >= 3, "the note and the two tables"


def test_times_that_do_not_read_change_nothing(tmp_path: Path, undisturbed: Whole) -> None:
    for content in (b"\xff\xfe", b"[]]", b"{}", b"[1]", b'[{"dataset": 1}]'):
        out = tmp_path / content.hex()
        (out / "report").mkdir(parents=True)
        (out / "report" / "timings.json").write_bytes(content)
        assert main(["run", *ARGV, *QUICK, "--out", str(out)]) == 0
        assert report(out) == undisturbed(*ARGV)


def test_what_a_dead_process_left_half_written_is_removed(tmp_path: Path, undisturbed: Whole) -> None:
    out = tmp_path / "out"
    argv = ["run", *ARGV, *QUICK, "--out", str(out)]
    assert main(argv) == 0
    writer = ("import os, sys; from pathlib import Path; from benchmarks.storage import files\n"
              "os.replace = Path.replace = lambda *names: os.kill(os.getpid(), 9)\n"
              "files.write_atomically(Path(sys.argv[1]) / 'half.json', b'[1, 2')")
    folders = [out / "scores", out / "statistics", out / "report", out / "site"]
    for folder in folders:
        assert subprocess.run([sys.executable, "-c", writer, str(folder)], check=False).returncode == -9
    assert len(left_behind(out)) == 4
    assert main(argv) == 0
    assert left_behind(out) == []
    assert report(out) == undisturbed(*ARGV)
