"""Receiving submissions: acceptance, the log, phases, the freeze, and public and private ratings."""

import datetime
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.challenge import ground, outcome, receipts, rulebook, tables
from harness.errors import BadConfig
from tests.conftest import ROOT, Invoke
from tests.harness.challenge.folders import challenge, edit, edit_items, git, scores, submit, table

PHASES = '''
[[phase]]
name = "development"
datasets = ["first"]
opens = 2026-01-01
closes = 2026-01-31
[[phase]]
name = "test"
datasets = ["second"]
opens = 2026-03-01
closes = 2026-03-31
submissions = 3
public = 0.25
'''
Send = Callable[..., tuple[str, tuple[str, ...]]]


def at(day: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(f"2026-{day}T12:00:00+00:00")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = challenge(tmp_path / "challenge")
    with (folder / "challenge.toml").open("a") as stream:
        stream.write(PHASES)
    edit(folder, "per_day = 2")
    return folder


def of(dataset: str, values: dict[str, float], column: str = "score") -> str:
    return table({item: value for item, value in values.items() if item.startswith(dataset)}, column)


@pytest.fixture
def send(root: Path, home: Path, tmp_path: Path) -> Send:
    def sent(team: str, day: str, dataset: str, seed: int = 1, *, column: str = "", primary: bool = False,
             ) -> tuple[str, tuple[str, ...]]:
        file = tmp_path / "mine.csv"
        file.write_text(of(dataset, scores(1, seed), column or "score"))
        return receipts.receive(root, home, file, team, column=column, primary=primary, now=at(day))[:2]

    return sent


@pytest.fixture
def three_sent(send: Send) -> None:
    for seed, team in enumerate(("alpha", "beta", "gamma")):
        send(team, "03-01", "second", seed)


def test_files_are_accepted_while_phase_and_quota_allow(root: Path, home: Path, send: Send) -> None:
    assert send("alpha", "01-05", "") == ("alpha/1 in development", ())
    assert send("alpha", "01-05", "first", 2, column="wit", primary=True) == ("alpha/2 in development", ())
    for team, day, dataset, reason in (
            ("alpha", "01-05", "first", "limit of 2 submissions per day"),
            ("alpha", "02-10", "second", "before the phase test"),
            ("ALPHA", "01-06", "first", "looks like alpha"), ("length", "01-06", "first", "name of a metric"),
            ("beta", "02-10", "first", "after the phase development closed")):
        assert reason in send(team, day, dataset)[1][0]
    assert send("alpha", "03-01", "second") == ("alpha/1 in test", ())
    shutil.rmtree(root / "submissions" / "test" / "alpha")
    (root / "submissions" / "development").rename(root / "elsewhere")
    assert "looks like alpha" in send("A1pha", "03-01", "second")[1][0], "a name in the log of another phase"
    (root / "elsewhere").rename(root / "submissions" / "development")
    submit(root, "development/delta", 1, {})
    assert "looks like delta" in send("Delta", "03-01", "second")[1][0], "a folder in another phase"
    shutil.rmtree(root / "submissions" / "development" / "delta")
    assert [send("beta", f"03-0{day}", "second")[1] == () for day in range(1, 5)] == [True, True, True, False]
    (root / "data" / "second.json").rename(root / "later.json")  # items of a future phase may be kept elsewhere
    assert send("gamma", "01-07", "first") == ("gamma/1 in development", ())
    (root / "later.json").rename(root / "data" / "second.json")
    result = outcome.read(root, home, "development")
    assert [(entry.name, entry.about.date, entry.about.primary, entry.remarks) for entry in result.entries.entries] == [
        ("alpha/1", at("01-05").date(), False, ()), ("alpha/2", at("01-05").date(), True, ()),
        ("gamma/1", at("01-07").date(), False, ())]
    assert "4 refused (4 when received)" in tables.exhibit(result).lead
    names = [str(name) for name, _ in tables.for_csv(result)["refused"][1:]]
    assert len(names) == 4
    assert not any("ALPHA" in name for name in names)  # a refused team name is not published


def test_other_phases_are_refused_and_a_dry_run_writes_nothing(root: Path, home: Path) -> None:
    file = root.parent / "other.csv"
    file.write_text(of("second", scores(1, 1)))
    for dry in (True, False):
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        name, (reason,), _ = receipts.receive(root, home, file, "beta", phase="development", now=at("01-06"), dry=dry)
        assert name == "beta/refused-1 in development"
        assert all(part in reason for part in ("phase test", "2026-03-01", "2026-03-31"))
        assert dry == (before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()})


