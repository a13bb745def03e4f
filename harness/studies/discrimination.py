"""How often systems score a dialogue above a worse one: DynaEval's Table 2 (Zhang et al. 2021).

Worse by utterance replacement (UR): one utterance is a random one of another dialogue. By speaker-level shuffling
(SS): the utterances of one speaker are in another order. Twenty worse ones of each dialogue; systems that learn are
trained on the corpus's training part with the same strategy, five times. `_told_apart.py` has the data,
`_told_apart_jobs.py` the trainings.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from benchmarks.corpora import corpora
from harness.errors import BadConfig
from harness.published import table as printed
from harness.scoring.progress import Progress
from harness.studies import Bench, Findings, Table
from harness.studies import _told_apart_jobs as jobs
from harness.studies._told_apart import KINDS, PARTS, STRATEGIES, Part
from harness.studies._told_apart_jobs import Job
from metrics.graph.dialogues.perturbed import Negatives
from metrics.registry import Chosen

TITLE = "Dialogues told from worse ones"
PRINTED = {"random": "Random", "cosim": "CoSim", "s-dicoh": "S-DiCoh", "dynaeval": "DynaEval"}
"""The systems, by the name that the paper gives them."""
SET = {"cosim": ("pooling",), "s-dicoh": ("negatives",), "dynaeval": ("negatives", "window")}
"""Options that the study sets: both strategies, the paper's windows, and mean vectors for all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The accuracies of a system on a part and strategy, one for each seed, and what the paper prints."""

    label: str
    name: str
    part: Part
    kind: Negatives
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.accuracies))

    @property
    def spread(self) -> float:
        """The standard deviation over the seeds, n − 1 below; 0 where all are the same."""
        return float(np.std(self.accuracies, ddof=1)) if len(set(self.accuracies)) > 1 else 0.0

    @property
    def paper(self) -> Decimal | None:
        """The figure of Table 2."""
        return next((row.value for row in printed("dynaeval") if (row.table, row.metric, row.dataset, row.quality)
                     == ("Table 2", PRINTED[self.name], self.part.printed, STRATEGIES[self.kind])), None)


def study_alone(bench: Bench) -> Findings:
    """Train what was not trained before, and count."""
    order = list(PRINTED)
    systems = sorted((chosen for chosen in bench.chosen if chosen.metric.card.name in PRINTED),
                     key=lambda chosen: order.index(chosen.metric.card.name))
    if not systems:
        raise BadConfig(f"this study is of {', '.join(PRINTED)}; none of them was asked for")
    for chosen in systems:
        _checked(chosen)
    parts = [part for part in PARTS if corpora.path(part.corpus, bench.home).is_file()]
    if not parts:
        raise BadConfig(f"none of the corpora is here: `harness fetch --corpora {PARTS[0].corpus}` brings one of them")
    cells, failures = _cells(bench, systems, parts)
    return findings(cells, failures, [part.title for part in PARTS if part not in parts])


def _checked(chosen: Chosen) -> None:
    """Refuse a value of an option that the study would not heed."""
    plain = type(chosen.metric)()
    for option in SET.get(chosen.metric.card.name, ()):
        if getattr(chosen.metric, option) != getattr(plain, option):
            raise BadConfig(f"{chosen.label}: this study sets {option} itself; leave it out")


def _cells(bench: Bench, systems: Sequence[Chosen], parts: Sequence[Part]) -> tuple[list[Cell], list[str]]:
    asked = [Job(chosen.label, chosen.metric, part, kind, bench.seed, bench.limit, bench.home, bench.memo.root,
                 bench.models.choice)
             for part in parts for kind in KINDS for chosen in systems]
    jobs.read_all(bench.models, asked)
    progress, start = Progress(len(asked)), time.monotonic()
    found: dict[tuple[str, str, str], Cell] = {}
    failures: list[str] = []
    for job, result in jobs.all_of(asked, jobs.workers()):
        progress.advance()
        if isinstance(result, str):
            failures.append(f"{job.label} on {job.part.title}, {job.kind}: {result}")
            continue
        cell = Cell(job.label, job.metric.card.name, job.part, job.kind, tuple(result))
        found[job.label, job.part.corpus, job.kind] = cell
        progress.line(f"{job.label:<12} {job.part.title:<20} {job.kind} {_share(cell):<14} "
                      f"{time.monotonic() - start:6.0f} s")
    order = [(job.label, job.part.corpus, job.kind) for job in asked]
    return [found[key] for key in order if key in found], failures


