"""The command line: every complaint is one line and status 2, and nothing is left half-written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import cli
from harness.cli import main


def refused(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """Run a command that must be refused; its one line."""
    assert main([str(word) for word in argv]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def content(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_help_is_light() -> None:
    code = ("import sys; sys.argv = ['harness', '--help']\n"
            "from harness.cli import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "bad = {'torch', 'datasets', 'pandas', 'numpy', 'pyarrow', 'scipy', 'nltk', 'jinja2'} & set(sys.modules)\n"
            "sys.exit(str(bad) if bad else 0)")
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_every_command_has_a_file_a_name_and_a_word_of_help() -> None:
    names = [command.NAME for command in cli.discover()]
    assert set(names) >= {"import", "fetch", "run", "report", "publish", "list", "show", "doctor"}
    assert all(command.HELP for command in cli.discover())


def test_version_and_help_end_with_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--version"], ["run", "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(argv)
        assert caught.value.code == 0
        assert capsys.readouterr().out


def test_what_cannot_be_done_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for argv, part in (
            ("run", "--all"), ("run --metric rogue-l", "did you mean 'rouge-l'"),
            ("run --dataset fed-trun", "did you mean 'fed-turn'"),
            ("run --quality relevanc", "did you mean 'relevance'"), ("run --dataset jsalt --split dev", "split dev"),
            ("run --all --limit 0", "--limit"),
            ("run --dataset esl --examples -1", "--examples should be 0 or more, not -1"),
            ("run --all --device tpu", "--device"), ("run --all --device cuda:99", "cuda:99"),
            ("run --all --ratings absent.csv", "absent.csv"), ("show blue", "did you mean 'bleu'"),
            ("report --out nowhere", "nowhere"), ("publish --out nowhere", "nowhere"), ("import nowhere", "nowhere"),
            ("fetch fed-trun", "did you mean 'fed-turn'")):
        assert part in refused(capsys, *argv.split())
    assert not (tmp_path / "results" / "report").exists() or not content(tmp_path / "results" / "report")


def bad_files(folder: Path) -> dict[str, Path]:
    """Things an import must refuse."""
    good = json.dumps([{"dialogue_id": "x", "context": "a", "response": "b"}])
    made = {name: folder / name for name in ("truncated", "quality")}
    for name, text in (("truncated", good[:-5]), ("quality", good.replace('"b"', '"b", "annotations": {"rel": [1]}'))):
        made[name].mkdir()
        (made[name] / "esl_eval.json").write_text(good)
        (made[name] / "jsalt_eval.json").write_text(text)
    for name, member in (("parent", "../jsalt_eval.json"), ("absolute", "/tmp/jsalt_eval.json")):
        made[name] = folder / f"{name}.zip"
        with zipfile.ZipFile(made[name], "w") as archive:
            archive.writestr(member, good)
    made["link"] = folder / "link.zip"
    with zipfile.ZipFile(made["link"], "w") as archive:
        info = zipfile.ZipInfo("jsalt_eval.json")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    made["cut"] = folder / "cut.zip"
    made["cut"].write_bytes((folder / "parent.zip").read_bytes()[:-30])
    return made


def test_a_bad_import_leaves_the_home_as_it_was(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in bad_files(tmp_path).values():
        message = refused(capsys, "import", path)
        assert "jsalt_eval.json" in message or path.name in message
        assert content(home) == []


def test_a_read_only_home_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in the place of the home refuses writing even to root."""
    (tmp_path / "home").write_text("")
    (tmp_path / "jsalt_eval.json").write_text(json.dumps([{"dialogue_id": "x", "context": "a", "response": "b"}]))
    assert "home" in refused(capsys, "import", tmp_path / "jsalt_eval.json", "--home", tmp_path / "home")


def test_a_full_disk_is_one_line_and_leaves_no_half_files(tmp_path: Path, home: Path) -> None:
    """With room for small files only, a write fails in the middle as on a full disk."""
    rows = [{"dialogue_id": f"x{number}", "context": "a", "response": "b" * 200} for number in range(50)]
    (tmp_path / "jsalt_eval.json").write_text(json.dumps(rows))
    for argv in ("import jsalt_eval.json", "run --dataset jsalt --metric random"):
        done = subprocess.run(
            [sys.executable, "-m", "dialogue_harness", *argv.split()], cwd=tmp_path, capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("harness: ")
        assert "Traceback" not in done.stderr
    left = content(home) + content(tmp_path)
    assert not [name for name in left if name.endswith(".part") or "datasets/jsalt" in name]


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m dialogue_harness list datasets | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)  # noqa: S602  the pipe is the point
    assert "Traceback" not in done.stderr


def test_a_folder_of_the_same_name_does_not_fool_the_command(tmp_path: Path) -> None:
    for package in ("benchmarks", "metrics", "harness", "leaderboard"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('fooled')")
    command = Path(sys.executable).parent / "harness"
    done = subprocess.run([command, "list", "metrics"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(("", ".", str(tmp_path)))})
    assert done.returncode == 0, done.stderr
    assert "bleu" in done.stdout
