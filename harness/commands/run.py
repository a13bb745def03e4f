"""`harness run`: score, correlate, rank, and publish what was found."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import math
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.storage.files import sweep
from harness.errors import BadConfig
from harness.run.settings import Settings, home_folder, settings

if TYPE_CHECKING:
    from harness.results.rows import Results
    from harness.run.plan import Selection
    from harness.run.preparing import Context, CrewChoice
    from harness.run.run import Found
    from metrics.models.service import Choice

NAME = "run"
FILES = {"encoder", "lm", "vectors"}
"""Settings that may name a file or folder."""
UNTOLD = {"home", "out", "dry_run", "json", "rescore", "executor", "address", "jobs", "gpus", "store", "timeout",
          "memory", "log_json"}
"""Settings that change no number, and are not told in the report."""
HELP = "score datasets with metrics, correlate with ratings, and make the leaderboard"


def configure(parser: argparse.ArgumentParser) -> None:
    """What to run, on what, and where the results go. Every flag may stand in the config file as well."""
    many: dict[str, Any] = {"action": "append", "default": None, "metavar": "NAME"}
    parser.add_argument("--all", action="store_true", default=None, help="every metric on every dataset")
    parser.add_argument("--metric", help="NAME[option=value,...], FILE.py or FOLDER/ of one that is not installed, "
                                         "evaluate:|st:|ce:|judge:|scores:NAME; may be repeated", **many)
    parser.add_argument("--with", dest="with_", help="a metric beside those, as for --metric; may be repeated", **many)
    parser.add_argument("--dataset", help="may be repeated", **many)
    parser.add_argument("--quality", help="a quality or dimension; may be repeated", **many)
    parser.add_argument("--split", choices=("dev", "test"), help="only the datasets of one split")
    parser.add_argument("--data", choices=("auto", "real", "sample"),
                        help="auto: what was imported or fetched, else the sample (default)")
    parser.add_argument("--aggregate", choices=("mean", "sum", "max", "product"), action="append",
                        help="how turns become a dialogue; may be repeated (default: mean)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N items of each dataset")
    parser.add_argument("--ratings", type=Path, metavar="FILE", help="private ratings to join: .json, .csv or .tsv")
    parser.add_argument("--seed", type=int, metavar="N", help="for everything random (default: 0)")
    parser.add_argument("--draws", type=int, metavar="N",
                        help="resamples behind the interval of each rank (default: 1000; 0: none)")
    parser.add_argument("--permutations", type=int, metavar="N",
                        help="draws of PERM-BOTH for every pair of columns (default: 0; Holm wants 20,000)")
    parser.add_argument("--examples", type=int, metavar="N",
                        help="items of each dataset whose texts are shown, where people and metrics disagree most "
                             "(default: 6; 0 keeps every text out of the report and the pages)")
    configure_models(parser)
    configure_workers(parser)
    parser.add_argument("--store", metavar="URL",
                        help="keeps the scores: a folder or s3://... (default: OUT/scores)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="scores, report and site go here (default: ./results)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a TOML file with a table [run]; flags win")
    parser.add_argument("--dry-run", action="store_true", default=None, help="print the plan, do nothing")
    parser.add_argument("--rescore", action="store_true", default=None, help="score again what was scored before")
    parser.add_argument("--json", action="store_true", default=None, help="print one JSON object per agreement")


def configure_models(parser: argparse.ArgumentParser) -> None:
    """Which models stand for those that a metric does not name, and how they run."""
    parser.add_argument("--encoder", metavar="MODEL",
                        help="for every metric that names none: a hub id, NAME@REVISION or a folder (default: the "
                             "embedded all-MiniLM-L6-v2)")
    parser.add_argument("--lm", metavar="MODEL",
                        help="the causal language model, likewise (default: the small one that is shipped)")
    parser.add_argument("--vectors", metavar="FILE",
                        help="word2vec or GloVe vectors, text or binary (default: the encoder's input embeddings)")
    parser.add_argument("--device", metavar="DEVICE", help="auto, cpu, cuda, cuda:0,cuda:1 or mps (default: auto)")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16", "fp16"),
                        help="auto: bf16 on CUDA, else fp32 (default)")
    parser.add_argument("--batch-tokens", type=int, metavar="N",
                        help="tokens in a batch, padding included (default: by device)")
    parser.add_argument("--keep-embeddings", action="store_true", default=None,
                        help="keep what encoders read in the home, as float16, for later runs")
    parser.add_argument("--offline", action="store_true", default=None, help="never ask the hub for a model")


def configure_workers(parser: argparse.ArgumentParser) -> None:
    """Who scores, what a worker may take, and where what happens is written."""
    parser.add_argument("--executor", metavar="WHERE", help="local, local:N for N processes, or ray (default: local)")
    parser.add_argument("--address", metavar="ADDRESS", help="of a Ray cluster (default: one of this machine)")
    parser.add_argument("--jobs", type=int, metavar="N",
                        help="so many workers: --jobs 4 is --executor local:4; on a Ray cluster by default one per "
                             "processor")
    parser.add_argument("--gpus", type=float, metavar="SHARE",
                        help="of a GPU that each worker of a Ray cluster has: 1, 0.25 (default: none)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="what one part of a cell may take; scored in a process of its own then")
    parser.add_argument("--memory", metavar="SIZE", help="what one worker may hold: 4GiB, 800MiB; likewise")
    parser.add_argument("--log-json", type=Path, metavar="FILE", help="write what happens as JSON lines")


def run(args: argparse.Namespace) -> int:
    """Run what was asked for. 0: every cell is complete or skipped for a declared reason; 1: a cell crashed."""
    chosen = settings(args)
    context = prepared(chosen)
    if chosen.dry_run:
        from harness.commands import _planned

        with contextlib.closing(context.filling.executor):
            print("\n".join(_planned.lines(context)))
        return 0
    report, found = carried_out(context, chosen)
    _print(report, found, chosen)
    context.progress.line(context.seen.summary())
    if not report.timings and not report.failures:
        print("nothing was scored: every pair was skipped, for the reasons above", file=sys.stderr)
    return 1 if report.failures else 0


def prepared(chosen: Settings) -> Context:
    """Everything that settings ask for, ready to run; nothing is scored or written yet."""
    from harness.run import plan, preparing
    from harness.run.compare import Draws

    _check(chosen)
    planned = plan.make(_selection(chosen))
    draws = Draws(chosen.seed, chosen.draws, chosen.permutations)
    return preparing.prepared(planned, home_folder(chosen.home), chosen.out, draws, choice=choice(chosen),
                              rescore=chosen.rescore, examples=chosen.examples, crew=crew(chosen))


def carried_out(context: Context, chosen: Settings) -> tuple[Results, Found]:
    """Run, and write the report and the pages."""
    from harness.commands._output import with_exhibits, write_site
    from harness.results import files
    from harness.run import run as running
    from harness.scoring.executors import tracing
    from leaderboard import site

    gc.set_threshold(100_000, 50, 50)  # a report is made of very many small rows, none of them in a cycle
    for name in ("scores", "report", "site"):
        (chosen.out / name).mkdir(parents=True, exist_ok=True)
    sweep(chosen.out)
    (chosen.out / tracing.NAME).unlink(missing_ok=True)
    report, found = running.run(context, chosen.ratings, command(chosen))
    with context.seen.stage("report"):
        files.write(report, chosen.out / "report")
    with context.seen.stage("pages"):
        write_site(site.site(with_exhibits(report, chosen.out)), chosen.out / "site")
    for path in context.store.set_aside:
        print(f"damaged, set aside and scored anew: {path}", file=sys.stderr)
    return report, found


def _print(report: Results, found: Found, chosen: Settings) -> None:
    from harness.commands._output import print_correlations
    from leaderboard.render.text import summary

    if chosen.json:
        print_correlations(report)
    else:
        print(summary(report))
        if beside := _beside(report):
            print(beside)
        print(f"pairs of metric and dataset: {found.scored} scored, {len(report.timings) - found.scored} kept from "
              f"before, {len(report.skips)} skipped, {len(report.failures)} crashed")
        print(f"leaderboard: {(chosen.out / 'site' / 'index.html').resolve()}")


def _beside(report: Results) -> str:
    """The figures beside published ones; empty where the run had none of the real datasets, or parts of them."""
    from harness.commands import _published
    from harness.published import measured

    return "" if measured.partial(report) else _published.short(measured.gather([report]))


def _check(chosen: Settings) -> None:
    if not (chosen.all or chosen.metric or chosen.with_ or chosen.dataset or chosen.quality or chosen.split):
        raise BadConfig("say what to run: --all, or a selection by --metric, --dataset, --split or --quality")
    if chosen.limit is not None and chosen.limit < 1:
        raise BadConfig(f"--limit should be 1 or more, not {chosen.limit}")
    if chosen.draws < 0 or chosen.permutations < 0:
        raise BadConfig("--draws and --permutations should be 0 or more")
    if chosen.examples < 0:
        raise BadConfig(f"--examples should be 0 or more, not {chosen.examples}")
    _check_limits(chosen)


def _check_limits(chosen: Settings) -> None:
    """Refuse what would be no limit."""
    if chosen.jobs < 0 or not 0 <= chosen.timeout < math.inf:
        raise BadConfig("--jobs and --timeout should be 0 or more; 0 is for no limit")
    if chosen.jobs and chosen.executor.startswith("local:") and chosen.executor != f"local:{chosen.jobs}":
        raise BadConfig(f"--jobs {chosen.jobs} and --executor {chosen.executor}: they differ; say one of them")
    if not 0 <= chosen.gpus < math.inf or (chosen.gpus and chosen.executor != "ray"):
        raise BadConfig(f"--gpus {chosen.gpus:g}: should be 0 or more, and is for --executor ray; "
                        "local:N takes --device cuda:0,cuda:1")
    if chosen.address and chosen.executor != "ray":
        raise BadConfig(f"--address {chosen.address}: is of a Ray cluster, and for --executor ray")
    if chosen.memory and chosen.executor == "ray":
        raise BadConfig("--memory: Ray watches the memory of its nodes itself; it is for the workers of local:N")


def _selection(chosen: Settings) -> Selection:
    from harness.run.plan import Selection

    return Selection(
        metrics=chosen.metric, beside=chosen.with_, datasets=chosen.dataset, split=chosen.split,
        qualities=chosen.quality, limit=chosen.limit, seed=chosen.seed,
        aggregations=chosen.aggregate or ("mean",), data=chosen.data)


def choice(chosen: Settings) -> Choice:
    """The models of the settings."""
    from metrics.models.service import Choice

    return Choice(
        encoder=chosen.encoder, lm=chosen.lm, vectors=chosen.vectors, device=chosen.device, precision=chosen.precision,
        batch_tokens=chosen.batch_tokens, keep_embeddings=chosen.keep_embeddings,
        download=not (chosen.offline or chosen.dry_run))


def crew(chosen: Settings) -> CrewChoice:
    """Who scores, by the settings, and what a part may take."""
    from harness.run.preparing import CrewChoice
    from harness.scoring.executors import tracing
    from harness.scoring.executors.scheduler import Limits

    logs = (chosen.out / tracing.NAME, *([chosen.log_json] if chosen.log_json else []))
    return CrewChoice(_executor(chosen), chosen.address, chosen.jobs, chosen.gpus, chosen.store,
                      Limits(chosen.timeout, _size(chosen.memory)), logs)


def _executor(chosen: Settings) -> str:
    """Who scores; limits ask for a worker of its own, since no process can stop what it is at itself.

    A dry run starts no cluster: it counts the workers that one on this machine would have.
    """
    if chosen.dry_run and chosen.executor == "ray" and not chosen.address:
        return f"local:{chosen.jobs or os.cpu_count() or 1}"
    if chosen.executor == "local" and (chosen.jobs or chosen.timeout or chosen.memory):
        return f"local:{chosen.jobs or 1}"
    return chosen.executor


def _size(text: str) -> int:
    """A size as it is written, in bytes; 0 for none."""
    units = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 1000, "MB": 10**6, "GB": 10**9}
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip()) if text else None
    if text and (found is None or found[2].upper() not in units):
        raise BadConfig(f"--memory {text!r:.40}: should be a size such as 4GiB or 800MiB")
    size = int(float(found[1]) * units[found[2].upper()]) if found else 0
    if found and size < units["MIB"]:
        raise BadConfig(f"--memory {text}: no worker fits into {size} bytes; say the unit, as in {found[1]}MiB")
    return size


def command(chosen: Settings) -> str:
    """The command line that repeats the run, without the folders of this machine."""
    from metrics import registry

    words = ["harness", "run"]
    for field in dataclasses.fields(chosen):
        value = getattr(chosen, field.name)
        if field.name in UNTOLD or value == field.default:
            continue
        if isinstance(value, Path) or (field.name in FILES and Path(value).is_absolute()):
            value = Path(value).name
        flag = f"--{field.name.rstrip('_').replace('_', '-')}"
        for one in value if isinstance(value, tuple) else (value,):
            told = registry.shown(one) if field.name in {"metric", "with_"} else str(one)
            words += [flag] if one is True else [flag, told]
    return shlex.join(words)
