"""The announcement of a ranking, in Markdown for the organiser to edit; and the receipts of a blind phase."""

from __future__ import annotations

import hashlib

from harness.challenge.outcome import Outcome
from harness.challenge.rulebook import FILE
from harness.challenge.tables import command, count, official, refused_rows, winner
from harness.results import exhibits
from harness.results.rows import Exhibit, Grid, Results
from harness.run import entries, environment

COLUMNS = 4
"""Columns of the official table in the announcement: team, rank, submission, value."""


def announcement(outcome: Outcome) -> bytes:
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
             f"{FILE} with the sha256 {digest}. Anyone with the ratings can repeat it:"),
            f"    {command(rules)}",
            "Teams can compare the sha256 of their files with the receipts.")))


def receipts(outcome: Outcome) -> tuple[Results, Exhibit]:
    """Return the accepted and refused files of a phase, without scores."""
    rules = outcome.rules
    report = Results(
        run=environment.facts(rules.seed, "none", {"challenge": rules.title, "phase": rules.phase}, command(rules)),
        metrics=(), correlations=(), ranking=(),
        datasets=tuple(entries.dataset_entry(field.dataset, field.judged) for field in outcome.ground.fields))
    rows = tuple((entry.team, str(entry.number), str(entry.about.date or ""), entry.sha256)
                 for entry in outcome.entries.entries)
    head, *refused = refused_rows((*outcome.refused, *outcome.at_receipt))
    grids = (Grid("receipts", "Accepted submissions", ("team", "submission", "date", "sha256"), rows),
             Grid("refused", "Refused submissions", tuple(map(str, head)),
                  tuple(tuple(map(str, row)) for row in refused)))
    return report, Exhibit(
        name="challenge", kind="challenge", title=rules.name, command=command(rules),
        lead=f"{count(len(rows), 'submission')} accepted. Scores and ranks are published after the phase is frozen.",
        grids=tuple(grid for grid in grids if grid.rows))
