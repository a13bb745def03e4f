"""Make the plan and the workspace of a run from its settings."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import BadStore, UnknownDataset
from benchmarks.formats.scorefile import SEPARATOR, for_real_data
from benchmarks.storage import store
from benchmarks.storage.files import sweep
from harness import own
from harness.errors import BadConfig
from harness.run import plan, reuse
from harness.run.plan import Plan
from harness.run.settings import Settings, additional_statistics, command_line, home_folder
from harness.run.workspace import Workspace, bytes_of, open_workspace
from metrics import registry
from metrics.external.evaluate import EvaluateModule
from metrics.external.scores import ScoresOfFile

OMITTED = {"home", "out", "dry_run", "json", "rescore", "executor", "address", "gpus", "store", "timeout",
          "memory", "price", "max_cost", "max_requests"}
"""Settings that do not affect any number; the command in the results omits them."""


def prepare(requested: Settings) -> tuple[Plan, Workspace]:
    """Make the plan and the workspace of a run; nothing is scored or written yet."""
    check(requested)
    if not requested.dry_run:
        sweep(requested.out)
    home = home_folder(requested.home)
    datasets.register_home(home)
    plan.choose(requested.metric, requested.with_, requested.seed)  # reject unknown names before importing a table
    requested = dataclasses.replace(requested, dataset=tuple(sorted(
        own.import_paths(requested.dataset, home, own.Reading(requested.columns, requested.scale)))))
    prepared = plan.make(requested, command(requested))
    if not (requested.dataset or requested.split):  # the bundled sample has no recent datasets
        prepared = dataclasses.replace(prepared, cards=tuple(
            card for card in prepared.cards if card.split != "recent" or store.note(home, card.name)))
    for pick in prepared.chosen:
        if isinstance(pick.metric, EvaluateModule) and not requested.dry_run:
            pick.metric.check_field()
    _check_score_files(prepared, home)
    work = open_workspace(prepared, home, requested.out, log=True)
    if requested.reuse:
        reused = reuse.take(requested.reuse, prepared.chosen, requested.aggregate, work.models)
        prepared = dataclasses.replace(prepared, reused=reused)
    return prepared, work


def _check_score_files(prepared: Plan, home: Path) -> None:
    """Raise BadConfig for a score file that seems to be for real data but shares ids with the bundled sample."""
    files = {pick.label: pick.metric.scores for pick in prepared.chosen if isinstance(pick.metric, ScoresOfFile)}
    if not files or prepared.settings.data == "real":
        return
    planned, known, sampled = {card.name for card in prepared.cards}, set[str](), set[str]()
    for name in datasets.names():
        with contextlib.suppress(UnknownDataset, BadStore):  # not here, or reported when the run reaches it
            dataset = datasets.load(name, home)
            ids = {item.id for item in dataset.items}
            known |= ids
            sampled |= ids if dataset.origin == "sample" and name in planned else set()
    for label, scores in files.items():
        items = [name if name in known else name.rpartition(SEPARATOR)[0] for name in scores]
        unknown = sum(item not in known for item in items)
        if not sampled.isdisjoint(items) and (problem := for_real_data(unknown, len(items))):
            raise BadConfig(f"{label}: {problem}, or leave out the sample with --data real")


def check(requested: Settings) -> None:
    """Raise BadConfig if nothing is selected, or for invalid or contradictory flags."""
    selections = (requested.all, requested.metric, requested.with_, requested.dataset, requested.quality,
                  requested.split, requested.language)
    ray = requested.executor.partition(":")[0] == "ray"
    for wrong, message in (
            (not any(selections),
             "nothing to run: use --all, or select by --metric, --dataset, --split, --language or --quality"),
            (requested.limit is not None and requested.limit < 1,
             f"--limit must be 1 or more, not {requested.limit}"),
            (requested.sample is not None and (requested.sample < 1 or requested.limit is not None),
             "--sample must be 1 or more, and cannot be combined with --limit"),
            (requested.draws < 0 or requested.permutations < 1,
             "--draws must be 0 or more, --permutations 1 or more"),
            (not 0 <= requested.epsilon < 1, f"--epsilon must be 0 or more and below 1, not {requested.epsilon:g}"),
            (requested.examples < 0, f"--examples must be 0 or more, not {requested.examples}"),
            (requested.out.parts[:1] and requested.out.parts[0].endswith(":"),
             f"--out {requested.out.parts[0]}//...: must be a folder; use --store URL to keep the scores elsewhere"),
            (requested.out.is_file(), f"--out {requested.out} is a file; name a folder"),
            (not 0 <= requested.timeout < math.inf, "--timeout must be 0 or more; 0 means no limit"),
            (not 0 <= requested.gpus < math.inf or (requested.gpus and not ray),
             f"--gpus {requested.gpus:g}: must be 0 or more, and requires --executor ray"),
            (requested.address and not ray,
             f"--address {requested.address}: the address of a Ray cluster requires --executor ray"),
            ((requested.timeout or requested.memory) and not ray,
             "--timeout and --memory require --executor ray: a single process cannot interrupt its scoring"),
            (requested.max_cost < 0 or requested.max_requests < 0, "--max-cost and --max-requests must be 0 or more"),
            (requested.max_cost and not requested.price, "--max-cost needs the price of tokens: --price 0.15,0.6"),
            ((requested.max_cost or requested.max_requests) and ray,
             "--max-cost and --max-requests do not work with --executor ray: its workers do not share a count"),
            (not re.fullmatch(r"local|ray(:([1-9]\d{0,2}|10[01]\d|102[0-4]))?", requested.executor),
             f"--executor {requested.executor!r:.40}: must be local, ray, or ray:N for N workers (at most 1024)")):
        if wrong:
            raise BadConfig(message)
    bytes_of(requested.memory)
    additional_statistics(requested.statistic, requested.level)


def command(requested: Settings) -> str:
    """Return the command line that repeats the run, without local folders."""
    given = {field.name: getattr(requested, field.name) for field in dataclasses.fields(requested)
             if field.name not in OMITTED and getattr(requested, field.name) != field.default}
    given |= {name: tuple(map(registry.without_folders, given[name])) for name in ("metric", "with_") if name in given}
    return command_line("run", flags={name.rstrip("_").replace("_", "-"): value for name, value in given.items()})
