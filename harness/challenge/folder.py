"""Write DIR/ranking, the files of `harness challenge rank`, which docs/tutorial-organiser.md lists.

The same challenge gives the same bytes; the only times in them are the dates of submissions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.errors import plural
from benchmarks.storage.files import sweep, write_atomically
from harness.challenge.outcome import Outcome
from harness.challenge.receipts import inputs
from harness.challenge.report import report
from harness.challenge.rulebook import FILE
from harness.challenge.submissions import counted
from harness.challenge.tables import Row, command, exhibit, for_csv, official, part_of, refused_table, required, winner
from harness.results import exhibits
from harness.results import files as reports
from harness.results.exhibits import Exhibit, Grid
from harness.results.files import packed
from harness.results.rows import Comparisons, Results
from harness.run import entries, environment
from harness.run.compare import compared

COLUMNS = 4
"""Number of columns of the official table that the announcement shows: team, rank, submission, value."""
REPLACED = {"announcement.md", "pairs.parquet", *(f"{name}.csv" for name in (
    "official", "rules", "clusters", "submissions", "refused", "targets", "correlation", "receipts"))}
"""Files of a ranking or of receipts; the next one deletes those that it does not write."""


def write(outcome: Outcome, out: Path) -> tuple[Results, Exhibit]:
    shown, made = exhibit(outcome), report(outcome, out / "statistics")
    sweep(out)
    submitted, names = outcome.entries.entries, [entry.name for entry in outcome.entries.entries]
    pairs = [compared(*target, names, "spearman", "williams", tests) for target, tests in outcome.pairs.items()]
    tables: dict[str, Sequence[Row]] = {
        **for_csv(outcome),
        "targets": [("team", "number", "sha256", *map("|".join, outcome.ground.targets)), *(
            (entry.team, entry.number, entry.sha256, *row)
            for entry, row in zip(submitted, outcome.values.tolist(), strict=True))],
        "correlation": [("submission", *names), *(
            (name, *row) for name, row in zip(names, outcome.correlation.round(6).tolist(), strict=True))]}
    files = {f"{name}.csv": exhibits.csv_of(rows) for name, rows in tables.items()}
    _put(made, shown, {**files, "pairs.parquet": packed(pairs, Comparisons), "audit.jsonl": audit_log(outcome, out),
                       "announcement.md": announcement(outcome)}, out)
    return made, shown


def write_published(made: Results, shown: Exhibit, out: Path) -> None:
    """Write the tables of published results or of receipts."""
    _put(made, shown, {f"{grid.name.replace(' ', '-').casefold()}.csv": exhibits.csv_of([grid.head, *grid.rows])
                       for grid in shown.grids}, out)


def _put(made: Results, shown: Exhibit, files: Mapping[str, bytes], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    reports.write(made, out / "report")
    parts = {**files, "ranking.md": exhibits.markdown(shown), "ranking.json": exhibits.encoded(shown)}
    for name, content in sorted(parts.items()):
        write_atomically(out / name, content)
    for name in REPLACED - parts.keys():
        (out / name).unlink(missing_ok=True)


def audit_log(outcome: Outcome, folder: Path) -> bytes:
    """Return a folder's audit log with a ranking's decisions appended, unless it already ends with them."""
    path = folder / "audit.jsonl"
    before = path.read_bytes() if path.is_file() else b""
    block = "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in _decisions(outcome)).encode()
    return before if before.endswith(block) else before + block


def _decisions(outcome: Outcome) -> Iterator[dict[str, object]]:
    rules, facts = outcome.rules, environment.facts(outcome.rules.seed, "cpu", {}, "")
    yield {"event": "challenge", "title": rules.title, "version": facts.version, "commit": facts.commit,
           "packages": facts.packages, FILE: hashlib.sha256((rules.folder / FILE).read_bytes()).hexdigest(),
           "part": part_of(rules), "data": [field.about for field in outcome.ground.fields],
           **inputs(rules, outcome.ground)}
    for refused in sorted(outcome.refused, key=lambda submission: submission.name):
        yield {"event": "refused", "submission": refused.name, "sha256": refused.sha256, "why": list(refused.reasons)}
    ranks = {entry.name: standing.rank for entry, standing in outcome.ranked(rules.rule)}
    for entry, total in zip(outcome.entries.entries, outcome.totals, strict=True):
        yield {"event": "counts" if entry.name in ranks else "accepted", "submission": entry.name,
               "file": entry.path.name, "sha256": entry.sha256, "date": entry.about.date, "value": round(total, 9),
               "rank": ranks.get(entry.name), "remarks": list(entry.remarks)}


def announcement(outcome: Outcome) -> bytes:
    """Return the announcement of a ranking, in Markdown for the organiser to edit."""
    rules, table = outcome.rules, official(outcome)
    facts = environment.facts(rules.seed, "cpu", {}, "")
    digest = hashlib.sha256((rules.folder / FILE).read_bytes()).hexdigest()
    ranked = Grid(table.name, "Ranking", table.head[:COLUMNS], tuple(row[:COLUMNS] for row in table.rows), table.data)
    thanks = ", ".join(sorted({entry.team for entry in outcome.entries.entries}))
    return exhibits.markdown(Exhibit(
        name="announcement", kind="challenge", command="", grids=(ranked,),
        title=f"{rules.name}: {'results' if rules.final else 'provisional results'}", lead=f"{winner(outcome)}.",
        remarks=(
            "## Thanks", f"We thank the raters and all teams that took part: {thanks}.", "## How to reproduce it",
            (f"The ranking was made by dialogue-harness {facts.version}, commit {facts.commit or 'unknown'}, from "
             f"{FILE} with the sha256 {digest}. {required(rules)}"),
            f"    {command(rules)}",
            "Teams can compare the sha256 of their files with the receipts; for a .gz file, that of the file in it.")))


def receipts(outcome: Outcome) -> tuple[Results, Exhibit]:
    """Return the receipts of a phase: its accepted and refused files, without scores."""
    rules = outcome.rules
    report = Results(
        run=environment.facts(rules.seed, "none", {"challenge": rules.title, "phase": rules.phase}, command(rules)),
        datasets=tuple(entries.dataset_entry(field.dataset, field.judged) for field in outcome.ground.fields))
    rows = tuple((entry.team, str(entry.number), str(entry.about.date or ""), entry.sha256)
                 for entry in outcome.entries.entries)
    grids = (Grid("receipts", "Accepted submissions, with the sha256 of the unpacked files",
                  ("team", "submission", "date", "sha256"), rows), refused_table(outcome))
    return report, Exhibit(
        name="challenge", kind="challenge", title=rules.name, command=command(rules),
        lead=f"{plural(len(rows), 'submission')} accepted, {counted(outcome.refused, outcome.at_receipt)}. Scores and "
             "ranks are published after the phase is frozen.",
        grids=tuple(grid for grid in grids if grid.rows), remarks=(required(rules),))