def findings(cells: Sequence[Cell], failures: Sequence[str] = (), absent: Sequence[str] = ()) -> Findings:
    """Everything that is printed and kept."""
    tables = (_table(cells),)
    remarks = tuple(_remarks(absent))
    objects = tuple(_objects(cells))
    files = {"discrimination.md": "\n".join(_page(tables, remarks)).encode(), "discrimination.csv": _csv(objects)}
    return Findings(tables, remarks, objects, files, tuple(failures))


def _table(cells: Sequence[Cell]) -> Table:
    columns = list(dict.fromkeys((cell.part, cell.kind) for cell in cells))
    head = ["system"]
    for part, kind in columns:
        head += [f"{part.title} {kind.upper()}", "paper"]
    rows = []
    for label in dict.fromkeys(cell.label for cell in cells):
        own = {(cell.part, cell.kind): cell for cell in cells if cell.label == label}
        row = [label]
        for column in columns:
            cell = own.get(column)
            row += [_share(cell), _per_cent(cell.paper)] if cell else ["", ""]
        rows.append(tuple(row))
    of = ", ".join(dict.fromkeys(f"{part.title} {part.split}" for part, _ in columns))
    return Table("discrimination", "Dialogues scored above a worse one, in per cent", of, tuple(head), tuple(rows))


def _share(cell: Cell) -> str:
    return f"{100 * cell.mean:.2f}" + (f" ± {100 * cell.spread:.2f}" if cell.spread else "")


def _per_cent(value: Decimal | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _remarks(absent: Sequence[str]) -> Iterator[str]:
    yield ("UR: one utterance is that of another dialogue; SS: one speaker's utterances are in another order. Twenty "
           "worse dialogues of each, the same for all systems; a tie counts half. ± is the standard deviation over "
           f"{jobs.SEEDS} seeds of the training, or of the draw.")
    yield ("ConvAI2 is its validation part, as in the paper, and is trained on what the file of PersonaChat holds; the "
           "paper has 17,878 dialogues of it. What stands in an evaluation set is not trained on.")
    if absent:
        yield f"Not here, and left out: {', '.join(absent)} (`harness fetch --corpora`)."


def _objects(cells: Iterable[Cell]) -> Iterator[Mapping[str, object]]:
    for cell in cells:
        yield {"system": cell.label, "corpus": cell.part.corpus, "split": cell.part.split, "negatives": cell.kind,
               "accuracy": round(cell.mean, 6), "spread": round(cell.spread, 6),
               "accuracies": [round(value, 6) for value in cell.accuracies],
               "paper": None if cell.paper is None else float(cell.paper)}


def _page(tables: Sequence[Table], remarks: Sequence[str]) -> Iterator[str]:
    yield from (f"# {TITLE}", "", *(line for remark in remarks for line in (remark, "")))
    for table in tables:
        yield from (f"## {table.caption}", "", table.data, "")
        for line in (table.head, ["---"] * len(table.head), *table.rows):
            yield "| " + " | ".join(line) + " |"
        yield ""


def _csv(objects: Sequence[Mapping[str, object]]) -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(objects[0]) if objects else [], lineterminator="\n")
    writer.writeheader()
    for entry in objects:
        many = entry["accuracies"]
        writer.writerow({**entry, "accuracies": " ".join(map(str, many)) if isinstance(many, list) else many})
    return stream.getvalue().encode()
