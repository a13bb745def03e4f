"""Which folders are submissions: submissions/TEAM/N/ with one score file and, if wanted, a submission.toml.

Whatever lies there is taken to be hostile. Nothing is followed (links), unpacked (archives), run or loaded (pickles);
names are plain or the folder is refused; sizes and numbers of files are looked at before anything is opened. What is
refused is listed with its reasons, and costs nobody else anything; so does whatever error reading it ends in.
"""

from __future__ import annotations

import datetime
import os
import re
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated

from benchmarks.formats import records
from benchmarks.formats.records import Rule
from benchmarks.formats.scorefile import FORMS
from harness import terms
from harness.challenge.rulebook import FOLDER, Rulebook
from harness.errors import BadConfig
from metrics import registry

ABOUT = "submission.toml"
TEAM = re.compile(r"[^\W_][\w .-]{0,39}")
"""Begins with a letter or a digit, so that no table takes it for a formula, and holds nothing that marks text up."""

ALIKE = "looks like {}, the name of another team (case, alphabet, signs between words); rename one of them"
GONE = "receipts.jsonl lists it, and it is not there: restore it, or leave it so where the team withdrew"
UNRECEIVED = "has no receipt: hand it in by `harness challenge receive`, before the freeze"
LIKE_LATIN = str.maketrans("авекмнорстухіјѕһԁԛԝαβεικνορτυχηζγ01ıi",
                           "abekmhopctyxljshdqwabelkvoptuxhzyolll")
"""Letters of Cyrillic and Greek, small or capital, and signs that look like a Latin letter; i and l are one."""

NUMBER = re.compile(r"[1-9][0-9]{0,5}")
LARGEST = 1 << 26
"""Bytes of a score file: ten times what 18,641 items with eleven qualities take."""

TEAMS, FOLDERS, FILES = 5000, 1000, 20
"""So many teams, submissions of a team and files of a submission are looked at."""


@dataclass(frozen=True, slots=True)
class About:
    """What a team says of a submission."""

    name: Annotated[str, Rule("one line of at most 80 characters that begins with a letter or digit", lambda name: (
        name.isprintable() and len(name) <= 80 and name[:1].isalnum()))] = ""
    description: terms.Paragraphs = ""
    date: datetime.date | None = None
    column: terms.Line = ""
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """When a submission came in, where that is known, and the sha256 of its file."""

    time: datetime.datetime | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Submission:
    """A folder that may be scored; `receipt` is what came in under its name, where such is kept."""

    team: str
    number: int
    path: Path
    about: About
    receipt: Receipt | None = None

    @property
    def name(self) -> str:
        """TEAM/N, as it is listed."""
        return f"{self.team}/{self.number}"


@dataclass(frozen=True, slots=True)
class Refused:
    """A submission, or the whole folder of a team, that cannot be taken, with every reason; `sha256` of its file."""

    name: str
    reasons: tuple[str, ...]
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ListedSubmissions:
    """What lies in the folder of submissions."""

    submissions: tuple[Submission, ...] = ()
    refused: tuple[Refused, ...] = ()


def listed(rules: Rulebook, receipts: Mapping[str, Receipt] | None = None) -> ListedSubmissions:
    """Every submission in the order of teams and numbers, and every refused folder with its reasons.

    Where there are `receipts`, by TEAM/N, a submission without one is refused, and one that they name must be there.
    """
    root = rules.inbox
    if root.is_symlink():
        raise BadConfig(f"{root}: is a link; submissions lie in DIR/{FOLDER}/{'PHASE/' if rules.phase else ''}TEAM/N/")
    teams = _entries_of(root, TEAMS) if root.is_dir() else []
    if len(teams) > TEAMS:
        raise BadConfig(f"{root}: more than {TEAMS} teams")
    alike = _alike(entry.name for entry in teams)
    every: list[Submission | Refused] = []
    for entry in teams:
        try:
            reason = _wrong_team(entry, alike)
            every += ([Refused(shown(entry.name), (reason,))] if reason else
                      _team(Path(entry.path), rules, receipts))
        except OSError as error:
            every.append(Refused(shown(entry.name), (_unreadable(error),)))
    every += [Refused(shown(name), (GONE,)) for name in receipts or () if not os.path.lexists(root / name)]
    return ListedSubmissions(tuple(each for each in every if isinstance(each, Submission)),
                             tuple(each for each in every if isinstance(each, Refused)))


