"""Receive submissions and freeze phases, with a log of both.

`receipts.jsonl` has a line for each received file (time in UTC by the local clock, sha256 of the unpacked file, its
column, whether it is primary, outcome) and a line for each freeze of a phase, or its undoing. Lines are only appended,
and each holds the sha256 of the line before, so that changed or missing lines are detected. If a phase has receipts,
only received files are ranked. After a freeze, only files received before it are ranked, and changed rules, ratings or
data are reported.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from filelock import SoftFileLock

from benchmarks.errors import plural
from benchmarks.formats import scorefile
from benchmarks.storage.files import write_atomically
from benchmarks.storage.store import ratings_fingerprint
from harness.challenge import entries, ground, rulebook, submissions
from harness.challenge.ground import Ground
from harness.challenge.rulebook import Rulebook
from harness.challenge.submissions import About, Receipt, Refused
from harness.errors import BadConfig

FILE = "receipts.jsonl"
LOCK_TIMEOUT = 60
"""Seconds to wait for another process that is receiving a file."""
STAGING = ".receiving"
"""Folder of a file that is being checked; hidden from rankings."""
NOT_COMPARED = ("folder", "title", "custom", "ratings", "baselines", "final", "changed", "published", "blind")
"""Settings that do not affect ranks, or that name files, whose contents are compared instead."""


@dataclass(frozen=True, slots=True)
class Log:
    """The lines of the log, and the sha256 of the last."""

    lines: tuple[Mapping[str, Any], ...] = ()
    last: str = ""

    def received(self, phase: str, team: str = "") -> list[Mapping[str, Any]]:
        """Return the lines of the files received in a phase, by default of all teams."""
        return [line for line in self.lines
                if (line["event"], line["phase"]) == ("received", phase) and team in ("", line["team"])]

    def frozen(self, phase: str) -> Mapping[str, Any]:
        """Return the line of the freeze of a phase; an empty one if it is not frozen, or no longer."""
        lines = [line for line in self.lines if line["phase"] == phase and line["event"] in ("frozen", "unfrozen")]
        return lines[-1] if lines and lines[-1]["event"] == "frozen" else {}

    def receipts(self, phase: str) -> dict[str, Receipt] | None:
        """Return the receipts of the files that may be ranked in the phase, by TEAM/N; None if the phase has none."""
        lines = self.received(phase)
        receipts = {f"{line['team']}/{line['number']}": Receipt(_time(line), line["sha256"], line["settings"])
                    for line in lines}
        if frozen := self.frozen(phase):
            return {**{name: Receipt(receipts[name].time if name in receipts else None, digest,
                                     frozen["settings"][name]) for name, digest in frozen["submissions"].items()},
                    **{name: Receipt(None, "", left_out=tuple(f"left out of the freeze: {line}" for line in reasons))
                       for name, reasons in frozen["left out"].items()}}
        return receipts if lines else None

    def refused(self, phase: str) -> tuple[Refused, ...]:
        """Return the files that were refused when received, with the time; refused team names are not public."""
        return tuple(Refused(_refused_name(line["team"], number),
                             (f"when received, {line['time']} (line {number} of {FILE}): {'; '.join(line['why'])}",),
                             public=_refused_name(submissions.UNNAMED, number) if line.get("team refused") else "")
                     for number, line in enumerate(self.lines, start=1)
                     if (line["event"], line["phase"]) == ("refused", phase))

    def changed(self, rules: Rulebook, data: Ground) -> tuple[str, ...]:
        """List the inputs of a ranking that have changed since the freeze; for settings, with both values."""
        now, frozen = inputs(rules, data), self.frozen(rules.phase)
        return tuple(f"{name} ({value}, now {now[name]})" if hasattr(rules, name) and name not in NOT_COMPARED else name
                     for name, value in (frozen["inputs"].items() if frozen else ()) if now.get(name) != value)


def read(folder: Path) -> Log:
    """Read the log of a challenge; raise BadConfig if a line was changed or removed."""
    path = folder / FILE
    lines, last = list[Mapping[str, Any]](), ""
    for number, content in enumerate(path.read_bytes().splitlines() if path.is_file() else (), start=1):
        try:
            line = json.loads(content)
            intact = line["previous"] == last and _time(line)
        except (ValueError, LookupError, TypeError):
            intact = None
        if not intact:
            raise BadConfig(f"{path}: line {number} or the one before it was changed; restore the file")
        lines.append(line)
        last = hashlib.sha256(content).hexdigest()
    return Log(tuple(lines), last)


def _time(line: Mapping[str, Any]) -> datetime.datetime:
    return datetime.datetime.fromisoformat(line["time"])


def _append(folder: Path, log: Log, line: Mapping[str, Any]) -> None:
    path = folder / FILE
    existing = path.read_bytes() if path.is_file() else b""
    text = json.dumps({**line, "previous": log.last}, ensure_ascii=False) + "\n"
    write_atomically(path, existing + text.encode(errors="backslashreplace"))  # a name may not be valid text


def inputs(rules: Rulebook, data: Ground) -> dict[str, str]:
    """Return the settings of a ranking, and the sha256 of its other inputs."""
    ratings = [ratings_fingerprint(ranked.dataset.ratings) for ranked in data.datasets]
    parts = {"qualities of the datasets": f"{data.targets}", rulebook.SEED_FILE: rules.secret,
             "ratings": f"{data.ratings} {ratings}",
             **{f"dataset {ranked.name}": ranked.dataset.fingerprint for ranked in data.datasets}}
    settings = {setting.name: str(getattr(rules, setting.name)) for setting in fields(rules)}
    return {name: value for name, value in settings.items() if name not in NOT_COMPARED} | {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in parts.items()}


def freeze(folder: Path, home: Path, phase: str, now: datetime.datetime) -> tuple[int, tuple[Refused, ...]]:
    """Freeze a phase, so that only its present submissions are ranked; return their number and those refused."""
    with SoftFileLock(folder / f"{FILE}.lock", timeout=LOCK_TIMEOUT):
        log, rules = read(folder), rulebook.read(folder, phase)
        if log.frozen(rules.phase):
            raise BadConfig(f"{rules.name} is already frozen")
        listed = submissions.find(rules, log.receipts(rules.phase))
        if not listed:
            raise BadConfig(f"no submissions yet{f' in the phase {rules.phase}' if rules.phase else ''}; set `closes` "
                            "to stop accepting submissions")
        data = ground.prepare(replace(rules, final=True), home)
        valid, refused = entries.accept(listed, data, rules)
        _append(folder, log, {"event": "frozen", "time": now.isoformat(timespec="seconds"), "phase": rules.phase,
                              "submissions": {entry.name: entry.sha256 for entry in valid.entries},
                              "settings": {entry.name: entry.about.settings for entry in valid.entries},
                              "left out": {entry.name: entry.reasons for entry in refused if not entry.public},
                              "inputs": inputs(rules, data)})
    return len(valid.entries), refused


def unfreeze(folder: Path, phase: str, now: datetime.datetime) -> None:
    """Undo the freeze of a phase; both lines stay in the log."""
    with SoftFileLock(folder / f"{FILE}.lock", timeout=LOCK_TIMEOUT):
        log, rules = read(folder), rulebook.read(folder, phase)
        if not log.frozen(rules.phase):
            raise BadConfig(f"{rules.name} is not frozen")
        _append(folder, log, {"event": "unfrozen", "time": now.isoformat(timespec="seconds"), "phase": rules.phase})


def receive(folder: Path, home: Path, file: Path, team: str, *, now: datetime.datetime, phase: str = "",
            column: str = "", primary: bool = False, dry: bool = False) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Receive a team's score file and, unless `dry`, keep and log it; return its name TEAM/N, reasons and remarks."""
    with SoftFileLock(folder / f"{FILE}.lock", timeout=LOCK_TIMEOUT):
        log, phases = read(folder), rulebook.phases(folder)
        rules = (_phase_of(phases, log, file, column, home, now.date()) if len(phases) > 1 and not phase else
                 rulebook.read(folder, phase))
        number = 1 + max((line["number"] for line in log.received(rules.phase, team)), default=0)
        teams = {line["team"] for line in log.lines if line["event"] == "received"}
        teams |= {path.name for phase_rules in phases for path in phase_rules.inbox.glob("[!.]*")}
        wrong_name = submissions.name_problems(sorted({team, *teams})).get(team, "")
        reasons = (wrong_name,) if wrong_name else tuple(_not_accepting(rules, log, team, now))
        while not reasons and (rules.inbox / team / str(number)).exists():  # created by hand or by a killed process
            number += 1
        name, digest, remarks = f"{team}/{number}", "", tuple[str, ...]()
        about = About(column=column, primary=primary)
        if not reasons:
            staged = folder / STAGING / team / str(number)
            try:
                digest, reasons, remarks = _checked(staged, file, about, rules, home, now)
                remarks += tuple(f"the file is identical to {line['team']}/{line['number']}"
                                 for line in log.received(rules.phase) if line["sha256"] == digest)
                if not reasons and not dry:
                    (rules.inbox / team).mkdir(parents=True, exist_ok=True)
                    staged.rename(rules.inbox / team / str(number))
            finally:
                shutil.rmtree(folder / STAGING, ignore_errors=True)
        if reasons:
            name = _refused_name(team, 1 + len(log.lines))
        if not dry:
            outcome = ({"event": "refused", "why": reasons, **({"team refused": True} if wrong_name else {})} if reasons
                       else {"event": "received", "number": number, "settings": about.settings})
            _append(folder, log, {"time": now.isoformat(timespec="seconds"), "phase": rules.phase, "team": team,
                                  "file": file.name, "sha256": digest, **outcome})
    return f"{name}{f' in {rules.phase}' if rules.phase else ''}", reasons, remarks


