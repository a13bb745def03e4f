"""What `harness challenge init` writes: a challenge in two phases on items of the bundled sample.

The rules with every setting explained, items, private ratings, a page for participants, of the templates beside this
file; and for an example the score files of made-up teams, those of the first phase received.
"""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.formats import scorefile
from benchmarks.storage.files import write_atomically
from harness.challenge import ground, receipts, rulebook
from harness.challenge.rulebook import DRAWN_BY, FILE, Rulebook
from harness.challenge.tables import RULES as BY_RULE
from harness.challenge.tables import test_of
from harness.errors import BadConfig
from harness.results.exhibits import csv_of
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.estimates import full_name
from metrics import registry as metrics
from metrics.models.service import Choice, Models

PARTICIPANTS = "README.md"
TEMPLATE = "template.csv"
IGNORE = ".gitignore"
WORKFLOW = ".github/workflows/receive.yml"
SAMPLES = {"talk-dev": "persona-usr", "talk-test": "topical-usr"}
"""The datasets that are written, and what of the bundled sample they hold."""

LASTS, SINCE = 28, 14
"""Days of a phase, and of these how many of the first are over when it is written."""

COUNTS = {"best": "the file with the best value", "last": "the file with the highest number",
          "primary": "the file whose `submission.toml` says `primary = true`"}

TEAMS = {"team-a": ("length",), "team-b": ("distinct", "context-overlap"), "team-c": ("repetition",),
         "team-d": ("random",), "team-e": ("length",)}
"""The made-up teams of the example, and the metrics whose scores they hand in."""

BROKEN = "team-e"


def init(folder: Path, home: Path, example: bool) -> tuple[str, ...]:
    """Write a new challenge into a folder that has none, with made-up teams if asked for; the files' names."""
    if (folder / FILE).exists():
        raise BadConfig(f"{folder}: holds a challenge already ({FILE})")
    title = " ".join(folder.resolve().name.replace("-", " ").split()).capitalize() or "Challenge"
    title = "".join(sign for sign in title if sign.isprintable() and sign not in '"\\')
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(1)
    today, opens = now.date(), now.date() - SINCE * day
    rules = Template(_shipped(FILE)).substitute(
        title=title, opens=opens, closes=opens + LASTS * day, today=today, end=today + LASTS * day)
    files = {**dict(_data()), FILE: rules, WORKFLOW: _shipped("receive.yml"), DRAWN_BY: f"{secrets.token_hex(16)}\n"}
    if not (folder / IGNORE).exists():
        files[IGNORE] = "private/\ndata/talk-test.csv\n"
    _put(folder, files)
    names = [*files, *template(folder, home)]
    for team, file in _handed_in(folder, home) if example else ():
        names.append(str(file.relative_to(folder)))
        if file.parent.name == "development":
            receipts.receive(folder, home, file, team, now=now)
    return tuple(names)


def _shipped(name: str) -> str:
    """The text of a file beside this one."""
    return resources.files("harness.challenge").joinpath(name).read_text(encoding="utf-8")


def _data() -> Iterator[tuple[str, str]]:
    """The items of the sample with ids of their own, and what its raters said."""
    votes = [("item", "quality", "vote")]
    for name, source in SAMPLES.items():
        dataset = registry.sample(registry.card(source))
        ids = {item.id: f"{name}_{place:03d}" for place, item in enumerate(dataset.items)}
        yield f"data/{name}.csv", csv_of([("item", "context", "response", "system"), *(
            (ids[item.id], "\n".join(turn.text for turn in item.context), item.response.text if item.response else "",
             item.system or "") for item in dataset.items)]).decode()
        votes += [(ids[rating.item], rating.quality, f"{vote:g}") for rating in dataset.ratings
                  if rating.quality in ("Natural", "Overall") for vote in rating.votes]
    yield "private/ratings.csv", csv_of(votes).decode()


