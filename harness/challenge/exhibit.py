"""A challenge as an exhibit: its tables, the picture of how alike submissions are, and how to read them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from harness.challenge import tables
from harness.challenge.outcome import Outcome
from harness.results.rows import Exhibit
from harness.studies._picture import Map, heat_maps

TREATED = {"sign": ("absolute", "the absolute value of each correlation counts"),
           "missing": ("zero", "a missing score counts 0"),
           "empty": ("drop", "items whose response is empty are left out")}
SHORT = 26
"""Characters of a label of the picture."""


def exhibit(outcome: Outcome) -> Exhibit:
    """Everything that is shown of a challenge beside the boards of its report."""
    return Exhibit(
        name="challenge", kind="challenge", title=outcome.rules.title, lead=_lead(outcome),
        command=f"harness challenge publish {shlex.quote(outcome.rules.folder.resolve().name)}",
        grids=tables.grids(outcome), pictures=tuple(_pictures(outcome)), remarks=tuple(_remarks(outcome)))


def _lead(outcome: Outcome) -> str:
    teams, entries = len(outcome.ranking.chosen), len(outcome.entries.entries)
    return (f"{teams} team{'s' * (teams != 1)} with {entries} submission{'s' * (entries != 1)} on "
            f"{len(outcome.ground.fields)} dataset{'s' * (len(outcome.ground.fields) != 1)} and "
            f"{len(outcome.ground.targets)} targets; {len(outcome.refused)} refused. Ranked by the "
            f"{tables.RULES[outcome.rules.rule]}; of each team its {outcome.rules.counts} submission counts.")


def _pictures(outcome: Outcome) -> Iterator[tuple[str, str]]:
    names, values = tables.matrix(outcome)
    if len(names) > 1:
        labels = tuple(name if len(name) <= SHORT else name[:SHORT - 1] + "…" for name in names)
        caption = ("Spearman between the scores of every two submissions, averaged over datasets: orange is −1, "
                   "white 0, blue 1. The numbers are in the table of correlations.")
        title = "How alike the submissions are"
        picture, _ = heat_maps(title, [Map(title, labels, values, caption)])
        yield picture, caption


def _remarks(outcome: Outcome) -> Iterator[str]:
    on = [words for name, (value, words) in TREATED.items() if getattr(outcome.rules, name) == value]
    yield ("Treatments in force: " + "; ".join(on) + "." if on else
           "None of the historic treatments is in force: signs are kept, missing scores never count 0, items with "
           "empty responses are not dropped.")
    if outcome.rules.draws:
        yield (f"The 95 % interval of a rank is over {outcome.rules.draws} draws of datasets and of their items, with "
               "the ranks of scores and ratings as they are among all items. Submissions that share a letter are not "
               "told apart by these draws; a cluster is parted from the next where every submission above is told "
               "apart from every one below.")
    yield ("Equal values share a rank. Baselines stand where their value places them and have no rank. A refused "
           "submission is left out before anything is computed, so it moves nobody.")
    if (split := outcome.ground.fields[0].dataset.card.split) != outcome.rules.rule:
        yield (f"The datasets are {split} sets, and the challenge ranks by the {outcome.rules.rule} rule: their board "
               f"is the one that the pages rank by that rule, under the heading of {outcome.rules.rule} sets.")
    if outcome.ground.ratings:
        yield ("The ratings are the organiser's: correlations and counts of them are shown, and no rating itself.")