def _refused_name(team: str, line: int) -> str:
    """Name a refused file by its line in the log; no submission has such a name."""
    return scorefile.printable(f"{team}/refused-{line}")


def _phase_of(phases: Sequence[Rulebook], log: Log, file: Path, column: str, home: Path, today: datetime.date,
              ) -> Rulebook:
    """Return the phase whose items a file scores; if there are several, the open one, or the last if none is open.

    A frozen phase is not open. A file that scores no items is assigned to the first candidate, which refuses it.
    """
    datasets = {rules.phase: ground.load_datasets(rules, home) for rules in phases if rules.ready}
    known = scorefile.expected(dataset for group in datasets.values() for dataset in group)
    scored_datasets = set(scorefile.read(file, known, all_datasets=False, column=column or phases[0].column).datasets)
    candidates = [rules for rules in phases
                  if scored_datasets & {dataset.card.name for dataset in datasets.get(rules.phase, ())}] or list(phases)
    if len(candidates) > 1:
        candidates = [rules for rules in candidates if not log.frozen(rules.phase)
                      and (rules.opens or today) <= today <= (rules.closes or today)] or candidates[-1:]
    if len(candidates) > 1 and scored_datasets:
        raise BadConfig(f"name the phase with --phase: {', '.join(rules.phase for rules in candidates)}")
    return candidates[0]