def counted(refused: Sequence[Refused], at_receipt: Sequence[Refused]) -> str:
    """How many were refused, in words."""
    return f"{len(refused)} refused{f', {len(at_receipt)} more at receipt' if at_receipt else ''}"


def shown(name: str) -> str:
    """A name from outside as it may be printed: cut, and what is no plain character spelled out."""
    plain = "".join(sign if sign.isprintable() else sign.encode("unicode_escape", "replace").decode()
                    for sign in name[:80])
    return plain + ("…" if len(name) > 80 else "")


def _unreadable(error: Exception) -> str:
    """Why something cannot be read, without the folders of this machine."""
    return f"cannot be read: {shown(getattr(error, 'strerror', None) or type(error).__name__)}"


def _entries_of(folder: Path, most: int) -> list[os.DirEntry[str]]:
    """The entries by name but those that begin with a point, and no more than one above the limit."""
    with os.scandir(folder) as entries:
        listing = list(islice((entry for entry in entries if not entry.name.startswith(".")), most + 1))
    return sorted(listing, key=lambda entry: entry.name)


def _alike(names: Iterable[str]) -> dict[str, str]:
    """Names that some file systems, and most readers, cannot tell apart, each with another of its likes."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[_skeleton(name)].append(name)
    return {name: group[name == group[0]] for group in groups.values() if len(group) > 1 for name in group}


def _skeleton(name: str) -> str:
    """What the eye sees of a name: no case, no Unicode form, one sign for all that part words, Latin for its likes."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(LIKE_LATIN)
    return re.sub(r"[ ._-]+", " ", "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")).strip()


def wrong_team(name: str, inbox: Path) -> tuple[str, ...]:
    """Why a team may not be called so, beside those that are there."""
    others = {entry.name for entry in _entries_of(inbox, TEAMS)} if inbox.is_dir() else set()
    other = _alike(sorted(others | {name})).get(name)
    return tuple(filter(None, [other and ALIKE.format(shown(other)), _wrong_name(name)]))


def _wrong_team(entry: os.DirEntry[str], alike: Mapping[str, str]) -> str:
    name = entry.name
    if entry.is_symlink():
        return "is a link, which is not followed"
    if not entry.is_dir(follow_symlinks=False):
        return "is no folder; submissions lie in submissions/TEAM/N/"
    return ALIKE.format(shown(alike[name])) if name in alike else _wrong_name(name)


def _wrong_name(name: str) -> str:
    if not TEAM.fullmatch(name) or not name.isprintable() or name.endswith((" ", ".")):
        return ("is no name of a team: up to 40 letters, digits, spaces and the signs _ . -, beginning with a letter "
                "or digit and ending with neither space nor point")
    if unicodedata.normalize("NFC", name) != name:
        return "its name is not in Unicode's composed form (NFC)"
    if registry.is_built_in(name.casefold()):
        return "is the name of a metric, for which the boards would take the team; choose another"
    return ""


def _team(folder: Path, rules: Rulebook, receipts: Mapping[str, Receipt] | None) -> list[Submission | Refused]:
    entries = _entries_of(folder, FOLDERS)
    if len(entries) > FOLDERS:
        return [Refused(shown(folder.name), (f"holds more than {FOLDERS} entries",))]
    wrong = {entry.name: reason for entry in entries if (reason := _wrong_folder(entry))}
    numbers = sorted(int(entry.name) for entry in entries if entry.name not in wrong)
    most = rules.submissions or len(numbers)
    names = {number: f"{folder.name}/{number}" for number in numbers}
    known = [number for number, name in names.items() if receipts is None or name in receipts]
    surplus = f"a team may hand in {most}, and those with the lowest numbers are taken"
    return [*(Refused(shown(f"{folder.name}/{name}"), (reason,)) for name, reason in wrong.items()),
            *(submission(folder, number, rules, receipts[names[number]] if receipts else None)
              for number in known[:most]),
            *(Refused(shown(names[number]), (surplus,)) for number in known[most:]),
            *(Refused(shown(name), (UNRECEIVED,)) for number, name in names.items() if number not in known)]


