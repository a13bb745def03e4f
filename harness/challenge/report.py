"""Write DIR/ranking, the files of `harness challenge rank`, which docs/tutorial-organiser.md lists.

The same challenge gives the same bytes; the only times in them are the dates of submissions.

The report has the submissions that count in place of metrics, and no ratings, texts or item scores. It compares
submissions at most MAX_RANK_GAP ranks apart, with p adjusted over all pairs. Its numbers are rounded to FIGURES
significant digits or to the decimals that pages show, because full precision would help to reconstruct ratings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from benchmarks.errors import plural
from benchmarks.storage.files import sweep, write_atomically
from harness.challenge import receipts, tables
from harness.challenge.outcome import Outcome
from harness.challenge.rulebook import FILE, Rulebook
from harness.challenge.submissions import refused_count
from harness.challenge.tables import TARGET_DECIMALS
from harness.results import exhibits, files
from harness.results.cache import Cache
from harness.results.entries import BoardId, MetricEntry
from harness.results.exhibits import Exhibit, Grid
from harness.results.rows import Comparisons, Correlation, RankingRow, Results
from harness.run import compare, correlate, entries, environment
from harness.run.rank import ranking
from harness.statistics.estimates import full_name
from harness.statistics.williams import PairTests

FIGURES = 4
MAX_RANK_GAP = 10
"""Maximum difference in rank of a listed comparison; pairs.parquet has all comparisons."""
ANNOUNCED_COLUMNS = 4
"""Number of columns of the official table that the announcement shows: team, rank, submission, value."""
REPLACED = {"announcement.md", "pairs.parquet", *(f"{name}.csv" for name in (
    "official", "rules", "clusters", "submissions", "refused", "targets", "correlation", "receipts"))}
"""Files of a ranking or of receipts; the next ranking or receipts delete the files that they do not write."""


def write(outcome: Outcome, out: Path) -> tuple[Results, Exhibit]:
    """Write the files of a ranking; nothing is written until everything has been computed."""
    page, results = tables.exhibit(outcome), report(outcome, out / "statistics")
    sweep(out)
    submitted, names = outcome.entries.entries, [entry.name for entry in outcome.entries.entries]
    pairs = [compare.adjust_tests(*target, names, "spearman", "williams", tests)
             for target, tests in outcome.pairs.items()]
    rows: dict[str, Sequence[tables.Row]] = {
        **tables.for_csv(outcome),
        "targets": [("team", "number", "sha256", *map("|".join, outcome.ground.targets)), *(
            (entry.team, entry.number, entry.sha256, *row)
            for entry, row in zip(submitted, outcome.values.tolist(), strict=True))],
        "correlation": [("submission", *names), *(
            (name, *row) for name, row in zip(names, outcome.correlation.round(6).tolist(), strict=True))]}
    _write_files(results, page, {**{f"{name}.csv": exhibits.csv_of(table) for name, table in rows.items()},
                       "pairs.parquet": files.packed(pairs, Comparisons), "audit.jsonl": audit_log(outcome, out),
                       "announcement.md": announcement(outcome)}, out)
    return results, page


def write_published(results: Results, page: Exhibit, out: Path) -> None:
    _write_files(results, page, {
        f"{grid.name.replace(' ', '-').casefold()}.csv": exhibits.csv_of([grid.head, *grid.rows])
        for grid in page.grids}, out)


def _write_files(results: Results, page: Exhibit, contents: Mapping[str, bytes], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    files.write(results, out / "report")
    contents = {**contents, "ranking.md": exhibits.markdown(page), "ranking.json": exhibits.encoded(page)}
    for name, content in sorted(contents.items()):
        write_atomically(out / name, content)
    for name in REPLACED - contents.keys():
        (out / name).unlink(missing_ok=True)


def audit_log(outcome: Outcome, folder: Path) -> bytes:
    """Return a folder's audit log with a ranking's decisions appended, unless it already ends with them."""
    path = folder / "audit.jsonl"
    existing = path.read_bytes() if path.is_file() else b""
    block = "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in _decisions(outcome)).encode()
    return existing if existing.endswith(block) else existing + block


def _decisions(outcome: Outcome) -> Iterator[dict[str, object]]:
    rules, facts = outcome.rules, environment.facts(outcome.rules.seed, "cpu", {}, "")
    yield {"event": "challenge", "title": rules.title, "version": facts.version, "commit": facts.commit,
           "packages": facts.packages, FILE: _sha256(rules), "part": tables.describe_ratings_part(rules),
           "data": [ranked.description for ranked in outcome.ground.datasets], **receipts.inputs(rules, outcome.ground)}
    for refused in sorted(outcome.refused, key=lambda submission: submission.name):
        yield {"event": "refused", "submission": refused.name, "sha256": refused.sha256, "why": list(refused.reasons)}
    ranks = {entry.name: standing.rank for entry, standing in outcome.ranked(rules.rule)}
    for entry, total in zip(outcome.entries.entries, outcome.totals, strict=True):
        yield {"event": "counts" if entry.name in ranks else "accepted", "submission": entry.name,
               "file": entry.path.name, "sha256": entry.sha256, "date": entry.about.date, "value": round(total, 9),
               "rank": ranks.get(entry.name), "remarks": list(entry.remarks)}


def _sha256(rules: Rulebook) -> str:
    return hashlib.sha256((rules.folder / FILE).read_bytes()).hexdigest()


def announcement(outcome: Outcome) -> bytes:
    """Return the announcement of a ranking, in Markdown for the organiser to edit."""
    rules, table = outcome.rules, tables.official(outcome)
    facts = environment.facts(rules.seed, "cpu", {}, "")
    ranked = replace(table, caption="Ranking", head=table.head[:ANNOUNCED_COLUMNS], rows=tuple(
        row[:ANNOUNCED_COLUMNS] for row in table.rows))
    teams = ", ".join(sorted({entry.team for entry in outcome.entries.entries}))
    return exhibits.markdown(Exhibit(
        name="announcement", kind="challenge", command="", grids=(ranked,), lead=f"{tables.winner(outcome)}.",
        title=f"{rules.name}: {'results' if rules.final else 'provisional results'}",
        remarks=(
            "## Thanks", f"We thank the raters and all teams that took part: {teams}.", "## How to reproduce it",
            (f"The ranking was made by dialogue-harness {facts.version}, commit {facts.commit or 'unknown'}, from "
             f"{FILE} with the sha256 {_sha256(rules)}. {tables.required(rules)}"),
            f"    {tables.command(rules)}",
            "Teams can compare the sha256 of their files, for a .gz file of the unpacked file, with the receipts.")))


def receipts_only(outcome: Outcome) -> tuple[Results, Exhibit]:
    """Return the receipts of a phase: its accepted and refused files, without scores."""
    rules, command = outcome.rules, tables.command(outcome.rules)
    results = Results(
        run=environment.facts(rules.seed, "none", {"challenge": rules.title, "phase": rules.phase}, command),
        datasets=tuple(entries.dataset_entry(ranked.dataset, ranked.judged) for ranked in outcome.ground.datasets))
    rows = tuple((entry.team, str(entry.number), str(entry.about.date or ""), entry.sha256)
                 for entry in outcome.entries.entries)
    grids = (Grid("receipts", "Accepted submissions, with the sha256 of the unpacked files",
                  ("team", "submission", "date", "sha256"), rows), tables.refused_table(outcome))
    return results, Exhibit(
        name="challenge", kind="challenge", title=rules.name, command=command,
        lead=f"{plural(len(rows), 'submission')} accepted, {refused_count(outcome.refused, outcome.at_receipt)}. "
             "Scores and ranks are published after the phase is frozen.",
        grids=tuple(grid for grid in grids if grid.rows), remarks=(tables.required(rules),))


def report(outcome: Outcome, cache: Path) -> Results:
    rules, targets = outcome.rules, outcome.counting.tables
    reliability = [row for target in targets for row in compare.reliability(target, rules.seed, Cache(cache))]
    statistics = [*dict.fromkeys((*correlate.DEFAULT, (rules.statistic, rules.level)))]
    correlations = tuple(row for target in targets for row in correlate.correlations(
        target, statistics, [row for row in reliability if (row.dataset, row.quality) == target.key]))
    options = {"challenge": rules.title, "rule": tables.rule_of(rules), "counts": rules.counts,
               "statistic": full_name(rules.statistic, rules.level), "draws": rules.draws,
               **({"phase": rules.phase} if rules.phase else {})}
    levels = tuple(dict.fromkeys(ranked.dataset.card.level for ranked in outcome.ground.datasets))
    return Results(
        run=environment.facts(rules.seed, "cpu", options, tables.command(rules)),
        datasets=tuple(replace(entries.dataset_entry(ranked.dataset, ranked.judged), split=rules.rule,
                               notes="The ratings are private." if rules.ratings else "")
                       for ranked in outcome.ground.datasets),
        metrics=tuple(MetricEntry(
            name=entry.team, title=entry.about.name or f"{entry.team}, submission {entry.number}", family="submission",
            columns=(entry.team,), levels=levels,
            signature={"metric": "scores", "asked": entry.name, "sha256": entry.sha256})
            for entry in outcome.counting.entries),
        correlations=tuple(replace(row, p=float(f"{row.p:.{FIGURES}g}"), **{
            name: round(getattr(row, name), TARGET_DECIMALS) for name in ("value", "low", "high", "corrected")})
            for row in correlations),
        ranking=tuple(_ranking(outcome, correlations)),
        comparisons=tuple(_comparisons(outcome)),
        reliability=tuple(replace(row, value=round(row.value, TARGET_DECIMALS)) for row in reliability))


def _ranking(outcome: Outcome, correlations: Sequence[Correlation]) -> Iterator[RankingRow]:
    """Yield the boards; those of the challenge's statistic have the intervals and letters of its ranking."""
    rules, origin = outcome.rules, outcome.ground.datasets[0].dataset.kind
    ranks = {rule: dict(zip(outcome.teams, standings, strict=True)) for rule, standings in outcome.ranks.items()}
    lettered = {rule: tables.readable(standings) for rule, standings in outcome.ranks.items()}
    for row in ranking(BoardId(rules.rule), origin, outcome.ground.targets, correlations):
        if row.statistic == full_name(rules.statistic, rules.level):
            standing = ranks[row.rule][row.column]
            row = replace(row, value=standing.value, rank=standing.rank, low=standing.low, high=standing.high,
                          letters=standing.letters if lettered[row.rule] else "")
        yield replace(row, value=round(row.value, TARGET_DECIMALS))


