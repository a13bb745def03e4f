"""`harness run`: Run metrics on datasets and rebuild the leaderboards."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import sys
from pathlib import Path

from harness.commands import _planned
from harness.commands._arguments import MODELS, add
from harness.commands._output import print_correlations, with_exhibits, write_site
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
    parser.add_argument("--all", action="store_true", default=None, help="all metrics on all datasets")
    add(parser, "metric")
    parser.add_argument("--with", dest="with_", action="append", metavar="NAME",
                        help="additional metric, as for --metric; repeatable")
    add(parser, "dataset", "quality", "split")
    parser.add_argument("--language", action="append", metavar="CODE",
                        help="only datasets in this language (code; all: every translation too); repeatable")
    add(parser, "data")
    parser.add_argument("--aggregate", choices=("mean", "sum", "max", "product"), action="append",
                        help="how turn scores are combined for a dialogue; repeatable (default: mean)")
    parser.add_argument("--limit", type=int, metavar="N",
                        help="only the first N items of each dataset, as a smoke test")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="at most N items of each dataset, in whole contexts drawn by the seed across systems")
    add(parser, "ratings", "seed")
    parser.add_argument("--draws", type=int, metavar="N",
                        help="resamples for the intervals of ranks (default: 1000; 0: none)")
    parser.add_argument("--permutations", type=int, metavar="N",
                        help="draws of PERM-BOTH for every pair of columns on the pages (default: 0); `harness report` "
                             "draws its own")
    add(parser, "statistic", "level", action="append")
    parser.add_argument("--examples", type=int, metavar="N",
                        help="items of each dataset shown with texts where people and metrics disagree most "
                             "(default: 6; 0: no texts in the results and pages)")
    add(parser, *MODELS)
    configure_workers(parser)
    parser.add_argument("--store", metavar="URL",
                        help="store of the scores: a folder or s3://... (default: OUT/scores)")
    add(parser, "out")
    parser.add_argument("--config", type=Path, metavar="FILE",
                        help="TOML file with a table [run]; flags take precedence")
    parser.add_argument("--dry-run", action="store_true", default=None, help="print the plan and exit")
    parser.add_argument("--rescore", action="store_true", default=None, help="ignore stored scores")
    parser.add_argument("--reuse", type=Path, metavar="BUNDLE",
                        help="add the metrics of a bundle from `harness submit`, with its scores for the same items")
    parser.add_argument("--json", action="store_true", default=None, help="print one JSON object per correlation")


def configure_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--executor", metavar="WHERE",
                        help="local: this process; ray or ray:N: N workers of a Ray cluster, by default one per "
                             "processor (default: local)")
    parser.add_argument("--address", metavar="ADDRESS",
                        help="address of a Ray cluster (default: start one on this machine)")
    parser.add_argument("--gpus", type=float, metavar="SHARE",
                        help="GPUs per worker of a Ray cluster, such as 1 or 0.25 (default: none)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="time limit of one part, for --executor ray (default: none)")
    parser.add_argument("--memory", metavar="SIZE",
                        help="memory limit of one worker, such as 4GiB or 800MiB, for --executor ray (default: none)")


def run(args: argparse.Namespace) -> int:
    """Run; return 1 if everything was skipped, a metric crashed or a judge did not answer, else 0."""
    requested = settings(args)
    plan, work = prepare(requested)
    if requested.dry_run:
        print("\n".join(_planned.lines(plan, work)))
        return 0
    state = unchanged.inputs(plan, work, _deciding(requested), requested.out)
    if not requested.rescore and (text := unchanged.printed(requested.out, state)) is not None:
        with _closing(work):
            if requested.json:
                print_correlations(files.read(requested.out))
            else:
                print(f"{text}\n{_page(requested)}\nnothing has changed since these results were written")
        return 0
    if requested.encoder and (lacking := untrained(plan.chosen, work.models)):
        made_by = f"harness train {lacking[0] if len(lacking) == 1 else '--all'} --encoder {requested.encoder}"
        print(f"skipped without weights for {requested.encoder}: {', '.join(lacking)}; train them with `{made_by}` on "
              "the corpora of `harness fetch --corpora`", file=sys.stderr)
    earlier = _datasets(requested.out)
    results = carry_out(plan, work, requested)
    board = f"{summary(results)}\n"
    if requested.json:
        print_correlations(results)
    else:
        print(board + _counts(results, work.progress.scored))
        if results.correlations or results.failures:
            print(_page(requested))
            if lost := sorted(earlier - {entry.name for entry in results.datasets}):
                print(f"these results replace earlier ones that included {', '.join(lost[:3])}"
                      f"{f' and {len(lost) - 3} more datasets' if lost[3:] else ''}; use another --out to keep both",
                      file=sys.stderr)
    work.progress.terminal.line(work.progress.summary())
    if results.correlations and not (results.failures or work.progress.lacking):
        unchanged.note(requested.out, state, board + _counts(results, 0))
    if not results.correlations and not results.failures:
        print("nothing was scored: every pair was skipped for the reasons above; no results were written",
              file=sys.stderr)
    return 1 if results.failures or not results.correlations or work.progress.unanswered else 0


def _closing(work: Workspace) -> contextlib.AbstractContextManager[object]:
    return contextlib.closing(work.executor) if work.executor else contextlib.nullcontext()


def carry_out(plan: Plan, work: Workspace, requested: Settings) -> Results:
    """Run and write the results and the pages."""
    gc.set_threshold(100_000, 50, 50)  # results consist of very many small rows without cycles
    (requested.out / LOG).unlink(missing_ok=True)
    if not (requested.out / "site" / "index.html").exists():
        _first_board(plan, work, requested)
    with work.progress:
        results = run_plan(plan, work)
        if not results.correlations and not results.failures:  # keep an earlier board
            return results
        unchanged.forget(requested.out)
        with work.progress.stage("report"):
            files.write(results, requested.out / "report")
        with work.progress.stage("pages"):
            shown = dataclasses.replace(with_exhibits(results, requested.out), cache=work.cache)
            write_site(site.site(shown), requested.out / "site")
    for path in work.store.set_aside:
        print(f"damaged, moved aside and scored again: {path}", file=sys.stderr)
    return results


def _datasets(out: Path) -> set[str]:
    with contextlib.suppress(BadReport):
        return {entry.name for entry in files.read(out).datasets}
    return set()


def _first_board(plan: Plan, work: Workspace, requested: Settings) -> None:
    """Draw a first board of the metrics without models, which take seconds."""
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
    note = f"first board, {len(quick)} of {len(plan.chosen)} metrics"
    run = dataclasses.replace(results.run, options={**results.run.options, "first": note})
    write_site(site.site(dataclasses.replace(results, run=run)), requested.out / "site")
    work.progress.say(note)
    work.progress.terminal.line(_page(requested))
    work.progress.scored += alone.progress.scored


def _page(requested: Settings) -> str:
    return f"leaderboard: {(requested.out / 'site' / 'index.html').resolve()}"


def _deciding(requested: Settings) -> dict[str, object]:
    """Return the settings that affect the results or the location of the scores."""
    return {field.name: getattr(requested, field.name) for field in dataclasses.fields(requested)
            if field.name not in UNSAID - {"store"}}


def _counts(results: Results, scored: int) -> str:
    sources = {entry.name for entry in results.metrics if entry.source}
    reused = sum(len({metric for metric, _ in points.scores} & sources) for points in results.points)
    return (f"pairs of metric and dataset: {scored} scored, {len(results.timings) - scored} kept from before, "
            f"{f'{reused} from a bundle, ' if reused else ''}{len(results.skips)} skipped, "
            f"{len(results.failures)} crashed"
            f"{'; `harness check METRIC` names the items' if results.failures else ''}")