def _wrong_folder(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "is a link, which is not followed"
    if not entry.is_dir(follow_symlinks=False):
        archive = entry.name.casefold().endswith((".zip", ".gz", ".tar", ".bz2", ".xz", ".7z"))
        return ("is an archive, and none is unpacked: ask for the files" if archive
                else "is no folder; a submission is a folder named by a number")
    return "" if NUMBER.fullmatch(entry.name) else "is no number of a submission: 1, 2, 3, ..."


def submission(team: Path, number: int, rules: Rulebook, receipt: Receipt | None) -> Submission | Refused:
    """The submission in a folder of a team, or why it is refused."""
    try:
        path, about, reasons = _looked_at(team / str(number), rules, receipt)
    except BadConfig as error:
        reasons = [str(error)]
    except Exception as error:  # whatever a stranger's files bring about costs this submission alone
        reasons = [_unreadable(error)]
    if reasons:
        return Refused(shown(f"{team.name}/{number}"), tuple(reasons))
    return Submission(team.name, number, path, about, receipt)


def _looked_at(folder: Path, rules: Rulebook, receipt: Receipt | None) -> tuple[Path, About, list[str]]:
    """The score file, what the team says of it, and the reasons to refuse it."""
    entries = _entries_of(folder, FILES)
    if reasons := list(_wrong_files(entries)):
        return folder, About(), reasons
    about = About()
    if any(entry.name == ABOUT for entry in entries):
        table = terms.table(folder / ABOUT, ABOUT)
        with records.refused_as(BadConfig):
            about = records.value_of(About, table, ABOUT)
    (path,) = (Path(entry.path) for entry in entries if entry.name != ABOUT)
    if receipt and receipt.time:
        about = replace(about, date=receipt.time.date())
    return path, about, list(wrong_date(about.date, rules))


def _wrong_files(entries: list[os.DirEntry[str]]) -> Iterator[str]:
    if len(entries) > FILES:
        yield f"holds more than {FILES} files; a submission is one score file and submission.toml"
        return
    scores = 0
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            yield f"{shown(entry.name)} is a link, which is not followed"
        elif not stat.S_ISREG(status.st_mode):
            yield f"{shown(entry.name)} is no plain file"
        elif status.st_nlink > 1:
            yield f"{shown(entry.name)} is a hard link: another name of a file that lies elsewhere"
        elif not entry.name.isprintable():
            yield f"{shown(entry.name)} has a name with signs that are no text (in UTF-8) or steer a terminal"
        elif entry.name != ABOUT and Path(entry.name).suffix.casefold() not in FORMS:
            yield f"{shown(entry.name)} is no score file ({', '.join(FORMS)})"
        elif status.st_size > LARGEST:
            yield f"{shown(entry.name)} has more than {LARGEST >> 20} MB"
        else:
            scores += entry.name != ABOUT
    if scores != 1:
        yield f"holds {scores or 'no'} score file{'s' if scores else ''}; a submission is one"


def wrong_date(date: datetime.date | None, rules: Rulebook) -> Iterator[str]:
    """Why a submission of a day is not taken."""
    what = f"the phase {rules.phase}" if rules.phase else "the challenge"
    if rules.dated and date is None:
        yield f"says in no {ABOUT} on which date it was made"
    if date and rules.opens and date < rules.opens:
        yield f"is of {date}, before {what} opened on {rules.opens}"
    if date and rules.closes and date > rules.closes:
        yield f"is of {date}, after {what} closed on {rules.closes}"
