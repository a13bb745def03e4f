"""Make the plan of a run and its workspace: stores, models, executor, and the costs of earlier runs."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, fields, replace
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import BadStore, UnknownDataset
from benchmarks.formats.scorefile import SEPARATOR, hint_of_real_data
from benchmarks.storage import store
from benchmarks.storage.files import sweep
from harness import own
from harness.errors import BadConfig
from harness.results.cache import Cache
from harness.run import plan, reuse
from harness.run.plan import Plan, load_named
from harness.run.settings import Settings, additional_statistics, bytes_of, command_line, home_folder
from harness.scoring import costs
from harness.scoring.cluster import Cluster, Setup
from harness.scoring.progress import LOG, RunProgress
from harness.scoring.store import ScoreStore
from metrics import registry
from metrics.external.evaluate import EvaluateModule
from metrics.external.scores import ScoresOfFile
from metrics.judges import spending
from metrics.models import weights
from metrics.models.service import Choice, Models

OMITTED = {"home", "out", "dry_run", "json", "rescore", "executor", "address", "gpus", "store", "timeout",
          "memory", "price", "max_cost", "max_requests"}
"""Settings that do not affect any number; the command in the results omits them."""


def prepare(requested: Settings) -> tuple[Plan, Workspace]:
    """Import the datasets given by path, and make the plan and the workspace of a run; nothing is scored yet."""
    check_settings(requested)
    if not requested.dry_run:
        sweep(requested.out)
    home = home_folder(requested.home)
    datasets.register_home(home)
    of_tables = tuple(f"scores:{own.name_of(name)}." for name in requested.dataset)
    metric, with_ = (tuple(name for name in names if not registry.titled(name)[1].startswith(of_tables))
                     for names in (requested.metric, requested.with_))
    if metric or not requested.metric:
        plan.choose(metric, with_, requested.seed)  # reject unknown names before importing a table
    reading = own.Reading(requested.columns, requested.scale)
    requested = replace(requested, dataset=tuple(sorted(own.import_paths(requested.dataset, home, reading))))
    prepared = plan.make(requested, command(requested))
    if not (requested.dataset or requested.split):  # the bundled sample has no recent datasets
        prepared = replace(prepared, cards=tuple(
            card for card in prepared.cards if card.split != "recent" or store.stored_record(home, card.name)))
    for pick in prepared.chosen:
        if isinstance(pick.metric, EvaluateModule) and not requested.dry_run:
            pick.metric.check_field()
    _check_score_files(prepared, home)
    work = open_workspace(prepared, home, requested.out, log=True)
    if requested.reuse:
        reused = reuse.read_reusable(requested.reuse, prepared.chosen, requested.aggregate, work.models)
        prepared = replace(prepared, reused=reused)
    return prepared, work


def _check_score_files(prepared: Plan, home: Path) -> None:
    """Raise BadConfig for a score file that seems to be for real data but shares ids with the bundled sample."""
    files = {pick.label: pick.metric.scores for pick in prepared.chosen if isinstance(pick.metric, ScoresOfFile)}
    if not files or prepared.settings.data == "real":
        return
    planned_names, known_ids, sample_ids = {card.name for card in prepared.cards}, set[str](), set[str]()
    for name in datasets.names():
        with contextlib.suppress(UnknownDataset, BadStore):  # not installed, or damaged, which the run reports
            dataset = datasets.load(name, home)
            ids = {item.id for item in dataset.items}
            known_ids |= ids
            sample_ids |= ids if dataset.origin == "sample" and name in planned_names else set()
    for label, scores in files.items():
        items = [name if name in known_ids else name.rpartition(SEPARATOR)[0] for name in scores]
        unknown = sum(item not in known_ids for item in items)
        if not sample_ids.isdisjoint(items) and (problem := hint_of_real_data(unknown, len(items))):
            raise BadConfig(f"{label}: {problem}, or leave out the sample with --data real")


def check_settings(requested: Settings) -> None:
    """Raise BadConfig if nothing is selected, or for contradictory settings."""
    selections = (requested.all, requested.metric, requested.with_, requested.dataset, requested.quality,
                  requested.split, requested.language)
    ray = requested.executor.partition(":")[0] == "ray"
    for invalid, message in (
            (not any(selections),
             "nothing to run: use --all, or select by --metric, --dataset, --split, --language or --quality"),
            (requested.sample and requested.limit, "--sample cannot be combined with --limit"),
            (requested.out.parts[:1] and requested.out.parts[0].endswith(":"),
             f"--out {requested.out.parts[0]}//...: must be a folder; use --store URL to keep the scores elsewhere"),
            (requested.out.is_file(), f"--out {requested.out} is a file; name a folder"),
            (requested.gpus and not ray, f"--gpus {requested.gpus:g}: requires --executor ray"),
            (requested.address and not ray,
             f"--address {requested.address}: the address of a Ray cluster requires --executor ray"),
            ((requested.timeout or requested.memory) and not ray,
             "--timeout and --memory require --executor ray: a single process cannot interrupt its scoring"),
            (requested.max_cost and not requested.price, "--max-cost needs the price of tokens: --price 0.15,0.6"),
            ((requested.max_cost or requested.max_requests) and ray,
             "--max-cost and --max-requests do not work with --executor ray: its workers do not share a count")):
        if invalid:
            raise BadConfig(message)
    additional_statistics(requested.statistic, requested.level)


def command(requested: Settings) -> str:
    """Return the command line that repeats the run, without local folders."""
    values = {field.name: getattr(requested, field.name) for field in fields(requested)
              if field.name not in OMITTED and getattr(requested, field.name) != field.default}
    for name in values.keys() & {"metric", "with_"}:
        values[name] = tuple(map(registry.without_folders, values[name]))
    return command_line("run", flags={name.rstrip("_").replace("_", "-"): value for name, value in values.items()})


@dataclass(frozen=True, slots=True)
class Workspace:
    """Stores, models and workers of a run; `executor` is None if the run scores in its own process."""

    home: Path
    store: ScoreStore
    cache: Cache
    models: Models
    progress: RunProgress
    executor: Cluster | None = None


def model_choice(settings: Settings) -> Choice:
    return Choice(
        encoder=settings.encoder, lm=settings.lm, vectors=settings.vectors, device=settings.device,
        precision=settings.precision, batch_tokens=settings.batch_tokens,
        download=not (settings.offline or settings.dry_run),
        price=spending.prices(settings.price) if settings.price else (0.0, 0.0), max_cost=settings.max_cost,
        max_requests=settings.max_requests)


def open_workspace(plan: Plan, home: Path, out: Path, *, log: bool = False) -> Workspace:
    """Open the workspace of a plan with its stores under `out`; raise BadConfig for a missing device."""
    settings, choice = plan.settings, model_choice(plan.settings)
    models = Models(home, choice)
    machine = models.machine  # checked before anything is scored
    if settings.gpus and machine.kind == "cpu":  # signatures are made here, so the GPUs use this precision
        choice = replace(choice, precision=machine.precision)
        models = Models(home, choice)
    for name in (choice.encoder.partition("+")[0], choice.lm, choice.vectors):
        if suggestion := weights.mistyped(name):
            raise BadConfig(suggestion)
    store = ScoreStore(settings.store or out / "scores")
    # created before the cluster, so that its start is timed too
    progress = RunProgress(out / LOG if log else None,
                           costs=costs.read(home, plan.chosen, models, shipped=not settings.dry_run))
    executor = None
    if settings.executor != "local" and not settings.dry_run:
        if settings.store.startswith("memory://"):
            raise BadConfig(f"--store {settings.store}: other processes cannot see it; use --executor local")
        if machine.kind != "cpu" and not settings.gpus:
            raise BadConfig("--executor ray on a GPU machine needs --gpus (GPUs per worker, such as 1 or 0.25), "
                            "or --device cpu")
        setup = Setup(functools.partial(load_named, home=home.absolute(), settings=settings), home.absolute(),
                      store.files.address, choice, settings.seed, bytes_of(settings.memory))
        worker_count = int(settings.executor.partition(":")[2] or 0)  # 0: as many as the cluster has room for
        executor = Cluster(setup, settings.address, worker_count, settings.gpus, settings.timeout)
    return Workspace(home, store, Cache(out / "statistics"), models, progress, executor)