@pytest.mark.usefixtures("three_sent")
def test_changed_files_and_logs_are_refused(root: Path, home: Path, send: Send, invoke: Invoke) -> None:
    inbox = root / "submissions" / "test"
    file = inbox / "beta" / "1" / "scores.csv"
    file.write_text(file.read_text().replace("0.", "1."))
    (inbox / "omega" / "1").mkdir(parents=True)
    shutil.rmtree(inbox / "gamma")
    files = outcome.read(root, home, "test")
    assert [entry.name for entry in files.entries.entries] == ["alpha/1"]
    assert [refused.name for refused in files.refused] == ["omega/1", "gamma/1", "beta/1"]
    about = inbox / "alpha" / "1" / "submission.toml"
    reasons = {refused.name: refused.reasons[0] for refused in files.refused}
    for frozen in (False, True):
        if frozen:
            printed = invoke("challenge", "freeze", root, "--phase", "test", status=1).out
            assert all(name in printed for name in ("1 submission", "3 left out", *reasons))
            assert all(refused.reasons[0].endswith(reasons[refused.name])
                       for refused in outcome.read(root, home, "test").refused)
        for setting, status in (("primary = true", 1), ('column = "wit"', 1), ('name = "A"', 0)):
            about.write_text(f"{setting}\n")
            assert [refused.reasons[0] for refused in outcome.read(root, home, "test").refused
                    if refused.name == "alpha/1"] == [
                'submission.toml differs from the received one, which has column = "", primary = false'] * status
    log = root / receipts.FILE
    log.write_text(log.read_text().replace("alpha", "omega"))
    with pytest.raises(BadConfig, match="line 2"):
        outcome.read(root, home, "test")


def test_receipts_remark_on_identical_and_compressed_files(root: Path, home: Path, send: Send) -> None:
    send("alpha", "03-01", "second")
    file = root.parent / "mine.csv.gz"
    file.write_bytes(gzip.compress((root.parent / "mine.csv").read_bytes()))
    for team, others in (("alpha", ["alpha/1"]), ("beta", ["alpha/1", "alpha/2"])):
        _, reasons, remarks = receipts.receive(root, home, file, team, now=at("03-02"))
        assert (reasons, [remark.split()[-1] for remark in remarks[1:]]) == ((), others)
        assert "sha256" in remarks[0]


@pytest.mark.usefixtures("three_sent")
def test_weights_are_checked_over_all_phases(root: Path, home: Path) -> None:
    edit(root, 'weights = {first = 0, "second|wit" = 3}')
    assert outcome.read(root, home, "test").weights["test"].tolist() == [0.25, 0.75]
    with pytest.raises(BadConfig, match="development"):
        outcome.read(root, home, "development")
    (root / "data" / "first.json").unlink()
    ratings = root / "private" / "ratings.csv"
    ratings.write_text("".join(line for line in ratings.read_text().splitlines(keepends=True) if "first" not in line))
    outcome.read(root, home, "test")
    for unknown in ("third", "firsts|wit"):
        edit(root, weights=f'{{"{unknown}" = 1}}')
        with pytest.raises(BadConfig, match=f"'{re.escape(unknown)}'"):
            outcome.read(root, home, "test")


def rated(rules: rulebook.Rulebook, home: Path) -> set[int]:
    (field,) = ground.prepare(rules, home).datasets
    return set(np.flatnonzero(np.isfinite(field.judged[0].means)).tolist())


@pytest.mark.usefixtures("three_sent")
def test_a_freeze_ends_a_phase_and_ranks_the_private_part(root: Path, home: Path, send: Send) -> None:
    rules = rulebook.read(root, "test")
    public, private = rated(rules, home), rated(replace(rules, final=True), home)
    assert (len(public), public | private, public & private) == (10, set(range(40)), set())
    (root / "private" / "seed").write_text("secret")
    assert rated(rules, home) != public
    (root / "private" / "seed").unlink()
    file = root / "known.csv"
    file.write_text(of("second", {item: value if int(item[-3:]) in private else -value
                                  for item, value in scores(0, 1).items()}))
    receipts.receive(root, home, file, "alpha", now=at("03-03"))  # good on the private part only
    assert "Provisional" in tables.exhibit(outcome.read(root, home, "test")).lead
    receipts.freeze(root, home, "test", at("03-20"))
    assert send("delta", "03-21", "second")[1] == ("the phase is frozen",)
    submit(root, "test/delta", 1, dict(list(scores(1, 9).items())[40:]))
    final = outcome.read(root, home, "test")
    assert [refused.name for refused in final.refused] == ["delta/1"]
    assert "Final" in tables.exhibit(final).lead
    assert [entry.name for entry in final.entries.entries] == ["alpha/1", "alpha/2", "beta/1", "gamma/1"]
    assert final.totals[1] == max(final.totals)
    assert "alpha/1" in [entry.name for entry in final.counting.entries]
    with pytest.raises(BadConfig):
        receipts.freeze(root, home, "test", at("03-22"))
    assert send("alpha", "01-20", "first") == ("alpha/1 in development", ())


