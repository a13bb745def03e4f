"""`harness run`: score datasets with metrics, correlate with ratings, and make the leaderboard."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import sys
from pathlib import Path
from typing import Any

from benchmarks.dataset import SPLITS
from harness.commands import _planned
from harness.commands._output import print_correlations, with_exhibits, write_site
from harness.commands.report import configure_statistics
from harness.errors import BadReport
from harness.results import files
from harness.results.rows import Results
from harness.run import unchanged
from harness.run.entries import untrained
from harness.run.plan import Plan
from harness.run.prepare import UNSAID, choice, prepare
from harness.run.run import run as run_plan
from harness.run.settings import Settings, settings
from harness.run.workspace import Workers, Workspace, open_workspace
from harness.scoring import pairs
from harness.scoring.progress import LOG
from leaderboard import site
from leaderboard.render.text import summary
from metrics.composition import Composite
from metrics.metric import checkpoints


def configure(parser: argparse.ArgumentParser) -> None:
    """What to run, on what, and where the results go. Every flag may stand in the config file as well."""
    many: dict[str, Any] = {"action": "append", "default": None, "metavar": "NAME"}
    parser.add_argument("--all", action="store_true", default=None, help="every metric on every dataset")
    parser.add_argument("--metric", help="NAME[option=value,...], FILE.py or FOLDER/ of one that is not installed, "
                                         "evaluate:|judge:|scores:NAME; may be repeated", **many)
    parser.add_argument("--with", dest="with_", help="a metric beside those, as for --metric; may be repeated", **many)
    parser.add_argument("--dataset", help="its name, or the path of a card of one's own (.toml); may be repeated",
                        **many)
    parser.add_argument("--quality", help="a quality or dimension; may be repeated", **many)
    parser.add_argument("--split", choices=SPLITS, help="only the datasets of one split")
    parser.add_argument("--language", help="only datasets in this language, by its code; all: the translated ones in "
                                           "every language; may be repeated", **{**many, "metavar": "CODE"})
    parser.add_argument("--data", choices=("auto", "real", "sample"),
                        help="auto: what was imported or fetched, else the sample (default)")
    parser.add_argument("--aggregate", choices=("mean", "sum", "max", "product"), action="append",
                        help="how turns become a dialogue; may be repeated (default: mean)")
    parser.add_argument("--limit", type=int, metavar="N", help="a smoke test: only the first N items of each dataset")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="at most N items of each dataset: whole contexts drawn by the seed, spread over systems")
    parser.add_argument("--ratings", type=Path, metavar="FILE", help="private ratings to join: .json or a table")
    parser.add_argument("--seed", type=int, metavar="N", help="for everything random (default: 0)")
    parser.add_argument("--draws", type=int, metavar="N",
                        help="resamples behind the interval of each rank (default: 1000; 0: none)")
    parser.add_argument("--permutations", type=int, metavar="N",
                        help="draws of PERM-BOTH for every pair of columns, kept for the pages; `harness report` "
                             "makes its own (default: 0)")
    configure_statistics(parser, {"action": "append"})
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
    parser.add_argument("--reuse", type=Path, metavar="BUNDLE",
                        help="take the scores of a bundle that `harness submit` made, for the same items; its metrics "
                             "stand on the boards beside those of the run, and their rows say so")
    parser.add_argument("--json", action="store_true", default=None, help="print one JSON object per correlation")


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
                        help="auto: bf16 on CUDA, else fp32, or what a model's card says (default)")
    parser.add_argument("--batch-tokens", type=int, metavar="N",
                        help="tokens in a batch, padding included (default: by device)")
    parser.add_argument("--offline", action="store_true", default=None, help="never ask the hub for a model")


def configure_workers(parser: argparse.ArgumentParser) -> None:
    """Who scores, and what a worker may take."""
    parser.add_argument("--executor", metavar="WHERE",
                        help="local, local:N for N processes, ray, or ray:N for N workers of a Ray cluster, by default "
                             "one per processor (default: local)")
    parser.add_argument("--address", metavar="ADDRESS", help="of a Ray cluster (default: one of this machine)")
    parser.add_argument("--gpus", type=float, metavar="SHARE",
                        help="of a GPU that each worker of a Ray cluster has: 1, 0.25 (default: none)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="what one part of a pair may take; scored in a process of its own then")
    parser.add_argument("--memory", metavar="SIZE", help="what one worker may hold: 4GiB, 800MiB; likewise")


def run(args: argparse.Namespace) -> int:
    """Carry out a run. 0: pairs were scored, or skipped for a reason.

    1: all were skipped, a metric crashed, or a judge's server gave no answer.
    """
    requested = settings(args)
    plan, work = prepare(requested)
    if requested.dry_run:
        with _closing(work):
            print("\n".join(_planned.lines(plan, work)))
        return 0
    state = unchanged.inputs(plan, work, _deciding(requested), requested.out)
    if not requested.rescore and (text := unchanged.printed(requested.out, state)) is not None:
        with _closing(work):
            if requested.json:
                print_correlations(files.read(requested.out))
            else:
                print(f"{text}\n{_page(requested)}\nnothing has changed since these results were made")
        return 0
    if requested.encoder and (lacking := untrained(plan.chosen, work.models)):
        made_by = f"harness train {lacking[0] if len(lacking) == 1 else '--all'} --encoder {requested.encoder}"
        print(f"no weights for {requested.encoder}, so skipped: {', '.join(lacking)}; `{made_by}` trains them on the "
              "corpora of `harness fetch --corpora`", file=sys.stderr)
    earlier = _datasets(requested.out)
    results = carry_out(plan, work, requested)
    board = (said := summary(results)) and f"{said}\n"
    if requested.json:
        print_correlations(results)
    else:
        print(board + _counts(results, work.progress.scored))
        if results.correlations or results.failures:
            print(_page(requested))
            if lost := sorted(earlier - {entry.name for entry in results.datasets}):
                print(f"these results stand in place of earlier ones, of {', '.join(lost[:3])}"
                      f"{f' and {len(lost) - 3} more datasets' if lost[3:] else ''} too; another --out keeps both",
                      file=sys.stderr)
    work.progress.terminal.line(work.progress.summary())
    if results.correlations and not (results.failures or work.progress.lacking):
        unchanged.note(requested.out, state, board + _counts(results, 0))
    if not results.correlations and not results.failures:
        print("nothing was scored: every pair was skipped, for the reasons above; no results are written",
              file=sys.stderr)
    return 1 if results.failures or not results.correlations or work.progress.unanswered else 0


def _closing(work: Workspace) -> contextlib.AbstractContextManager[object]:
    return contextlib.closing(work.executor) if work.executor else contextlib.nullcontext()


def carry_out(plan: Plan, work: Workspace, requested: Settings) -> Results:
    """Run, and write the results and the pages."""
    gc.set_threshold(100_000, 50, 50)  # results are made of very many small rows, none of them in a cycle
    (requested.out / LOG).unlink(missing_ok=True)
    if not (requested.out / "site" / "index.html").exists():
        _first_board(plan, work, requested)
    with work.progress:
        results = run_plan(plan, work)
        if not results.correlations and not results.failures:  # no board is better than the one that may be there
            return results
        unchanged.forget(requested.out)
        with work.progress.stage("report"):
            files.write(results, requested.out / "report")
        with work.progress.stage("pages"):
            shown = dataclasses.replace(with_exhibits(results, requested.out), cache=work.cache)
            write_site(site.site(shown), requested.out / "site")
    for path in work.store.set_aside:
        print(f"damaged, set aside and scored anew: {path}", file=sys.stderr)
    return results


def _datasets(out: Path) -> set[str]:
    """The datasets of the results in a folder."""
    with contextlib.suppress(BadReport):
        return {entry.name for entry in files.read(out).datasets}
    return set()


def _first_board(plan: Plan, work: Workspace, requested: Settings) -> None:
    """Draw the metrics that read no model: they take seconds, and somebody is waiting for something to see."""
    quick = tuple(chosen for chosen in plan.chosen
                  if not (isinstance(chosen.metric, Composite) or pairs.shared(chosen.metric, work.models)
                          or checkpoints(chosen.metric)))
    if not quick or len(quick) == len(plan.chosen):
        return
    draws = dataclasses.replace(plan.draws, ranks=0, quick=True)
    alone = open_workspace(plan, work.home, requested.out, choice=choice(requested),
                           workers=Workers(store=requested.store))
    results = run_plan(dataclasses.replace(plan, chosen=quick, draws=draws, examples=0), alone)
    if not results.correlations:
        return
    said = f"first board, {len(quick)} of {len(plan.chosen)} metrics"
    run = dataclasses.replace(results.run, options={**results.run.options, "first": said})
    write_site(site.site(dataclasses.replace(results, run=run)), requested.out / "site")
    work.progress.say(said)
    work.progress.terminal.line(_page(requested))
    work.progress.scored += alone.progress.scored


def _page(requested: Settings) -> str:
    return f"leaderboard: {(requested.out / 'site' / 'index.html').resolve()}"


def _deciding(requested: Settings) -> dict[str, object]:
    """The settings that decide what a run writes, and where its scores are."""
    return {field.name: getattr(requested, field.name) for field in dataclasses.fields(requested)
            if field.name not in UNSAID - {"store"}}


def _counts(results: Results, scored: int) -> str:
    """What was done."""
    sources = {entry.name for entry in results.metrics if entry.source}
    reused = sum(len({metric for metric, _ in points.scores} & sources) for points in results.points)
    return (f"pairs of metric and dataset: {scored} scored, {len(results.timings) - scored} kept from before, "
            f"{f'{reused} from a bundle, ' if reused else ''}{len(results.skips)} skipped, "
            f"{len(results.failures)} crashed"
            f"{'; `harness check METRIC` names the items' if results.failures else ''}")
