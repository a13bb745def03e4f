"""What `harness challenge rank` leaves in DIR/ranking: tables, pairs, audit log, exhibit and report.

    official.csv, rules.csv, submissions.csv, refused.csv   the tables, for machines
    ranking.md, ranking.json                          the same in one file, as they are shown
    targets.csv             the value of every submission in every target, with all digits
    correlation.csv       Spearman between every two submissions
    pairs.parquet         Williams' test of every two submissions in every target
    audit.jsonl           what was decided about which file, and why, as lines that are only ever added to
    report/               what `harness challenge publish` draws the boards from

Two runs of the same thing say the same, so the second adds nothing to the audit log. The only times in it are the dates
of submissions.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.storage.files import sweep, write_atomically
from benchmarks.storage.store import ratings_fingerprint
from harness.challenge.outcome import Outcome
from harness.challenge.report import report
from harness.challenge.rulebook import FILE
from harness.challenge.tables import exhibit, for_csv, part_of
from harness.results import exhibits
from harness.results import files as reports
from harness.results.rows import Exhibit, Results
from harness.run import environment
from harness.statistics.significance import benjamini_hochberg, holm, over_pairs


def write(outcome: Outcome, out: Path) -> tuple[Results, Exhibit]:
    """Write everything once all of it is made; the same challenge gives the same bytes."""
    out.mkdir(parents=True, exist_ok=True)
    sweep(out)
    shown, made = exhibit(outcome), report(outcome, out / "statistics")
    tables = {name: exhibits.csv_of(rows) for name, rows in {
        **{f"{name}.csv": rows for name, rows in for_csv(outcome).items()},
        "targets.csv": _targets(outcome), "correlation.csv": _correlation(outcome)}.items()}
    _put(made, shown, tables | {"pairs.parquet": _pairs(outcome), "audit.jsonl": lengthened(outcome, out)}, out)
    return made, shown


def write_published(made: Results, shown: Exhibit, out: Path) -> None:
    """Write the tables of a challenge of which only the results are known."""
    out.mkdir(parents=True, exist_ok=True)
    _put(made, shown, {f"{grid.name.replace(' ', '-').casefold()}.csv": exhibits.csv_of([grid.head, *grid.rows])
                       for grid in shown.grids}, out)


def _put(made: Results, shown: Exhibit, tables: Mapping[str, bytes], out: Path) -> None:
    """Write the tables, what is shown of them, and the report, which is first made elsewhere."""
    with tempfile.TemporaryDirectory() as name:
        reports.write(made, Path(name))
        files = {f"report/{path.name}": path.read_bytes() for path in Path(name).iterdir() if path.is_file()}
    files |= {**tables, "ranking.md": exhibits.markdown(shown), "ranking.json": exhibits.encoded(shown)}
    for name, content in sorted(files.items()):
        (out / name).parent.mkdir(exist_ok=True)
        write_atomically(out / name, content)


def lengthened(outcome: Outcome, folder: Path) -> bytes:
    """The log in a folder with what a ranking decided added, unless the last one there decided just the same."""
    path = folder / "audit.jsonl"
    before = path.read_bytes() if path.is_file() else b""
    block = "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in _decisions(outcome)).encode()
    return before if before.endswith(block) else before + block


def _decisions(outcome: Outcome) -> Iterator[dict[str, object]]:
    rules, facts = outcome.rules, environment.facts(outcome.rules.seed, "cpu", {}, "")
    yield {"event": "challenge", "title": rules.title, "version": facts.version, "commit": facts.commit,
           "packages": dict(facts.packages), FILE: hashlib.sha256((rules.folder / FILE).read_bytes()).hexdigest(),
           "rule": rules.rule, "counts": rules.counts, "submissions per team": rules.submissions or "any number",
           "opens": rules.opens, "closes": rules.closes, "draws": rules.draws, "seed": rules.seed,
           "private ratings": outcome.ground.ratings, "phase": rules.phase, "part": part_of(rules)}
    for field in outcome.ground.fields:
        yield {"event": "dataset", "dataset": field.name, "items": len(field.dataset.items),
               "origin": field.dataset.origin, "fingerprint": field.dataset.fingerprint,
               "ratings": ratings_fingerprint(field.dataset.ratings), "private votes": field.joined,
               "rated": {each.quality.name: each.rated for each in field.judged}}
    for refused in sorted(outcome.refused, key=lambda submission: submission.name):
        yield {"event": "refused", "submission": refused.name, "sha256": refused.sha256, "why": list(refused.reasons)}
    for entry, total in zip(outcome.entries.entries, outcome.ranking.totals, strict=True):
        yield {"event": "taken", "submission": entry.name, "file": entry.submission.path.name, "sha256": entry.sha256,
               "date": entry.submission.about.date, "value": round(total, 9), "told": list(entry.told)}
    part = " on the public part" if outcome.ground.public else ""
    best = f"its best by the rule {rules.rule}{part}" if rules.counts == "best" else "its last"
    for entry, place in zip(outcome.ranking.counting.entries, outcome.ranking.ranks[rules.rule], strict=True):
        yield {"event": "counts", "team": entry.submission.team, "submission": entry.name, "why": best,
               "value": round(place.value, 9), "rank": place.rank}


def _targets(outcome: Outcome) -> Iterator[Sequence[object]]:
    yield ("team", "number", "sha256", *(f"{dataset}|{quality}" for dataset, quality in outcome.ground.targets))
    for entry, row in zip(outcome.entries.entries, outcome.values, strict=True):
        yield (entry.submission.team, entry.submission.number, entry.sha256, *map(float, row))


def _correlation(outcome: Outcome) -> Iterator[Sequence[object]]:
    names = [entry.name for entry in outcome.entries.entries]
    yield ("submission", *names)
    for name, row in zip(names, outcome.correlation, strict=True):
        yield (name, *(round(float(value), 6) for value in row))


def _pairs(outcome: Outcome) -> bytes:
    """Every pair of every target as columns: a row would be an object, and there are millions."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.array([entry.name for entry in outcome.entries.entries], pa.string())
    upper = np.triu_indices(len(outcome.entries.entries), 1)
    sink = io.BytesIO()
    schema = pa.schema([("dataset", pa.string()), ("quality", pa.string()),
                        ("first", pa.dictionary(pa.int32(), pa.string())),
                        ("second", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64()),
                        *((name, pa.float64()) for name in ("delta", "t", "p", "holm", "bh", "r"))])
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for (dataset, quality), every in outcome.pairs.items():
            tables = (every.delta, every.value, every.p, over_pairs(every.p, holm),
                      over_pairs(every.p, benjamini_hochberg), every.r)
            ends = [pa.DictionaryArray.from_arrays(pa.array(end.astype(np.int32)), names) for end in upper]
            size = len(upper[0])
            writer.write_table(pa.Table.from_arrays(
                [pa.array([dataset] * size, pa.string()), pa.array([quality] * size, pa.string()), *ends,
                 pa.array(every.n[upper]), *(pa.array(table[upper]) for table in tables)], schema=schema))
    return sink.getvalue()
