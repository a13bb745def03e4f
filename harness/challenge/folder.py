"""What `harness challenge rank` leaves in DIR/ranking: tables, pairs, audit log, exhibit and report.

    official.csv, rules.csv, treatments.csv, submissions.csv, refused.csv   the tables, for machines
    ranking.md, ranking.json                          the same in one file, as they are shown
    targets.csv             the value of every submission in every target, with all digits
    correlation.csv       Spearman between every two submissions
    pairs.parquet         Williams' test of every two submissions in every target
    audit.jsonl           what was decided about which file, and why
    exhibit.json, report/ what `harness challenge publish` draws the pages from
"""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.storage.files import sweep, write_atomically
from harness.challenge import audit
from harness.challenge.exhibit import exhibit
from harness.challenge.outcome import Outcome
from harness.challenge.report import report
from harness.challenge.tables import for_csv
from harness.results import exhibits
from harness.results import files as reports
from harness.results.rows import Exhibit, Grid, Results
from harness.statistics.significance import benjamini_hochberg, holm, over_pairs

MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&.-])")


def write(outcome: Outcome, out: Path) -> tuple[Results, Exhibit]:
    """Write everything once all of it is made; the same challenge gives the same bytes."""
    out.mkdir(parents=True, exist_ok=True)
    sweep(out)
    shown, made = exhibit(outcome), report(outcome, out / "statistics")
    tables = {f"{name}.csv": csv_of(rows) for name, rows in for_csv(outcome).items()}
    _put(out, tables | _shown(shown) | {
        "targets.csv": csv_of(_targets(outcome)), "correlation.csv": csv_of(_correlation(outcome)),
        "pairs.parquet": _pairs(outcome), audit.NAME: audit.lengthened(outcome, out)} | _encoded(made))
    return made, shown


def write_published(made: Results, shown: Exhibit, out: Path) -> None:
    """Write the tables of a challenge of which only the results are known."""
    out.mkdir(parents=True, exist_ok=True)
    tables = {f"{grid.name.replace(' ', '-').casefold()}.csv": csv_of([grid.head, *grid.rows]) for grid in shown.grids}
    _put(out, tables | _shown(shown) | _encoded(made))


def _put(out: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (out / name).parent.mkdir(exist_ok=True)
        write_atomically(out / name, content)


def _shown(shown: Exhibit) -> dict[str, bytes]:
    return {"ranking.md": "\n".join(markdown(shown)).encode(), "ranking.json": _json(shown),
            exhibits.FILE: exhibits.encoded(shown)}


def _encoded(made: Results) -> dict[str, bytes]:
    """The files of the report, written elsewhere first."""
    with tempfile.TemporaryDirectory() as name:
        reports.write(made, Path(name))
        return {f"report/{path.name}": path.read_bytes() for path in sorted(Path(name).iterdir()) if path.is_file()}


def csv_of(rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in rows:
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t") else cell
                         for cell in row])
    return stream.getvalue().encode()


def markdown(shown: Exhibit) -> Iterator[str]:
    """The tables as Markdown, in which names from outside mark nothing up."""
    yield from (f"# {_plain(shown.title)}", "", shown.lead, "")
    for grid in shown.grids:
        yield from (f"## {grid.caption}", "", *_table(grid), "", f"On: {grid.data}.", "")
    yield from (line for remark in shown.remarks for line in (remark, ""))


def _table(grid: Grid) -> Iterator[str]:
    yield "| " + " | ".join(map(_plain, grid.head)) + " |"
    yield "|" + " --- |" * len(grid.head)
    yield from ("| " + " | ".join(map(_plain, row)) + " |" for row in grid.rows)


def _plain(text: str) -> str:
    return MARKS.sub(r"\\\1", " ".join(text.split()))


def _json(shown: Exhibit) -> bytes:
    tables = {grid.name: {"caption": grid.caption, "on": grid.data,
                          "rows": [dict(_pairs_of(grid.head, row)) for row in grid.rows]} for grid in shown.grids}
    content = {"title": shown.title, "about": shown.lead, "tables": tables, "remarks": list(shown.remarks)}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _pairs_of(head: Sequence[str], row: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The values by their headings; a `rank` is that of the column before it."""
    for place, (name, value) in enumerate(zip(head, row, strict=True)):
        yield (f"{head[place - 1]}: rank" if name == "rank" and head.count("rank") > 1 else name), value


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
