"""Find submissions: folders submissions/TEAM/N/ with one score file and optionally a submission.toml.

All content is treated as hostile. Links are not followed, archives are not unpacked, and nothing is run. Names, sizes
and the number of files are checked before a file is opened. A refused submission, whatever the error, is listed with
its reasons and does not affect others.
"""

from __future__ import annotations

import datetime
import json
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
from benchmarks.formats.scorefile import printable as shown
from harness import terms
from harness.challenge.rulebook import FOLDER, Rulebook
from harness.errors import BadConfig
from metrics import registry

ABOUT = "submission.toml"
TEAM = re.compile(r"[^\W_][\w .-]{0,39}")
"""Team names begin with a letter or digit, so that spreadsheets see no formula, and contain no markup."""
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names that Windows reserves for devices, with any extension."""
NUMBER = re.compile(r"[1-9][0-9]{0,5}")
LOOKALIKE = "the team name looks like {}, the name of another team (case, similar letters, punctuation); choose another"
MISSING = "has a receipt but is missing; restore it, unless the team has withdrawn it"
UNRECEIVED = "has no receipt; submit it with `harness challenge receive` before the freeze"
LIKE_LATIN = str.maketrans("авекмнорстухіјѕһԁԛԝαβεικνορτυχηζγ01ıi",
                           "abekmhopctyxljshdqwabelkvoptuxhzyolll")
"""Cyrillic and Greek letters and digits that look like Latin letters; i and l count as the same."""
MAX_BYTES = 1 << 26
"""Maximum size of a score file in bytes: ten times that of a file with 18,641 items and eleven qualities."""
MAX_TEAMS, MAX_FOLDERS, MAX_FILES = 5000, 1000, 20
UNNAMED = "(team name refused)"


@dataclass(frozen=True, slots=True)
class About:
    """The file submission.toml."""

    name: Annotated[str, Rule("one line of at most 80 characters that begins with a letter or digit", lambda name: (
        name.isprintable() and len(name) <= 80 and name[:1].isalnum()))] = ""
    description: terms.Paragraphs = ""
    date: datetime.date | None = None
    column: terms.Line = ""
    primary: bool = False

    @property
    def settings(self) -> dict[str, object]:
        """The settings that affect the ranking; logs record them."""
        return {"column": self.column, "primary": self.primary}


@dataclass(frozen=True, slots=True)
class Receipt:
    """The time of receipt (None if unknown), sha256 of the file, settings, and reasons to leave it out of a freeze.

    A file that is just being received has no settings yet.
    """

    time: datetime.datetime | None
    sha256: str
    settings: Mapping[str, object] | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission; `sha256` and `remarks` describe its file and are set once the file is read."""

    team: str
    number: int
    path: Path
    about: About
    receipt: Receipt | None = None
    sha256: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.team}/{self.number}"


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused submission or team folder, with all reasons; `public` is its name on pages, by default `name`."""

    name: str
    reasons: tuple[str, ...]
    sha256: str = ""
    public: str = ""


def find(rules: Rulebook, receipts: Mapping[str, Receipt] | None = None) -> list[Submission | Refused]:
    """Return all submissions, including refused ones, sorted by team and number.

    With `receipts` (by TEAM/N), submissions without a receipt are refused, and so are receipts without a submission,
    which come last.
    """
    root = rules.inbox
    if root.is_symlink():
        raise BadConfig(f"{root} is a link; put submissions in DIR/{FOLDER}/{'PHASE/' if rules.phase else ''}TEAM/N/")
    teams = _entries_of(root, MAX_TEAMS) if root.is_dir() else []
    wrong = name_problems(entry.name for entry in teams)
    results: list[Submission | Refused] = []
    for entry in teams:
        try:
            reason = (_not_a_folder(entry, "is not a folder; submissions belong in submissions/TEAM/N/")
                      or wrong.get(entry.name))
            results += ([Refused(shown(entry.name), (reason,), public=UNNAMED)] if reason
                        else _team(Path(entry.path), rules, receipts))
        except (OSError, BadConfig) as error:
            results.append(Refused(shown(entry.name), (_unreadable(error),)))
    listed_names = {result.name for result in results}
    return results + [Refused(shown(name), receipt.left_out or (MISSING,)) for name, receipt in (receipts or {}).items()
                      if not (name in listed_names or os.path.lexists(root / name))]


def refused_count(refused: Sequence[Refused], at_receipt: Sequence[Refused]) -> str:
    early = f" ({len(at_receipt)} when received)" if at_receipt else ""
    return f"{len(refused) + len(at_receipt)} refused{early}"


def date_problems(date: datetime.date | None, rules: Rulebook) -> Iterator[str]:
    subject = f"the phase {rules.phase}" if rules.phase else "the challenge"
    if rules.when and date is None:
        yield f"has no date in {ABOUT}"
    if date and rules.opens and date < rules.opens:
        yield f"is dated {date}, before {subject} opens on {rules.opens}"
    if date and rules.closes and date > rules.closes:
        yield f"is dated {date}, after {subject} closed on {rules.closes}"


def submission(team: Path, number: int, rules: Rulebook, receipt: Receipt | None) -> Submission | Refused:
    folder, about = team / str(number), About()
    try:
        entries = _entries_of(folder, MAX_FILES)
        reasons = list(_wrong_files(entries))
        if not reasons and any(entry.name == ABOUT for entry in entries):
            with records.refused_as(BadConfig):
                about = records.value_of(About, terms.table(folder / ABOUT, ABOUT), ABOUT)
        if receipt and receipt.time:
            about = replace(about, date=receipt.time.date())
        if not reasons and receipt and receipt.settings and receipt.settings != about.settings:
            received = ", ".join(f"{name} = {json.dumps(value)}" for name, value in receipt.settings.items())
            reasons = [f"{ABOUT} differs from the received one, which has {received}"]
        reasons = reasons or list(date_problems(about.date, rules))
    except Exception as error:  # a hostile file affects this submission only
        reasons = [_unreadable(error)]
    if reasons:
        return Refused(shown(f"{team.name}/{number}"), tuple(reasons))
    (path,) = (Path(entry.path) for entry in entries if entry.name != ABOUT)
    return Submission(team.name, number, path, about, receipt)


def _team(folder: Path, rules: Rulebook, receipts: Mapping[str, Receipt] | None) -> Iterator[Submission | Refused]:
    numbers = []
    for entry in _entries_of(folder, MAX_FOLDERS):
        archive = entry.name.casefold().endswith((".zip", ".gz", ".tar", ".bz2", ".xz", ".7z"))
        reason = _not_a_folder(entry, "is an archive; archives are not unpacked, so ask for the file itself" if archive
                               else "is not a folder; a submission is a folder named 1, 2, 3, ...")
        reason = reason or ("" if NUMBER.fullmatch(entry.name) else "is not named 1, 2, 3, ...")
        if reason:
            yield Refused(shown(f"{folder.name}/{entry.name}"), (reason,))
        else:
            numbers.append(int(entry.name))
    limit, accepted = rules.submissions or len(numbers), 0
    for number in sorted(numbers):
        name = f"{folder.name}/{number}"
        receipt = receipts.get(name) if receipts else None
        if receipts is not None and receipt is None:
            yield Refused(shown(name), (UNRECEIVED,))
        elif receipt and receipt.left_out:
            yield Refused(shown(name), receipt.left_out)
        elif accepted == limit:
            yield Refused(shown(name), (f"exceeds the limit of {limit} per team; the lowest numbers are accepted",))
        else:
            accepted += 1
            yield submission(folder, number, rules, receipt)


def _unreadable(error: Exception) -> str:
    """Explain why something cannot be read, without revealing local paths."""
    if isinstance(error, BadConfig):
        return str(error)
    return f"cannot be read: {shown(getattr(error, 'strerror', None) or type(error).__name__)}"


def _entries_of(folder: Path, limit: int) -> list[os.DirEntry[str]]:
    """Return the visible entries sorted by name; raise BadConfig if there are too many."""
    with os.scandir(folder) as entries:
        listing = list(islice((entry for entry in entries if not entry.name.startswith(".")), limit + 1))
    if len(listing) > limit:
        raise BadConfig(f"the folder {shown(folder.name)} has more than {limit} entries; put one score file in each "
                        f"{FOLDER}/TEAM/N/")
    return sorted(listing, key=lambda entry: entry.name)


def _not_a_folder(entry: os.DirEntry[str], reason: str) -> str:
    """Return the reason to refuse an entry that is not a folder, else ""."""
    if entry.is_symlink():
        return "is a link; links are not followed"
    return "" if entry.is_dir(follow_symlinks=False) else reason


def name_problems(names: Iterable[str]) -> dict[str, str]:
    """Return the reason to refuse each name that breaks a rule or looks like another to readers or file systems."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        folded = unicodedata.normalize("NFKC", name).casefold().translate(LIKE_LATIN)
        visible = "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")
        groups[re.sub(r"[ ._-]+", " ", visible).strip()].append(name)
    return {name: reason for group in groups.values() for name in group if (
        reason := LOOKALIKE.format(shown(group[name == group[0]])) if len(group) > 1 else _wrong_name(name))}


