"""`harness run`: Run metrics on datasets and rebuild the leaderboards.

    harness run --all
    harness run --dataset ratings.csv --metric length --metric cosine
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.dataset import Dataset
from benchmarks.errors import BadStore, plural
from benchmarks.formats.scorefile import listed
from benchmarks.storage.files import Files
from harness.commands._arguments import LIMITS, MODELS, WORKERS, add
from harness.commands._output import print_correlations
from harness.commands.publish import publish
from harness.errors import BadReport
from harness.results import files
from harness.results.rows import Results
from harness.run import reuse, unchanged
from harness.run.correlate import detectable_difference
from harness.run.entries import untrained
from harness.run.plan import Plan, load
from harness.run.prepare import Workspace, prepare
from harness.run.run import run as run_plan
from harness.run.scores import to_score
from harness.run.settings import Settings, settings
from harness.scoring import costs, pairs, score
from harness.scoring.lease import exclusive
from harness.scoring.pairs import Pair
from harness.scoring.progress import LOG, duration
from leaderboard.render.text import summary
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.external.judge import Judge
from metrics.judges import spending
from metrics.judges.spending import Estimate
from metrics.metric import checkpoints
from metrics.registry import Chosen


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, "all", "metric", "with", "dataset", "columns", "scale", "quality", "split", "language", "data",
        "aggregate", "limit", "sample", "ratings", "seed", "draws", "permutations", "epsilon", "statistic", "level",
        "examples", *MODELS, *LIMITS, *WORKERS, "store", "out", "dry-run", "rescore", "reuse", "json",
        default=None)  # a config file may set them
    add(parser, "config FILE: TOML file with a table [run]; flags take precedence")


def run(args: argparse.Namespace) -> int:
    """Run the plan; return 1 if everything was skipped, a metric crashed or a judge did not answer, else 0."""
    requested = settings(args)
    plan, work = prepare(requested)
    if requested.dry_run:
        print("\n".join([*_plan_lines(plan, work), *_requests(plan, work)]))
        return 0
    state = unchanged.inputs(plan, work, requested.out)
    is_current = not requested.rescore and unchanged.holds(requested.out, state)
    if is_current:
        results = files.read(requested.out)
        if work.executor:
            work.executor.close()
    else:
        results = carry_out(plan, work, requested, state)
    if requested.json:
        print_correlations(results)
    else:
        print(f"{summary(results)}\n{_counts(results, work.progress.scored)}")
        if results.correlations or results.failures:
            print(f"leaderboard: {(requested.out / 'site' / 'index.html').resolve()}"
                  + "\nnothing has changed since these results were written" * is_current)
    if is_current:
        return 0
    if (spent := spending.of_run(work.models)).requests:
        work.progress.terminal.line(f"judges: {spent.line((0, 0, 0.0))}")
    work.progress.terminal.line(work.progress.summary())
    return int(bool(results.failures) or not results.correlations)


def carry_out(plan: Plan, work: Workspace, requested: Settings, state: str = "", *, pages: bool = True) -> Results:
    """Run a plan and write the report and, with `pages`, the pages; a complete run also records `state`."""
    (requested.out / LOG).unlink(missing_ok=True)
    sys.stderr.writelines(f"{line}\n" for line in (*_notes(plan, work, requested), *_requests(plan, work)))
    if pages and not (requested.out / "site" / "index.html").exists():
        _draw_first_board(plan, work, requested)
    results = run_plan(plan, work)
    if not results.correlations and not results.failures:  # keep an earlier board
        print("nothing was scored: every pair was skipped; no results were written", file=sys.stderr)
        return results
    with exclusive(Files(requested.out), work.progress.say):
        unchanged.forget(requested.out)
        with work.progress.stage("report"):
            files.write(results, requested.out / "report")
        if pages:
            with work.progress.stage("pages"):
                publish(dataclasses.replace(results, cache=work.cache), requested.out)
        if state and results.correlations and not (results.failures or work.progress.lacking):
            unchanged.record(requested.out, state)
    costs.save(work.home, plan.chosen, work.models, work.progress.new_costs())
    for path in work.store.set_aside:
        print(f"damaged scores, renamed to end in .damaged and computed again: {path}", file=sys.stderr)
    return results


def _draw_first_board(plan: Plan, work: Workspace, requested: Settings) -> None:
    """Score the metrics without models or servers in this process and draw a board of them, unless all or none are."""
    fast = tuple(chosen for chosen in plan.chosen if not (
        isinstance(chosen.metric, Composite | Judge) or chosen.metric.card.models or checkpoints(chosen.metric)))
    if not 0 < len(fast) < len(plan.chosen):
        return
    results = run_plan(dataclasses.replace(plan, chosen=fast, quick=True), dataclasses.replace(work, executor=None))
    if not results.correlations:
        return
    note = f"first board, {len(fast)} of {len(plan.chosen)} metrics"
    run = dataclasses.replace(results.run, options={**results.run.options, "first": note})
    with exclusive(Files(requested.out), work.progress.say):
        page = publish(dataclasses.replace(results, run=run), requested.out)
    work.progress.say(note)
    work.progress.terminal.line(f"leaderboard: {page}")


def _notes(plan: Plan, work: Workspace, requested: Settings) -> Iterator[str]:
    """Yield notes to print before a run: metrics added by --with, metrics without weights, replaced results."""
    if requested.with_ and not (requested.metric or requested.all):
        yield f"--with adds to all metrics, {len(plan.chosen)} in total; select some with --metric to run fewer"
    if requested.encoder and (names := untrained(plan.chosen, work.models)):
        trained_by = f"harness train {names[0] if len(names) == 1 else '--all'} --encoder {requested.encoder}"
        yield (f"skipped without weights for {requested.encoder}: {', '.join(names)}; train them with `{trained_by}` "
               "on the corpora of `harness fetch --corpora`")
    with contextlib.suppress(BadReport):
        earlier = {entry.name for entry in files.read(requested.out).datasets} - {card.name for card in plan.cards}
        if earlier:
            yield f"replacing earlier results, which include {listed(sorted(earlier), 60)}; --out DIR keeps both"


def _counts(results: Results, scored: int) -> str:
    reused = len(reuse.pairs_from_bundle(results.points, results.timings))
    return (f"pairs of metric and dataset: {scored} scored, {len(results.timings) - scored} already stored, "
            f"{f'{reused} from a bundle, ' if reused else ''}{len(results.skips)} skipped, "
            f"{len(results.failures)} failed")


def _plan_lines(plan: Plan, work: Workspace) -> Iterator[str]:
    seconds, unmeasured = 0.0, dict[str, None]()
    for card in plan.cards:
        try:
            dataset = load(card, work.home, plan.settings)
        except BadStore as error:
            yield str(error)
            continue
        if dataset is None:
            yield f"{card.name}: left out, its data is not on this machine"
            continue
        yield (f"{card.name}: {plural(len(dataset.items), 'item')}, {dataset.origin}, "
               f"{plural(len(plan.qualities(card)), 'quality', 'qualities')}, {card.level} level")
        yield f"  {detectable_difference(dataset)}"
        estimates = {}
        for pair in to_score(plan, work, dataset):
            estimates[pair.signature] = (pair.label, "")
            if pair.label in work.progress.costs:
                expected = pair.cost * len(pair.items)
                seconds += expected
                estimates[pair.signature] = (pair.label, f", about {duration(expected)}")
            else:
                unmeasured[pair.label] = None
        for chosen in plan.chosen:
            key, state = _expected_state(plan, work, dataset, chosen)
            yield f"  {chosen.label:<24} {state}{estimates.pop(key, ('', ''))[1]}"
        for label, estimate in estimates.values():
            yield f"  {label:<24} to be scored{estimate}, as an input"
    if seconds:
        others = f", plus {plural(len(unmeasured), 'metric')} not measured before" if unmeasured else ""
        yield f"scoring takes about {duration(seconds)} with one worker, as in earlier runs{others}"
    elif unmeasured:
        yield "time: unknown, since no run has measured these metrics here"


def _requests(plan: Plan, work: Workspace) -> Iterator[str]:
    """Describe the requests that each judge behind an endpoint will send, excluding stored answers."""
    judges = {part.label for part in pairs.without_composites(plan.chosen) if isinstance(part.metric, Judge)}
    estimates = defaultdict[str, Estimate](Estimate)
    for dataset, pair in _to_score(plan, work) if judges else ():
        if pair.label in judges:
            judge: Any = score.restrict(pair.chosen.metric, dataset)
            estimates[pair.label] += judge.estimate(score.read_items(judge, dataset), work.models)
    for label, estimate in estimates.items():
        yield f"{label}: {estimate.line(work.models.choice)}"


def _to_score(plan: Plan, work: Workspace) -> Iterator[tuple[Dataset, Pair]]:
    for card in plan.cards:
        with contextlib.suppress(BadStore):  # the run reports it
            if dataset := load(card, work.home, plan.settings):
                yield from ((dataset, pair) for pair in to_score(plan, work, dataset))


def _expected_state(plan: Plan, work: Workspace, dataset: Dataset, chosen: Chosen) -> tuple[str, str]:
    """Return the storage key of the scores, and the action of a run: skip, reuse or score."""
    try:
        key = pairs.store_key(chosen.metric, dataset, work.models)
    except MissingResource as error:
        return "", f"skip: {error}"
    if lacking := score.unmet(chosen.metric, dataset):
        return key, f"skip: no item has {lacking}"
    if chosen.label in plan.reused.scores(dataset):
        return key, f"from the bundle {plan.reused.name}"
    if work.store.stored(dataset.fingerprint)(key) and not plan.settings.rescore:
        return key, "scored before"
    return key, "to be scored" + ", from the scores of its inputs" * isinstance(chosen.metric, Composite)