def test_folders_left_out_of_a_freeze_use_up_no_quota(root: Path, home: Path, send: Send) -> None:
    edit(root, submissions="1")
    submit(root, "test/alpha", 1, {})  # without receipt
    assert send("alpha", "03-01", "second") == ("alpha/2 in test", ())
    assert "limit of 1 " in send("alpha", "03-02", "second", 2)[1][0]
    for frozen in (False, True):
        if frozen:
            receipts.freeze(root, home, "test", at("03-20"))
        assert [entry.name for entry in outcome.read(root, home, "test").entries.entries] == ["alpha/2"]


@pytest.mark.usefixtures("three_sent")
def test_a_freeze_can_be_undone_after_late_files(root: Path, home: Path, send: Send, invoke: Invoke) -> None:
    freeze = ("challenge", "freeze", root, "--phase", "test")
    invoke(*freeze, "--undo", status=2)
    receipts.freeze(root, home, "test", at("03-20"))
    assert send("delta", "03-21", "second") == ("delta/refused-5 in test", ("the phase is frozen",))
    invoke(*freeze, "--undo")
    edit(root, "seed = 1")
    assert send("delta", "03-22", "second") == ("delta/1 in test", ())
    reopened = outcome.read(root, home, "test")
    assert (len(reopened.entries.entries), reopened.rules.final, reopened.rules.changed) == (4, False, ())
    receipts.freeze(root, home, "test", at("03-23"))
    assert len(outcome.read(root, home, "test").entries.entries) == 4


@pytest.mark.usefixtures("three_sent")
def test_changes_after_the_freeze_are_named(root: Path, home: Path, invoke: Invoke) -> None:
    receipts.freeze(root, home, "test", at("03-20"))
    rank = ("challenge", "rank", root, "--phase", "test")
    for name, old, new, change in (
            ("challenge.toml", "public = 0.25", "public = 0.5", "public (0.25, now 0.5)"),
            ("private/ratings.csv", "second_039,wit,", "second_039,wit,1\nsecond_039,wit,", "ratings"),
            ("data/second.json", "second_001?", "who?", "dataset second"),
            ("challenge.toml", "draws = 200", "draws = 300\nseed = 1", "draws (200, now 300), seed (0, now 1)")):
        before = (root / name).read_text()
        (root / name).write_text(before.replace(old, new, 1))
        assert f": {change};" in invoke(*rank, status=2).err
        if name == "challenge.toml":
            assert f": {change}." in " ".join(invoke(*rank, "--allow-refused").out.split())
        (root / name).write_text(before)
    assert outcome.read(root, home, "test").rules.changed == ()


def test_files_go_to_the_open_phase_that_is_not_frozen(root: Path, home: Path, send: Send, invoke: Invoke) -> None:
    edit(root, opens="2026-01-01")
    with pytest.raises(BadConfig, match="--phase: development, test"):
        send("alpha", "01-05", "")
    name, reasons = send("gamma", "01-05", "no item")
    assert name == "gamma/refused-1 in development"
    assert len(reasons) == 1
    with pytest.raises(BadConfig, match="development"):
        receipts.freeze(root, home, "development", at("01-04"))
    assert send("beta", "01-05", "first") == ("beta/1 in development", ())
    assert "was to close" not in invoke("challenge", "freeze", root, "--phase", "development").out
    assert send("alpha", "01-05", "") == ("alpha/1 in test", ())
    shutil.rmtree(root / "submissions" / "development")
    assert "Made up: test: 1 team with 1 submission" in invoke("challenge", "rank", root, status=1).out


