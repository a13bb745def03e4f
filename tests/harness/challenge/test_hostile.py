"""Hostile submissions: each is refused with its reason and changes no file."""

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.challenge import entries, outcome, submissions
from harness.errors import BadConfig
from tests.harness.challenge.folders import ITEMS, challenge, scores, submit, three_teams

Write = Callable[[Path], object]


PICKLE = b"\x80\x04\x95cos\nsystem\n(S'ls'\ntR."


def evil(root: Path, *parts: str) -> Path:
    """Return the submission folder evil/1, or a path in it."""
    folder = root / "submissions" / "evil" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.joinpath(*parts)


def valid(root: Path, about: str = "", content: str = "") -> Path:
    """Write a valid submission, with `content` appended to its score file."""
    folder = submit(root, "evil", 1, scores(1, 1), about)
    with (folder / "scores.csv").open("a") as stream:
        stream.write(content)
    return folder


def _archive(root: Path) -> None:
    with zipfile.ZipFile(evil(root).with_suffix(".zip"), "w") as packed:
        packed.writestr("../../outside.csv", "dialogue_id,score\n")


ABOUT = {
    'name = "' + "x" * 300_000 + '"': "bytes", "name = " + "[" * 20_000: "not TOML", "name = ": "not TOML",
    'name = "=1+1"': "name: should be", 'name = "a\\u202eb"': "name: should be", "rank = 1": "unknown field 'rank'",
    'date = "soon"': "date: should be", "date = 0001-01-01T00:00:00+23:00": "date: should be",
    "date = 0x" + "F" * 60_000: "date: should be", "name = [0x" + "F" * 60_000 + "]": "name: should be"}
LIKE = "looks like beta, the name of another team"
TEAMS = {"length": "name of a metric", "Cosine": "name of a metric", "<b>evil": "a team name must",
         "=evil": "a team name must", "e\nvil": "a team name must", "e" * 100: "a team name must",
         "e\u0301vil": "a team name must", "CON": "Windows reserves", "lpt1.csv": "Windows reserves",
         "BETA": LIKE, "be\u0442a": LIKE}
FOLDERS: tuple[tuple[Write, str], ...] = (
    (lambda root: (root / "submissions" / "evil").symlink_to(root / "submissions" / "beta"), "link"),
    (lambda root: evil(root).with_name("2").symlink_to(root / "submissions" / "beta" / "1"), "link"),
    (lambda root: evil(root, "scores.csv").symlink_to(root / "private" / "ratings.csv"), "link"),
    (lambda root: os.mkfifo(evil(root, "scores.csv")), "not a regular file"),
    (_archive, "archive"),
    (lambda root: evil(root, "scores.pkl").write_bytes(PICKLE), "unknown extension"),
    (lambda root: evil(root, "scores.json").write_bytes(PICKLE), ""),
    (lambda root: os.truncate(valid(root) / "scores.csv", 3 << 30), "larger than 64 MB"),
    (lambda root: [evil(root, f"{number}.csv").touch() for number in range(30)], "more than 20 entries"),
    (lambda root: [evil(root).with_name(f"{number}").mkdir() for number in range(2, submissions.MAX_FOLDERS + 2)],
     "more than 1000"),
    (evil, "no score file"),
    (lambda root: (valid(root) / "more").mkdir(), "not a regular file"),
    (lambda root: (valid(root) / "scores.csv").rename(os.fsdecode(os.fsencode(evil(root)) + b"/\xff.csv")),
     "\\udcff.csv has unprintable characters"),
    (lambda root: os.link(root / "private" / "ratings.csv", evil(root, "scores.csv")), "is a link or not"),
    (lambda root: valid(root, content="first_000,1\n"), "already"),
    (lambda root: valid(root, content="first_000,1e400\n"), "1e400"),
    (lambda root: (valid(root) / "scores.csv").write_text("\n".join(
        ["dialogue_id;score", *(f"{item};0,5" for item in ITEMS)])), "no number: and 77 more (lines 5, 6, 7, "),
    (lambda root: submit(root, "evil", 1, dict(list(scores(1, 1).items())[:-3])), "without a score: 3 of second"),
    *((lambda root, about=about: valid(root, about + "\n"), why) for about, why in ABOUT.items()),  # type: ignore[misc]
    *((lambda root, team=team: submit(root, team, 1, scores(1, 1)), why)  # type: ignore[misc]
      for team, why in TEAMS.items()),
    *((lambda root, number=number: submit(root, "evil", number, scores(1, 1)), "is not named 1, 2")  # type: ignore[misc]
      for number in ("first", "01", "\u0661")),
)


def changes(root: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in root.rglob("*")}


def test_hostile_submissions_are_refused_and_change_no_file(tmp_path: Path) -> None:
    root = challenge(tmp_path / "work" / "challenge", draws=0)
    three_teams(root)
    accepted = outcome.read(root, tmp_path / "home")
    shutil.copytree(root / "submissions", tmp_path / "submissions")
    for write, reason in FOLDERS:
        write(root)
        before = changes(tmp_path)
        ranked, refused = entries.accept(submissions.find(accepted.rules), accepted.ground, accepted.rules)
        assert changes(tmp_path) == before
        assert any(reason in why for file in refused for why in file.reasons), reason
        assert all(line.isprintable() for file in refused for line in (file.name, *file.reasons))
        if reason != LIKE:
            assert [entry.name for entry in ranked.entries] == [entry.name for entry in accepted.entries.entries]
        shutil.rmtree(root / "submissions")
        shutil.copytree(tmp_path / "submissions", root / "submissions")


def test_only_unreadable_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, scandir = challenge(tmp_path / "challenge", draws=0), os.scandir
    three_teams(root)
    valid(root)

    def unless_locked(path: Path) -> object:
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", unless_locked)
    for name in ("evil", "evil/1"):
        locked = root / "submissions" / name
        taken = outcome.read(root, tmp_path / "home")
        assert [(refused.name, refused.reasons) for refused in taken.refused] == [
            (name, ("cannot be read: Permission denied",))]
        assert len(taken.entries.entries) == 4
    shutil.rmtree(root / "submissions")
    (root / "submissions").symlink_to(tmp_path)
    with pytest.raises(BadConfig, match="link"):
        outcome.read(root, tmp_path / "home")
