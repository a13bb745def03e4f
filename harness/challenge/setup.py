"""Write a new challenge: two phases on items of the bundled sample, from the templates beside this file.

An example also has score files of fictional teams; those of the first phase are already received.
"""

from __future__ import annotations

import datetime
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from benchmarks import registry
from benchmarks.formats import scorefile
from benchmarks.storage.files import write_atomically
from harness.challenge import ground, receipts, rulebook
from harness.challenge.rulebook import FILE, SEED_FILE, Rulebook
from harness.challenge.tables import describe_test, rule_of
from harness.errors import BadConfig
from harness.results.exhibits import csv_of
from harness.scoring.scorer import Scorer
from harness.statistics import statistic_title
from harness.statistics.estimates import full_name
from metrics import registry as metrics
from metrics.models.service import Choice, Models

TEMPLATE = "template.csv"
IGNORE = ".gitignore"
SAMPLES = {"talk-dev": "persona-usr", "talk-test": "topical-usr"}
"""The datasets of the challenge, each with the dataset of the bundled sample that supplies its items."""
PHASE, ELAPSED = datetime.timedelta(28), datetime.timedelta(14)
"""The length of a phase, and how much of the first phase has elapsed."""
TEAMS = {"team-a": ("length",), "team-b": ("distinct", "context-overlap"), "team-c": ("repetition",),
         "team-d": ("random",), "team-e": ("length",)}
BROKEN_TEAM = "team-e"


def init(folder: Path, home: Path, example: bool) -> tuple[str, ...]:
    """Write a new challenge, or the rules of a shipped one of that name; return the names of the files."""
    if (folder / FILE).exists():
        raise BadConfig(f"{folder}: already contains a challenge ({FILE})")
    if (shipped := rulebook.SHIPPED / folder.resolve().name / FILE).is_file():
        _write_files(folder, {FILE: shipped.read_text(encoding="utf-8")})
        _write_files(folder, {IGNORE: _gitignore(folder)})
        return FILE, IGNORE
    title = " ".join(folder.resolve().name.replace("-", " ").split()).capitalize() or "Challenge"
    now = datetime.datetime.now(datetime.UTC)
    today, opens = now.date(), now.date() - ELAPSED
    files = {**dict(_sample_data()), SEED_FILE: f"{secrets.token_hex(16)}\n",
             ".github/workflows/receive.yml": _shipped("receive.yml"),
             FILE: _shipped(
                 FILE, title="".join(sign for sign in title if sign.isprintable() and sign not in '"\\'),
                 opens=opens, closes=opens + PHASE, today=today, end=today + PHASE)}
    _write_files(folder, files)
    names = [*files, *template(folder, home, rulebook.phases(folder))]
    for team, name in _score_files(folder, home) if example else ():
        names.append(name)
        if "/development/" in name:
            receipts.receive(folder, home, folder / name, team, now=now)
    return tuple(names)


def template(folder: Path, home: Path, phases: Sequence[Rulebook]) -> tuple[str, ...]:
    """Write score templates and the page for participants of these phases, and .gitignore; return the files' names."""
    if not phases[0].accepts_submissions:
        raise BadConfig(f"{folder}: a challenge with only published results does not accept submissions")
    names = {rules.phase: f"template-{rules.phase}.csv" if rules.phase else TEMPLATE
             for rules in rulebook.phases(folder)}
    ranked_datasets = [(rules, [dataset for dataset in ground.load_datasets(rules, home)
                                if ground.ranked_qualities(rules, dataset)]) for rules in phases]
    page = _shipped("participants.md", phases=ranked_datasets, templates=names, rule_of=rule_of,
                    ranked_qualities=ground.ranked_qualities,
                    statistic=lambda rules: statistic_title(full_name(rules.statistic, rules.level)),
                    files={(rules.phase, part.card.name): os.path.relpath(dataset.file, folder)
                           for rules in phases for dataset in rules.custom
                           for part in ground.split(dataset.read(), rules.by)},
                    test="; or by ".join(dict.fromkeys(map(describe_test, phases))))
    files = {"README.md": page, **{
        names[rules.phase]: scorefile.template([item.id for dataset in datasets for item in dataset.items],
                                               ".csv").decode() for rules, datasets in ranked_datasets},
             IGNORE: _gitignore(folder)}
    for stale in {*folder.glob("template-*.csv"), folder / TEMPLATE} - {folder / name for name in names.values()}:
        stale.unlink(missing_ok=True)
    _write_files(folder, files)
    return tuple(files)