def template(folder: Path, home: Path) -> tuple[str, ...]:
    """Write what participants get, the empty score file and their page, anew from the rules; the files' names."""
    every = rulebook.phases(folder)
    if every[0].published:
        raise BadConfig(f"{folder}: published results, for which nothing is handed in")
    files = _handed_out([(rules, [dataset for dataset in ground.loaded(rules, home) if ground.wanted(rules, dataset)])
                         for rules in every])
    for old in {*folder.glob("template-*.csv"), folder / TEMPLATE} - {folder / name for name in files}:
        old.unlink(missing_ok=True)
    _put(folder, files)
    return tuple(files)


def _handed_out(phases: Sequence[tuple[Rulebook, list[Dataset]]]) -> dict[str, str]:
    """The page for participants, and the template of every phase."""
    (rules, (first, *_)), *_ = phases
    names = [f"template-{own.phase}.csv" if own.phase else TEMPLATE for own, _ in phases]
    page = Template(_shipped("participants.md")).substitute(
        title=rules.title, counts=COUNTS[rules.counts], item=first.items[0].id,
        quality=ground.wanted(rules, first)[0].name, statistic=full_name(rules.statistic, rules.level),
        rule="weighted mean over all targets" if rules.weights else BY_RULE[rules.rule], test=test_of(rules),
        phases="\n".join(_phase(own, datasets, name)
                         for (own, datasets), name in zip(phases, names, strict=True)))
    return {PARTICIPANTS: page} | {
        name: scorefile.template([item.id for dataset in datasets for item in dataset.items], ".csv").decode()
        for (_, datasets), name in zip(phases, names, strict=True)}


def _phase(rules: Rulebook, datasets: list[Dataset], name: str) -> str:
    """What is to be scored in a phase, when, and how often."""
    when = f"; {rules.when}, in UTC and these days included" if rules.dated else ""
    most = f"; a team may hand in {rules.submissions or 'any number'}"
    a_day = f", {rules.per_day} a day" if rules.per_day else ""
    public = (f"; until it is frozen ranked on {100 * rules.public:g} % of the contexts, then on the others"
              if rules.public else "")
    files = {own.card.name: f" in `{os.path.relpath(own.file, rules.folder)}`" for own in rules.own}
    names = (f"{each.card.name}{files.get(each.card.name, '')} "
             f"({', '.join(quality.name for quality in ground.wanted(rules, each))})" for each in datasets)
    return (f"- {f'**{rules.phase}**: ' if rules.phase else ''}{', '.join(names)}: "
            f"{sum(len(each.items) for each in datasets)} items, to be scored in `{name}`{when}{most}{a_day}{public}")


def _put(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, content.encode())


def _handed_in(folder: Path, home: Path) -> Iterator[tuple[str, Path]]:
    """Write the score files of made-up teams, from metrics that need no model; that of the last is broken."""
    models = Models(home, Choice(download=False))
    for rules in rulebook.phases(folder):
        (dataset,) = ground.loaded(rules, home)
        scorer = Scorer(dataset, models, ScoreStore(folder / "ranking" / "scores"))
        for team, number, name in ((team, number, name) for team, names in TEAMS.items()
                                   for number, name in enumerate(names, start=1)):
            metric = metrics.choose(name).metric
            scores = scorer.scores(metric)
            values = scores.columns[metric.card.columns[0]]  # an empty response gets the lowest
            filled = np.where(np.isfinite(values), values, np.nanmin(values)).tolist()
            rows: list[tuple[str, object]] = list(zip(scores.items, filled, strict=True))
            if team == BROKEN:  # a line is twice there, one holds no number, one is infinite, one is of no item
                rows = [rows[0], rows[0], (rows[1][0], "n/a"), (rows[2][0], "1e400"), ("nobody_000", 0.5), *rows[3:]]
            file = f"in/{rules.phase}/{team}-{number}.csv"
            _put(folder, {file: csv_of([("dialogue_id", "score"), *rows]).decode()})
            yield team, folder / file
