"""What hostile submissions get: each is refused with its reason, and no file but the harness's own changes."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.formats import scorefile
from harness.challenge import outcome, submissions, terms
from harness.errors import BadConfig
from tests.harness.challenge.folders import challenge, scores, submit, three_teams


class Trap:
    """What, unpickled, leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def _team(root: Path) -> Path:
    return root / "submissions" / "evil" / "1"


def _link_to_folder(root: Path) -> None:
    (root / "submissions" / "evil").symlink_to(root / "submissions" / "beta")


def _link_to_number(root: Path) -> None:
    (root / "submissions" / "evil").mkdir()
    _team(root).symlink_to(root / "submissions" / "beta" / "1")


def _link_to_file(root: Path) -> None:
    _team(root).mkdir(parents=True)
    (_team(root) / "scores.csv").symlink_to(root / "private" / "ratings.csv")


def _pipe(root: Path) -> None:
    _team(root).mkdir(parents=True)
    os.mkfifo(_team(root) / "scores.csv")


def _archive(root: Path) -> None:
    (root / "submissions" / "evil").mkdir()
    with zipfile.ZipFile(root / "submissions" / "evil" / "1.zip", "w") as packed:
        packed.writestr("../../outside.csv", "dialogue_id,score\n")


def _pickle(root: Path) -> None:
    _team(root).mkdir(parents=True)
    (_team(root) / "scores.pkl").write_bytes(pickle.dumps(Trap(root / "trapped")))


def _pickle_as_table(root: Path) -> None:
    _team(root).mkdir(parents=True)
    (_team(root) / "scores.json").write_bytes(pickle.dumps(Trap(root / "trapped")))


def _large(root: Path) -> None:
    _team(root).mkdir(parents=True)
    with (_team(root) / "scores.csv").open("wb") as stream:
        stream.truncate(3 << 30)


def _many_files(root: Path) -> None:
    _team(root).mkdir(parents=True)
    for place in range(200):
        (_team(root) / f"{place}.csv").touch()


def _many_folders(root: Path) -> None:
    for place in range(1, submissions.FOLDERS + 5):
        (root / "submissions" / "evil" / str(place)).mkdir(parents=True)


def _no_file(root: Path) -> None:
    _team(root).mkdir(parents=True)


def _folder_inside(root: Path) -> None:
    (submit(root, "evil", 1, scores(1, 1)) / "more").mkdir()


def _huge_about(root: Path) -> None:
    submit(root, "evil", 1, scores(1, 1), 'name = "' + "x" * 100_000 + '"')


def _deep_about(root: Path) -> None:
    submit(root, "evil", 1, scores(1, 1), "name = " + "[" * 20_000)