def _wrong_name(name: str) -> str:
    if not TEAM.fullmatch(name) or not name.isprintable() or name.endswith((" ", ".")):
        return ("a team name must have at most 40 letters, digits, spaces, underscores, full stops and hyphens, begin "
                "with a letter or digit, and not end with a space or full stop")
    if unicodedata.normalize("NFC", name) != name:
        return "the team name must be in Unicode's composed form (NFC)"
    if RESERVED.fullmatch(name):
        return "Windows reserves this name for a device; choose another team name"
    if registry.is_built_in(name.casefold()):
        return "the team name is the name of a metric; choose another"
    return ""


def _wrong_files(entries: Sequence[os.DirEntry[str]]) -> Iterator[str]:
    """Yield the reasons to refuse a submission that can be found without opening its files."""
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            yield f"{shown(entry.name)} is a link or not a regular file; only plain files are read"
        elif not entry.name.isprintable():
            yield f"{shown(entry.name)} has unprintable characters in its name"
        elif status.st_size > MAX_BYTES:
            yield f"{shown(entry.name)} is larger than {MAX_BYTES >> 20} MB"
    if (scores := sum(entry.name != ABOUT for entry in entries)) != 1:
        yield f"has {scores or 'no'} score file{'s' if scores else ''}; a submission has exactly one"
