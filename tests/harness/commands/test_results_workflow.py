"""The workflow over pull requests with bundles, and the command that runs its check locally."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import cli
from tests.conftest import ROOT

yaml = pytest.importorskip("yaml")

HARNESS = f"{sys.executable} -m dialogue_harness"


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    return dict(yaml.safe_load((ROOT / ".github" / "workflows" / "results.yml").read_text()))


def scripts(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_what_reads_bundles_may_write_nothing_and_what_writes_gets_none(workflow: dict[Any, Any]) -> None:
    assert workflow["permissions"] == {}
    verify, comment = workflow["jobs"]["verify"], workflow["jobs"]["comment"]
    assert verify["permissions"] == {"contents": "read"}
    assert comment["permissions"] == {"pull-requests": "write"}
    assert [step for step in comment["steps"] if "uses" in step] == []
    assert len(scripts(comment)) == 1
    assert set(workflow["jobs"]) == {"verify", "comment"}


def test_nothing_of_the_pull_request_is_checked_out_or_put_into_a_script(workflow: dict[Any, Any]) -> None:
    """`pull_request_target` has the base branch's files; a text from outside reaches a script as a variable alone."""
    assert list(workflow[True]) == ["pull_request_target"]  # YAML reads `on` as true
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
                assert step["with"]["persist-credentials"] is False
        for script in scripts(job):
            assert "${{" not in script
            assert not re.search(r"git (checkout|merge|pull|switch|worktree)", script)


def test_its_commands_exist(workflow: dict[Any, Any]) -> None:
    lines = [line.split() for script in scripts(workflow["jobs"]["verify"]) for line in script.splitlines()]
    ours = [words for words in lines if words and words[0].startswith(".")]
    assert {words[0] for words in ours} == {".venv/bin/pip", ".venv/bin/harness", ".ci/results"}
    for words in ours:
        if words[0] == ".venv/bin/harness":
            cli.parser().parse_args(words[1:])
    assert os.access(ROOT / ".ci" / "results", os.X_OK)
    verify = next(line for line in (ROOT / ".ci" / "results").read_text().splitlines() if line.startswith('"$harness"'))
    cli.parser().parse_args([word.strip('"') for word in verify.split()[1:]])


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the check, and a branch that is to add something to results/."""
    folder = tmp_path / "repository"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "results", folder / ".ci")
    (folder / "harness").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec {HARNESS} "$@"\n')
    (folder / "harness").chmod(0o755)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "check")
    git(folder, "switch", "--quiet", "--create", "mine")
    (folder / "results").mkdir()
    return folder


def check(folder: Path, made: dict[str, bytes]) -> tuple[int, str]:
    for name, content in made.items():
        (folder / name).write_bytes(content)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "results")
    git(folder, "switch", "--quiet", "main")
    done = subprocess.run([folder / ".ci" / "results", "main", "mine"], capture_output=True, text=True,
                          env={**os.environ, "HARNESS": str(folder / "harness")})
    return done.returncode, done.stdout + done.stderr


def test_the_check_takes_bundles_out_of_a_branch_that_is_not_checked_out(repository: Path) -> None:
    status, told = check(repository, {"results/mine.zip": b"no bundle", ".ci/results": b"#!/bin/sh\necho evil\n"})
    assert status == 2
    assert told.startswith("### `mine.zip`\n\n**refused**:")
    assert "evil" not in told


def test_only_bundles_belong_into_the_folder(repository: Path) -> None:
    for name, status, message in (
            ("other.txt", 0, "No bundle was added"),
            ("results/a b.zip", 2, "**refused**: a bundle is a file results/NAME.zip"),
            ("results/notes.txt", 2, "**refused**: a bundle is a file results/NAME.zip")):
        git(repository, "switch", "--quiet", "--force-create", "mine", "main")
        (repository / "results").mkdir(exist_ok=True)
        found, output = check(repository, {name: b"x"})
        assert found == status
        assert output.startswith(message)
