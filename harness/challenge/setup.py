"""What `harness challenge init` writes: the rules with every setting explained, folders, a page for participants."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.formats import scorefile
from benchmarks.storage.files import write_atomically
from harness.challenge import baselines, ground, rulebook, submissions
from harness.challenge.rulebook import DRAWN_BY, FILE, FOLDER, Rulebook
from harness.challenge.tables import RULES as BY_RULE
from harness.challenge.tables import test_of
from harness.errors import BadConfig
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.estimates import full_name
from metrics import registry as metrics
from metrics.models.service import Choice, Models

DATASETS = ("jsalt", "esl", "ncm")
TEMPLATE = "template.csv"
PARTICIPANTS = "README.md"
IGNORE = ".gitignore"
WORKFLOW = ".github/workflows/receive.yml"

RULES = '''# A challenge; docs/tutorial-organiser.md of dialogue-harness tells every setting.
title = "{title}"

# Data: names of `harness list datasets` or cards ("my.toml"), all of one split, all real or all of the sample ...
datasets = [{datasets}]
# ... or files of your own in the organisers' JSON:
# [[dataset]]            (at the end of this file)
# name = "new-set"
# title = "New set"
# file = "data/new-set_eval.json"
# level = "turn"         # or "dialogue"
# split = "test"         # or "dev"
# qualities = [{{name = "overall", low = 1, high = 5}}]

# qualities = ["appropriateness"]       # names or dimensions; all where it is left out
# ratings = "private/ratings.csv"       # item,quality,vote; joined for ranking, never published

rule = "test"            # test (micro): mean over all qualities of all datasets;
                         # dev (macro): over the datasets, of the mean over their qualities
statistic = "spearman"   # or any of `harness run --statistic`; level = "over-systems" and others likewise
submissions = 5          # per team, those with the lowest numbers; 0: any number
# per_day = 2            # how many of these `harness challenge receive` takes on one day
counts = "best"          # which of them is ranked: best (by the rule), last or primary
# column = "quality"     # the scores are in this column where a file has it, else in `score`
# opens = 2026-01-01     # the day of receipt, or else date = ... in submission.toml, must lie within these
# closes = 2026-03-31

# public = 0.3           # until `harness challenge freeze` ranked on a share of the contexts, then on the others
# coverage = "partial"   # private ratings may lack items

missing = "refuse"       # a submission without a score for every item is refused;
                         # leave-out: it is measured on the others; zero: counted 0
sign = "keep"            # absolute: the absolute value of each correlation
empty = "keep"           # drop: items whose response is empty

baselines = ["length"]   # metrics of `harness list metrics`; score files in baselines/ beside them

draws = 1000             # behind the interval of each rank
seed = 0                 # of draws, and with private/seed of what is public

# Phases, each with settings of its own, go to the end of this file:
# [[phase]]
# name = "development"
# datasets = ["jsalt"]
# opens = 2026-01-01
# closes = 2026-02-28
'''

GUIDE = '''# {title}

Give every item a score: the higher, the better the response. A template has a line for each item; fill in the column
`score` and hand in the file. CSV, TSV, JSON Lines and JSON are taken, in UTF-8; other columns are ignored.

{phases}

```csv
dialogue_id,score
{item},0.83
{item}|{quality},0.5
```

A line with an id alone scores the item for every quality, a line with `ID|quality` for that one, and goes before it.

{terms}

{how}

A file that is no plain table, an archive or a link is refused, with its reasons; nobody else's place depends on it.
Ranked by how far scores and people's ratings agree: {statistic}; {rule}. Letters and clusters say what can be told
apart, by {test}.

<!-- Written by `harness challenge template`, which writes this page anew: what is changed here is lost then. -->
'''

SENT = '''Send the file to the organisers with your team's name, or open a pull request that adds it as `in/NAME.csv`
where they take these; the day of receipt counts, by their clock in UTC.'''

FOLDERS = '''Your submission is a folder named by a number, with the score file and, if you like, `submission.toml`:

```toml
name = "what the board may call it"
description = "what is behind it, in a few lines"
date = 2026-03-31
```'''

MISSING = {"refuse": "Every item needs a score that is a number; a file that lacks one is refused.",
           "leave-out": "An item without a score is left out; the others are what a submission is measured on.",
           "zero": "A missing score counts 0."}

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
    datasets = [registry.load(name, home) for name in DATASETS]
    if any(dataset.origin == "sample" for dataset in datasets):
        datasets = [registry.sample(dataset.card) for dataset in datasets]
    folder.mkdir(parents=True, exist_ok=True)
    rules = RULES.format(title=title, datasets=", ".join(f'"{name}"' for name in DATASETS))
    for name in (FOLDER, baselines.FOLDER, "private"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE, rules.encode())
    files = _handed_out([(rulebook.read(folder), datasets)]) | {
        WORKFLOW: _workflow(), DRAWN_BY: f"{secrets.token_hex(16)}\n"}
    if not (folder / IGNORE).exists():
        files[IGNORE] = "private/\n"
    if example:
        files |= dict(_example(datasets, home, folder))
    _put(folder, files)
    return (FILE, *files)


def _workflow() -> str:
    """The GitHub workflow that receives by pull request."""
    return resources.files("harness.challenge").joinpath("receive.yml").read_text(encoding="utf-8")


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
    received = any(own.phase or own.per_day for own, _ in phases)
    page = GUIDE.format(
        title=rules.title, terms=_terms(rules), how=SENT if received else FOLDERS, item=first.items[0].id,
        quality=ground.wanted(rules, first)[0].name, statistic=full_name(rules.statistic, rules.level),
        rule="weighted mean over all targets" if rules.weights else BY_RULE[rules.rule], test=test_of(rules),
        phases="\n".join(_phase(own, datasets, name)
                         for (own, datasets), name in zip(phases, names, strict=True)))
    return {PARTICIPANTS: page} | {
        name: scorefile.template([item.id for dataset in datasets for item in dataset.items], ".csv").decode()
        for (_, datasets), name in zip(phases, names, strict=True)}


def _phase(rules: Rulebook, datasets: list[Dataset], name: str) -> str:
    """What is to be scored in a phase, when, and how often."""
    since = f" from {rules.opens}" if rules.opens else ""
    until = f" up to {rules.closes}" if rules.closes else ""
    days = "both days" if since and until else "that day"
    when = f";{since}{until}, {days} included and in UTC" if rules.dated else ""
    most = f"; a team may hand in {rules.submissions or 'any number'}"
    a_day = f", {rules.per_day} a day" if rules.per_day else ""
    public = (f"; until its end ranked on {100 * rules.public:g} % of the contexts, then on the others"
              if rules.public else "")
    names = (f"{each.card.name} ({', '.join(quality.name for quality in ground.wanted(rules, each))})"
             for each in datasets)
    return (f"- {f'**{rules.phase}**: ' if rules.phase else ''}{', '.join(names)}: "
            f"{sum(len(each.items) for each in datasets)} items in `{name}`{when}{most}{a_day}{public}")


def _terms(rules: Rulebook) -> str:
    """What the rules say to a participant."""
    counts = {"best": "the file with the best value", "last": "the file with the highest number",
              "primary": "the file whose `submission.toml` says `primary = true`"}[rules.counts]
    lines = [MISSING[rules.missing], f"Of what a team hands in, {counts} is ranked."]
    if rules.dated and not (rules.phase or rules.per_day):
        lines.append("`date` must be there. Of surplus submissions those with the lowest numbers are taken, broken "
                     "ones among them.")
    return "\n".join(f"- {line}" for line in lines)


def _put(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, content.encode())


def _example(datasets: list[Dataset], home: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """The score files of made-up teams, from metrics that need no model; that of the last is broken."""
    models = Models(home, Choice(download=False))
    scorers = [Scorer(dataset, models, ScoreStore(folder / "ranking" / "scores")) for dataset in datasets]
    for team, names in TEAMS.items():
        for number, name in enumerate(names, start=1):
            chosen = metrics.choose(name)
            lines: list[tuple[str, str]] = []
            for scores in (scorer.scores(chosen.metric) for scorer in scorers):
                values = scores.columns[chosen.metric.card.columns[0]]  # an empty response gets the lowest
                filled = np.where(np.isfinite(values), values, np.nanmin(values)).tolist()
                lines += zip(scores.items, map(repr, filled), strict=True)
            if team == BROKEN:  # a line is twice there, one holds no number, one is infinite, one is of no item
                lines = [lines[0], lines[0], (lines[1][0], "n/a"), (lines[2][0], "1e400"), ("nobody_00000", "0.5"),
                         *lines[3:]]
            place = f"{FOLDER}/{team}/{number}"
            yield f"{place}/scores.csv", "dialogue_id,score\n" + "".join(f"{item},{score}\n" for item, score in lines)
            yield f"{place}/{submissions.ABOUT}", f'name = "{chosen.metric.card.title} by itself"\n'
    models.close()