def _not_accepting(rules: Rulebook, log: Log, team: str, now: datetime.datetime) -> Iterator[str]:
    if log.frozen(rules.phase):
        yield "the phase is frozen"
    yield from submissions.date_problems(now.date(), rules)
    received = log.received(rules.phase, team)
    today = sum(_time(line).date() == now.date() for line in received)
    if rules.submissions and len(received) >= rules.submissions:
        yield f"{team} has reached the limit of {plural(rules.submissions, 'submission')}"
    elif rules.per_day and today >= rules.per_day:
        yield f"{team} has reached the limit of {plural(rules.per_day, 'submission')} per day (UTC)"


def _checked(staged: Path, file: Path, about: About, rules: Rulebook, home: Path, now: datetime.datetime,
             ) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Check a staged copy of a file as for a ranking; return its digest, the reasons to refuse it, and remarks."""
    try:
        suffix, content = scorefile.read_content(file)
    except scorefile.Unreadable as error:
        return "", (error.text,), ()
    digest = hashlib.sha256(content).hexdigest()
    unpacked = ["the recorded sha256 is that of the unpacked file"] if file.suffix.casefold() == ".gz" else []
    staged.mkdir(parents=True)
    write_atomically(staged / f"scores{suffix}", content)
    if settings := "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
                           for name, value in about.settings.items() if value):
        write_atomically(staged / submissions.ABOUT, settings.encode())
    submission = submissions.submission(staged.parent, int(staged.name), rules, Receipt(now, digest))
    accepted, refused = entries.accept([submission], ground.prepare(rules, home, rated=False), rules)
    return (digest, tuple(reason for submission in refused for reason in submission.reasons),
            tuple(line for entry in accepted.entries for line in (*entry.remarks, *unpacked)))
