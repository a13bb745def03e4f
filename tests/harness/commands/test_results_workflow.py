"""The workflow for pull requests with bundles, and its local check."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.harness.challenge.folders import git

yaml = pytest.importorskip("yaml")


def scripts(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_pull_requests_have_no_write_access() -> None:
    """The job that reads bundles cannot write, and untrusted text reaches scripts only in variables."""
    workflow = dict(yaml.safe_load((ROOT / ".github" / "workflows" / "results.yml").read_text()))
    assert list(workflow[True]) == ["pull_request_target"]  # the base branch's files; YAML reads `on` as true
    assert workflow["permissions"] == {}
    assert set(workflow["jobs"]) == {"verify", "comment"}
    verify, comment = workflow["jobs"]["verify"], workflow["jobs"]["comment"]
    assert verify["permissions"] == {"contents": "read"}
    assert comment["permissions"] == {"pull-requests": "write"}
    assert [step for step in comment["steps"] if "uses" in step] == []
    for step in verify["steps"]:
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
            assert step["with"]["persist-credentials"] is False
    for script in scripts(verify) + scripts(comment):
        assert "${{" not in script
        assert not re.search(r"git (checkout|merge|pull|switch|worktree)", script)


def test_actions_are_pinned_by_commit() -> None:
    paths = [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("harness/**/*.yml")]
    used = [line for path in paths for line in path.read_text().splitlines() if "uses:" in line]
    assert len(used) > 8
    assert [line for line in used if not re.search(r"uses: [\w/-]+@[0-9a-f]{40}  # v\d+(\.\d+)+$", line)] == []
    assert all(yaml.safe_load(path.read_text()) for path in paths)


def test_the_check_reads_only_bundles_from_the_branch(tmp_path: Path) -> None:
    def commit(message: str) -> None:
        git(tmp_path, "add", "--all", "--force")
        git(tmp_path, "commit", "--quiet", "-m", message)

    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "results", tmp_path / ".ci")
    (tmp_path / "harness").write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec {sys.executable} -m dialogue_harness "$@"\n')
    (tmp_path / "harness").chmod(0o755)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    commit("check")
    for made, status, message in (
            ({"results/mine.zip": b"no bundle", ".ci/results": b"#!/bin/sh\necho evil\n"}, 2,
             "### `mine.zip`\n\n**refused**:"),
            ({"other.txt": b""}, 0, "No bundle was added"),
            ({"results/a b.zip": b""}, 2, "**refused**: a bundle is a file results/NAME.zip")):
        git(tmp_path, "switch", "--quiet", "--force-create", "mine", "main")
        (tmp_path / "results").mkdir(exist_ok=True)
        for name, content in made.items():
            (tmp_path / name).write_bytes(content)
        commit("results")
        git(tmp_path, "switch", "--quiet", "main")
        done = subprocess.run([tmp_path / ".ci" / "results", "main", "mine"], capture_output=True, text=True,
                              env={**os.environ, "HARNESS": str(tmp_path / "harness")})
        assert done.returncode == status
        assert done.stdout.startswith(message)
        assert "evil" not in done.stdout + done.stderr


def test_changes_without_a_common_base_are_refused() -> None:
    done = subprocess.run([ROOT / ".ci" / "results", "no-such-base"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "**refused**: git cannot compare the change with its base\n")