def _about(line: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        submit(root, "evil", 1, scores(1, 1), line + "\n")

    return write


def _named(name: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        submit(root, name, 1, scores(1, 1))

    return write


def _numbered(name: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        submit(root, "evil", name, scores(1, 1))

    return write


def _lines(text: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        folder = submit(root, "evil", 1, scores(1, 1))
        with (folder / "scores.csv").open("a") as stream:
            stream.write(text)

    return write


def _constant(root: Path) -> None:
    submit(root, "evil", 1, dict.fromkeys(scores(1, 1), 0.5))


def _no_text_as_file(root: Path) -> None:
    folder = submit(root, "evil", 1, scores(1, 1))
    (folder / "scores.csv").rename(os.fsdecode(os.fsencode(folder) + b"/\xff.csv"))


def _hard_link(root: Path) -> None:
    folder = submit(root, "evil", 1, scores(1, 1))
    (folder / "scores.csv").unlink()
    os.link(root / "private" / "ratings.csv", folder / "scores.csv")


def _incomplete(root: Path) -> None:
    submit(root, "evil", 1, dict(list(scores(1, 1).items())[:-3]))


BROKEN = {
    "link to a folder": (_link_to_folder, "link"),
    "link as a number": (_link_to_number, "link"),
    "link to the ratings": (_link_to_file, "link"),
    "a pipe": (_pipe, "no plain file"),
    "an archive": (_archive, "archive"),
    "a pickle": (_pickle, "no score file"),
    "a pickle called a table": (_pickle_as_table, ""),
    "three gigabytes": (_large, "more than 64 MB"),
    "many files": (_many_files, "more than 20 files"),
    "many folders": (_many_folders, "more than 1000"),
    "no file": (_no_file, "no score file"),
    "a folder inside": (_folder_inside, "no plain file"),
    "huge about": (_huge_about, "bytes"),
    "deep about": (_deep_about, "not TOML"),
    "about that is no TOML": (_about("name = "), "not TOML"),
    "about with a formula": (_about('name = "=1+1"'), "name should be"),
    "about with a control character": (_about('name = "a\\u001bb"'), "name should be"),
    "about with direction signs": (_about('name = "a\\u202eb"'), "name should be"),
    "about with an unknown word": (_about("rank = 1"), "no setting"),
    "about with a date that is none": (_about('date = "soon"'), "date should be"),
    "about with a date before time": (_about("date = 0001-01-01T00:00:00+23:00"), "date should be"),
    "about with a date of endless digits": (_about("date = 0x" + "F" * 60_000), "date should be"),
    "about with a name of endless digits": (_about("name = 0x" + "F" * 60_000), "name should be"),
    "about with endless digits in a list": (_about("name = [0x" + "F" * 60_000 + "]"), "name should be"),
    "a file name that is no text": (_no_text_as_file, "\\udcff.csv has a name"),
    "a hard link to the ratings": (_hard_link, "is a hard link"),
    "the name of a metric": (_named("length"), "name of a metric"),
    "nearly the name of a metric": (_named("Cosine"), "name of a metric"),
    "markup as a name": (_named("<b>evil"), "no name of a team"),
    "a formula as a name": (_named("=evil"), "no name of a team"),
    "a line as a name": (_named("e\nvil"), "no name of a team"),
    "a long name": (_named("e" * 100), "no name of a team"),
    "a decomposed name": (_named("e\u0301vil"), "no name of a team"),
    "a name like another": (_named("BETA"), "differs from it"),
    "no number": (_numbered("first"), "no number"),
    "a number with zeros": (_numbered("01"), "no number"),
    "a number of other digits": (_numbered("\u0661"), "no number"),
    "twice the same": (_lines("first_000,1\n"), "already"),
    "too large a number": (_lines("first_000,1e400\n"), "1e400"),
    "constant scores": (_constant, "all the same"),
    "missing scores": (_incomplete, "without a score: 3 of second"),
}


def everything(root: Path) -> dict[str, int]:
    """Every path below a folder with the time of its last change, the rankings left out."""
    return {str(path): path.lstat().st_mtime_ns for path in root.rglob("*")}


@pytest.mark.parametrize("name", BROKEN)
def test_is_refused_with_its_reason_and_moves_nobody(name: str, tmp_path: Path) -> None:
    write, reason = BROKEN[name]
    root = challenge(tmp_path / "work" / "challenge", draws=0)
    three_teams(root)
    before = outcome.outcome(root, tmp_path / "home") if name != "a name like another" else None
    write(root)
    lying = everything(tmp_path)
    found = outcome.outcome(root, tmp_path / "home")
    assert everything(tmp_path) == lying
    told = [(one.name, why) for one in found.refused for why in one.reasons]
    assert told
    assert any(reason in why for _, why in told)
    assert all(line.isprintable() for pair in told for line in pair)
    assert not (root / "trapped").exists()
    if before is not None:
        assert found.ranking.places == before.ranking.places
        assert [one.name for one in found.entries.entries] == [one.name for one in before.entries.entries]


@pytest.mark.parametrize("locked", ["evil", "evil/1", "evil/1/submission.toml"])
def test_what_cannot_be_read_is_refused_alone(locked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = challenge(tmp_path / "challenge", draws=0)
    three_teams(root)
    submit(root, "evil", 1, scores(1, 1), 'name = "E"\n')
    closed = root / "submissions" / locked

    def unless_locked(real: Callable[..., object]) -> Callable[..., object]:
        def opened(path: Path, *args: object) -> object:
            if Path(path) == closed:
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args)

        return opened

    monkeypatch.setattr(submissions, "_entries_of", unless_locked(submissions._entries_of))
    monkeypatch.setattr(terms, "read", unless_locked(terms.read))
    found = outcome.outcome(root, tmp_path / "home")
    ((name, why),) = [(one.name, one.reasons) for one in found.refused]
    assert name == ("evil" if locked == "evil" else "evil/1")
    assert why == ("cannot be read: Permission denied",)
    assert len(found.entries.entries) == 4


def test_an_error_in_reading_a_score_file_costs_it_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = challenge(tmp_path / "challenge", draws=0)
    three_teams(root)
    submit(root, "evil", 1, scores(1, 1))
    real = scorefile.read

    def read(path: Path, wanted: scorefile.Expected) -> object:
        if "evil" in path.parts:
            raise MemoryError
        return real(path, wanted)

    monkeypatch.setattr(scorefile, "read", read)
    found = outcome.outcome(root, tmp_path / "home")
    assert [(one.name, one.reasons) for one in found.refused] == [("evil/1", ("cannot be read: MemoryError",))]


def test_the_folder_of_submissions_is_no_link(tmp_path: Path) -> None:
    root = challenge(tmp_path / "challenge")
    (root / "submissions").rmdir()
    (root / "submissions").symlink_to(tmp_path)
    with pytest.raises(BadConfig, match="is a link"):
        outcome.outcome(root, tmp_path / "home")


def test_a_name_is_shown_without_what_steers_a_terminal() -> None:
    assert submissions.shown("a\x1b[2Jb\udcff") == "a\\x1b[2Jb\\udcff"
    assert len(submissions.shown("x" * 500)) == 81