def _comparisons(outcome: Outcome) -> Iterator[Comparisons]:
    """Yield two-sided tests of submissions at most MAX_RANK_GAP ranks apart: PERM-BOTH, else Williams' test."""
    rules, chosen = outcome.rules, np.array(outcome.chosen)
    for target, tests in outcome.pairs.items():
        pairs = PairTests(*(getattr(tests, field.name)[np.ix_(chosen, chosen)] for field in fields(PairTests)))
        if target in outcome.clusters:
            tests = replace(outcome.tests[target], n=pairs.n)
            if rules.clusters == "wmt":
                tests = replace(tests, p=np.minimum(1, 2 * np.minimum(tests.p, tests.p.T)))
            rows = compare.adjust_tests(*target, outcome.teams, rules.statistic, "perm-both", tests, rules.draws)
        else:
            rows = compare.adjust_tests(*target, outcome.teams, "spearman", "williams", pairs)
        rows = rows.at(np.abs(rows.better - rows.worse) <= MAX_RANK_GAP)
        value, p, holm, bh = (np.array([f"{number:.{FIGURES}g}" for number in column], dtype=np.float64)
                              for column in (rows.value, rows.p, rows.holm, rows.bh))
        yield replace(rows, delta=rows.delta.round(TARGET_DECIMALS), value=value, p=p, holm=holm, bh=bh)
