"""No two parts of a report contradict each other on which of two columns agrees better with people."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from harness.cli import main
from harness.commands._comparisons import Selection, cluster_tables, lead_sentences
from harness.results import files
from harness.results.item_scores import labels
from harness.results.pooled import Pool
from harness.results.rows import ColumnKey, Results, Target
from leaderboard.model.index import make_index
from leaderboard.model.numbers import columns_of, numbers
from leaderboard.model.questions import answers, questions
from tests.suite_run import SuiteRun

LETTER = re.compile("[a-zA-Z]'*")
Verdict = tuple[str, Sequence[Target], str, ColumnKey, ColumnKey, bool]
"""The part of a report, the targets and the rule of their mean, two columns, and True if they differ significantly."""


def lettered(letters: dict[ColumnKey, str]) -> Iterator[tuple[ColumnKey, ColumnKey, bool]]:
    for first, second in combinations([column for column, of_column in letters.items() if of_column], 2):
        yield first, second, not set(LETTER.findall(letters[first])) & set(LETTER.findall(letters[second]))


def of_targets(results: Results) -> Iterator[Verdict]:
    """Yield the verdicts of tables, clusters, decisions and scripts on single targets."""
    index, chosen = make_index(results), Selection(results, frozenset(
        (row.dataset, row.quality) for row in results.comparisons))
    clusters = dict(zip(chosen.correlations(), cluster_tables(chosen), strict=True))
    named = {name: dict(zip(labels(sorted(columns)), sorted(columns), strict=True))
             for name, columns in index.columns.items()}
    script = json.loads(numbers(results).decode().removeprefix("const Numbers = ").rstrip(";\n"))
    places = [(script["datasets"][target["dataset"]], target["quality"]) for target in script["targets"]]
    for table in results.comparisons:
        target = table.dataset, table.quality
        for row in table:
            first, second = named[table.dataset][row.better], named[table.dataset][row.worse]
            yield "table", [target], "", first, second, row.bh < 0.05
        ranked = [(row.metric, row.column) for row in chosen.correlations()[target].values()]
        lines = clusters[target].partition("---\n")[2].splitlines()[:len(ranked)]
        shown = [line.split()[-1] if re.search("[a-zA-Z]'*$", line) else "" for line in lines]  # unless cut off
        for pair in lettered(dict(zip(ranked, shown, strict=True))):
            yield "clusters", [target], "", *pair
        tied = {key: index.decisions[(*target, *key)].tied_first for key in ranked}
        first = next((key for key in ranked if tied[key]), None)
        for key in ranked if first else ():
            if key != first and not index.is_fitted(key, target[0]):
                yield "tied with the first", [target], "", first, key, not tied[key]
        for (first, second), code in zip(combinations(columns_of(results), 2), script["tests"]["perm-both"][
                places.index(target)] if target in places else (), strict=False):
            if code != "0":
                yield "script", [target], "", first, second, code != "1"


def of_boards(results: Results) -> Iterator[Verdict]:
    """Yield the verdicts of letters, and of columns tied with the first."""
    pool = Pool.of(results)
    for board, origin, rule in dict.fromkeys((row.board, row.origin, row.rule) for row in results.ranking):
        targets = pool.targets(board, origin)
        rows = [row for row in results.ranking if (row.board, row.origin, row.rule, row.statistic) == (
            board, origin, rule, "spearman") and row.complete]
        for pair in lettered({(row.metric, row.column): row.letters for row in rows}):
            yield "letters", targets, rule, *pair
        named = {name: (row.metric, row.column) for name, row in zip(
            labels([(row.metric, row.column) for row in rows]), rows, strict=True)}
        for place in results.firmness:
            if (place.board, place.origin, place.rule, place.among) == (board, origin, rule, "all"):
                for name, key in named.items():
                    if key != (place.metric, place.column):
                        yield ("tied", targets, rule, (place.metric, place.column), key, name not in place.tied)


def of_leads(results: Results) -> Iterator[Verdict]:
    """Yield the verdicts of answers and lines of leads."""
    pool = Pool.of(results)
    for question in questions(results):
        for answer in answers(results)(question.name).values():
            if answer.lead and answer.following:
                yield ("answer", question.targets, question.rule, answer.best, answer.following,
                       answer.lead.difference.established)
    for _, line in lead_sentences(Selection(results, frozenset(pool.targets()))):
        lead = json.loads(line)
        named = dict(zip(labels(list(pool.columns)), pool.columns, strict=True))
        rule = "test" if lead["split"] == "test" and lead["dimension"] == "all" else "dev"
        yield ("lead", [(dataset, quality) for dataset, quality in lead["targets"]], rule,
               named[lead["better"]], named[lead["worse"]], lead["established"])


def contradictions(verdicts: Iterable[Verdict]) -> tuple[set[str], int, list[object]]:
    """Return the parts of the report, the number of pairs judged by several, and the pairs on which they disagree."""
    known: dict[object, dict[str, bool]] = {}
    for part, targets, rule, first, second, differs in verdicts:
        key = (frozenset(targets), rule if len(targets) > 1 else "", frozenset((first, second)))
        known.setdefault(key, {}).setdefault(part, bool(differs))
        if known[key][part] != differs:
            known[key][f"{part}, again"] = bool(differs)
    return ({part for parts in known.values() for part in parts}, sum(len(parts) > 1 for parts in known.values()),
            [(key, parts) for key, parts in known.items() if len(set(parts.values())) > 1])


def check(results: Results, least: int) -> None:
    parts, shared, differing = contradictions([*of_targets(results), *of_boards(results), *of_leads(results)])
    assert differing == []
    assert parts >= {"table", "clusters", "tied with the first", "script", "letters", "tied", "answer", "lead"}
    assert shared >= least


def test_no_verdicts_on_the_sample_contradict_each_other(suite_run: SuiteRun) -> None:
    check(suite_run.results, 100)


@pytest.mark.slow
def test_no_verdicts_on_ten_real_sets_contradict_each_other(real_data: Path, tmp_path: Path) -> None:
    assert main(["import", str(real_data / "human_evaluation_data")]) == 0
    assert main(["run", "--all", "--data", "real", "--split", "dev", "--draws", "50", "--examples", "0",
                 "--out", str(tmp_path)]) == 0
    check(files.read(tmp_path / "report"), 100_000)
