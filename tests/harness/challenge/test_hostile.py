"""What hostile submissions get: each is refused with its reason, and no file but the harness's own changes."""

import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.formats import scorefile
from harness import terms
from harness.challenge import entries, outcome, submissions
from harness.errors import BadConfig
from tests.harness.challenge.folders import challenge, scores, submit, three_teams


class Trap:
    """What, unpickled, leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def evil(root: Path, *parts: str) -> Path:
    """The folder evil/1 of a submission, or a path in it."""
    folder = root / "submissions" / "evil" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.joinpath(*parts)


def valid(root: Path, about: str = "") -> Path:
    """A submission in which nothing is wrong yet."""
    return submit(root, "evil", 1, scores(1, 1), about)


def _archive(root: Path) -> None:
    with zipfile.ZipFile(evil(root).with_suffix(".zip"), "w") as packed:
        packed.writestr("../../outside.csv", "dialogue_id,score\n")


def _large(root: Path) -> None:
    with evil(root, "scores.csv").open("wb") as stream:
        stream.truncate(3 << 30)


def _many_files(root: Path) -> None:
    for place in range(30):
        evil(root, f"{place}.csv").touch()


def _many_folders(root: Path) -> None:
    for place in range(1, submissions.MOST_FOLDERS + 5):
        (root / "submissions" / "evil" / str(place)).mkdir(parents=True)


def _no_text_as_file(root: Path) -> None:
    folder = valid(root)
    (folder / "scores.csv").rename(os.fsdecode(os.fsencode(folder) + b"/\xff.csv"))


def _more(line: str) -> Callable[[Path], object]:
    def write(root: Path) -> None:
        path = valid(root) / "scores.csv"
        path.write_text(path.read_text() + line)

    return write


ABOUT = {
    'name = "' + "x" * 300_000 + '"': "bytes",
    "name = " + "[" * 20_000: "not TOML",
    "name = ": "not TOML",
    'name = "=1+1"': "name: should be",
    'name = "a\\u202eb"': "name: should be",
    "rank = 1": "has a field 'rank'",
    'date = "soon"': "date: should be",
    "date = 0001-01-01T00:00:00+23:00": "date: should be",
    "date = 0x" + "F" * 60_000: "date: should be",
    "name = [0x" + "F" * 60_000 + "]": "name: should be",
}
LIKE = "looks like beta, the name of another team"
TEAMS = {"length": "name of a metric", "Cosine": "name of a metric", "<b>evil": "no name of a team",
         "=evil": "no name of a team", "e\nvil": "no name of a team", "e" * 100: "no name of a team",
         "e\u0301vil": "no name of a team", "BETA": LIKE, "be\u0442a": LIKE}
NUMBERS = ("first", "01", "\u0661")
FOLDERS: tuple[tuple[Callable[[Path], object], str], ...] = (
    (lambda root: (root / "submissions" / "evil").symlink_to(root / "submissions" / "beta"), "link"),
    (lambda root: evil(root).with_name("2").symlink_to(root / "submissions" / "beta" / "1"), "link"),
    (lambda root: evil(root, "scores.csv").symlink_to(root / "private" / "ratings.csv"), "link"),
    (lambda root: os.mkfifo(evil(root, "scores.csv")), "no plain file"),
    (_archive, "archive"),
    (lambda root: evil(root, "scores.pkl").write_bytes(pickle.dumps(Trap(root / "trapped"))), "no score file"),
    (lambda root: evil(root, "scores.json").write_bytes(pickle.dumps(Trap(root / "trapped"))), ""),
    (_large, "more than 64 MB"),
    (_many_files, "more than 20 files"),
    (_many_folders, "more than 1000"),
    (evil, "no score file"),
    (lambda root: (valid(root) / "more").mkdir(), "no plain file"),
    (_no_text_as_file, "\\udcff.csv has a name"),
    (lambda root: os.link(root / "private" / "ratings.csv", evil(root, "scores.csv")), "is a hard link"),
    (_more("first_000,1\n"), "already"),
    (_more("first_000,1e400\n"), "1e400"),
    (lambda root: (valid(root) / "scores.csv").write_text("".join(f"{one}\n" for one in (
        "dialogue_id;score", *(f"{item};0,5" for item in scores(1, 1))))), "no number: and 77 more (lines 5, 6, 7, "),
    (lambda root: submit(root, "evil", 1, dict(list(scores(1, 1).items())[:-3])), "without a score: 3 of second"),
    *((lambda root, about=about: valid(root, about + "\n"), why) for about, why in ABOUT.items()),  # type: ignore[misc]
    *((lambda root, team=team: submit(root, team, 1, scores(1, 1)), why)  # type: ignore[misc]
      for team, why in TEAMS.items()),
    *((lambda root, number=number: submit(root, "evil", number, scores(1, 1)), "no number")  # type: ignore[misc]
      for number in NUMBERS),
)


def everything(root: Path) -> dict[str, int]:
    """Every path below a folder with the time of its last change, the rankings left out."""
    return {str(path): path.lstat().st_mtime_ns for path in root.rglob("*")}


def test_each_is_refused_with_its_reason_and_changes_no_file(tmp_path: Path) -> None:
    """Only the submissions are looked at: what a broken one does to the ranking is a test of its own."""
    root, home = challenge(tmp_path / "work" / "challenge", draws=0), tmp_path / "home"
    three_teams(root)
    rules, ranked_data, whole, _ = outcome.validated(root, home)
    shutil.copytree(root / "submissions", tmp_path / "submissions")
    for write, reason in FOLDERS:
        write(root)
        lying = everything(tmp_path)
        files = entries.taken(submissions.listed(rules), ranked_data, rules)
        assert everything(tmp_path) == lying
        reasons = [why for refused in files.refused for why in refused.reasons]
        assert any(reason in why for why in reasons), reason
        assert all(line.isprintable() for refused in files.refused for line in (refused.name, *refused.reasons))
        assert not (root / "trapped").exists()
        if reason != LIKE:
            assert [entry.name for entry in files.whole.entries] == [entry.name for entry in whole.whole.entries]
        shutil.rmtree(root / "submissions")
        shutil.copytree(tmp_path / "submissions", root / "submissions")


def test_what_cannot_be_read_is_refused_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = challenge(tmp_path / "challenge", draws=0)
    three_teams(root)
    valid(root, 'name = "E"\n')

    def unless_locked(real: Callable[..., object]) -> Callable[..., object]:
        def opened(path: Path, *args: object, **options: object) -> object:
            if Path(path) == closed:
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **options)

        return opened

    monkeypatch.setattr(submissions, "_entries_of", unless_locked(submissions._entries_of))
    monkeypatch.setattr(terms, "table", unless_locked(terms.table))
    monkeypatch.setattr(scorefile, "read", unless_locked(scorefile.read))
    for locked in ("evil", "evil/1", "evil/1/submission.toml", "evil/1/scores.csv"):
        closed = root / "submissions" / locked
        _, _, files, _ = outcome.validated(root, tmp_path / "home")
        why = "PermissionError" if locked.endswith(".csv") else "Permission denied"
        assert [(refused.name, refused.reasons) for refused in files.refused] == [
            ("evil" if locked == "evil" else "evil/1", (f"cannot be read: {why}",))]
        assert len(files.whole.entries) == 4
    shutil.rmtree(root / "submissions")
    (root / "submissions").symlink_to(tmp_path)
    with pytest.raises(BadConfig, match="is a link"):
        outcome.validated(root, tmp_path / "home")