def _gitignore(folder: Path) -> str:
    """Return .gitignore: the organiser's lines, private files, files with ratings, and items of unopened phases."""
    def patterns(paths: Iterable[Path | None]) -> set[str]:
        return {re.sub(r"[\\*?\[#!]| (?= *$)", r"\\\g<0>", Path(os.path.relpath(path, folder)).as_posix())
                for path in paths if path}

    phases, today = rulebook.phases(folder), datetime.datetime.now(datetime.UTC).date()
    rated = patterns(file for rules in phases for file in (rules.ratings, *ground.with_ratings(rules)))
    items = patterns(dataset.file for rules in phases for dataset in rules.custom)
    public = patterns(dataset.file for rules in phases if (rules.opens or today) <= today
                      for dataset in rules.custom) - rated
    existing = (folder / IGNORE).read_text(encoding="utf-8").splitlines() if (folder / IGNORE).is_file() else []
    retained = [line for line in existing if line not in public]
    added = sorted(name for name in rated | (items - public) if not name.startswith("private/"))
    return "".join(f"{line}\n" for line in dict.fromkeys((*retained, "private/", "ranking/", *added)))


def _shipped(name: str, **values: object) -> str:
    """Return the content of a file beside this one, rendered as a template if there are values."""
    import jinja2

    text = resources.files("harness.challenge").joinpath(name).read_text(encoding="utf-8")
    return jinja2.Template(text, keep_trailing_newline=True).render(values) if values else text


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, content.encode())


def _sample_data() -> Iterator[tuple[str, str]]:
    """Yield the files of the sample's items, with new ids, and of its raters' votes."""
    votes = [("item", "quality", "vote")]
    for name, source in SAMPLES.items():
        dataset = registry.sample(registry.card(source))
        ids = {item.id: f"{name}_{index:03d}" for index, item in enumerate(dataset.items)}
        yield f"data/{name}.csv", csv_of([("item", "context", "response", "system"), *(
            (ids[item.id], "\n".join(turn.text for turn in item.context), item.response.text if item.response else "",
             item.system or "") for item in dataset.items)]).decode()
        votes += [(ids[rating.item], rating.quality, f"{vote:g}") for rating in dataset.ratings
                  if rating.quality in ("Natural", "Overall") for vote in rating.votes]
    yield "private/ratings.csv", csv_of(votes).decode()


def _score_files(folder: Path, home: Path) -> Iterator[tuple[str, str]]:
    """Write the score files of the fictional teams, with errors in those of BROKEN_TEAM; yield each team and file."""
    for rules in rulebook.phases(folder):
        (dataset,) = ground.load_datasets(rules, home)
        scorer = Scorer(dataset, Models(home, Choice(download=False)))
        for team, number, name in ((team, number, name) for team, names in TEAMS.items()
                                   for number, name in enumerate(names, start=1)):
            metric = metrics.choose(name).metric
            scores = scorer.scores(metric)
            values = scores.columns[metric.card.columns[0]].tolist()
            rows: list[tuple[str, object]] = list(zip(scores.items, values, strict=True))
            if team == BROKEN_TEAM:  # a repeated line, text instead of a number, an infinite number, an unknown item
                rows = [rows[0], rows[0], (rows[1][0], "n/a"), (rows[2][0], "1e400"), ("nobody_000", 0.5), *rows[3:]]
            file = f"in/{rules.phase}/{team}-{number}.csv"
            _write_files(folder, {file: csv_of([("dialogue_id", "score"), *rows]).decode()})
            yield team, file