@pytest.mark.usefixtures("three_sent")
def test_the_public_part_has_whole_conversations(root: Path, home: Path) -> None:
    """A conversation has four items, each of which continues the one before."""
    edit_items(root, lambda index, row: {
        "context": "\n".join(f"{name} {index // 4}, {turn}" for turn in range(index % 4 + 1) for name in "ab"),
        "response": f"a {index // 4}, {index % 4 + 1}"}, "second")
    for final, count in ((False, 2), (True, 8)):
        items = rated(replace(rulebook.read(root, "test"), final=final), home)
        assert len(items) == 4 * len({index // 4 for index in items}) == 4 * count


def test_the_workflow_receives_files_of_pull_requests(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    root, origin, programs = challenge(tmp_path / "challenge"), tmp_path / "origin", tmp_path / "bin"
    programs.mkdir()
    for name, line in (("pip", 'test "$3" = dialogue-harness'),
                       ("gh", f'{{ echo "$@"; [ "$2" = close ] || cat; }} >>{tmp_path}/gh'),
                       ("harness", f'HARNESS_HOME={home} exec {sys.executable} -m harness "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    for line in ("init --quiet --initial-branch=main", f"remote add origin {origin}", "add challenge.toml data",
                 "commit --quiet --message challenge", "push --quiet origin main"):
        git(root, *line.split())
    added = ((1, "mine-primary.csv", "main"), (2, "more.csv", "theirs"), (3, "test/mine.csv", "main"))
    for number, name, start in added:
        git(root, "checkout", "--quiet", "-B", "theirs", start)  # the second pull request adds both files
        (root / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "in" / name).write_text(table(scores(1, 1)))
        git(root, "add", "in")
        git(root, "commit", "--quiet", "--message", name)
        git(root, "push", "--quiet", "origin", f"HEAD:refs/pull/{number}/head")
    workflow = (ROOT / "harness/challenge/receive.yml").read_text()
    script = "\n".join((*re.findall("- run: (.*)", workflow), textwrap.dedent(workflow.split("        run: |\n")[1])))
    git(tmp_path, "clone", "--quiet", str(origin), "checkout")
    unset = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path / "checkout", check=False, capture_output=True,
                           text=True, env={**os.environ, "HARNESS": ""})
    assert "receive.yml" in unset.stderr
    for number in (1, 2, 3):
        subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path / "checkout", check=True, env={
            **os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "BASE": "main", "NUMBER": str(number),
            "TEAM": "alpha", "HARNESS": "dialogue-harness", "PYTHONPATH": str(ROOT)})
    (line,) = git(origin, "show", "main:receipts.jsonl").splitlines()
    assert (json.loads(line)["event"], json.loads(line)["team"]) == ("received", "alpha")
    assert json.loads(line)["settings"]["primary"] is True
    assert "first_000" in git(origin, "show", "main:submissions/alpha/1/scores.csv")
    comments = (tmp_path / "gh").read_text()
    assert "received alpha/1" in comments
    assert comments.count("pr close") == 3
    shutil.copytree(root / "private", tmp_path / "checkout" / "private")  # the organiser pulls and publishes
    git(tmp_path / "checkout", "reset", "--quiet", "--hard", "origin/main")
    invoke("challenge", "publish", tmp_path / "checkout")
    assert "alpha is first" in (tmp_path / "checkout" / "ranking" / "announcement.md").read_text()


def test_a_blind_phase_publishes_receipts_without_scores(root: Path, home: Path, send: Send, invoke: Invoke) -> None:
    edit(root, public="0.25\nblind = true")
    send("alpha", "03-01", "second")
    submit(root, "test/delta", 1, dict(list(scores(1, 9).items())[40:]))
    assert "refused   delta/1" in invoke("challenge", "publish", root, status=1).out
    shutil.rmtree(root / "submissions" / "test" / "delta")
    assert "1 submission accepted, 0 refused" in invoke("challenge", "publish", root).out
    published = [*(root / "ranking" / "test").glob("*.*"), *(root / "site" / "test").glob("*.html")]
    page, receipt = root / "site" / "test" / "challenge.html", json.loads((root / receipts.FILE).read_text())
    assert receipt["sha256"] in page.read_text()
    (value,) = outcome.read(root, home, "test").totals
    assert not any(f"{value:.3f}" in path.read_text(errors="ignore") for path in published)
    receipts.freeze(root, home, "test", at("03-20"))
    invoke("challenge", "publish", root)
    assert f"{outcome.read(root, home, 'test').totals[0]:.4f}" in page.read_text()


@pytest.mark.usefixtures("three_sent")
def test_a_phase_made_blind_keeps_no_tables_with_scores(root: Path, invoke: Invoke) -> None:
    invoke("challenge", "rank", root, "--phase", "test")
    rules = root / "challenge.toml"
    rules.write_text(rules.read_text().replace("public = 0.25", "blind = true"))
    invoke("challenge", "rank", root, "--phase", "test")
    assert {path.name for path in (root / "ranking" / "test").iterdir() if path.is_file()} == {
        "audit.jsonl", "ranking.json", "ranking.md", "receipts.csv"}
