"""Which differences are significant: a page per dataset with matrices of every two columns, and one over all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from harness.results.rows import DatasetEntry, Results
from leaderboard.blocks.cells import FITTED, count_cell, marked, metric_cell, number, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.pictures import matrix as picture
from leaderboard.blocks.tables import Block, Cell, Heading, Page, Picture, Prose, Row, Section, Table
from leaderboard.blocks.wins import contexts_table, differing_table, items_range, shares_contexts, wins_table
from leaderboard.model.boards import boards, names
from leaderboard.model.index import ORIGIN_TITLES, Column, Index, make_index, origin_of, plural
from leaderboard.model.pairs import ALPHA, HOLM, WILLIAMS, Matrix, Pairs, Test, make_pairs
from leaderboard.model.slugs import slug, slugs

TESTS: dict[Test, str] = {
    ("spearman", "williams"): "Spearman, Williams’ test",
    ("spearman", "perm-both"): "Spearman, PERM-BOTH",
    ("pearson", "williams"): "Pearson, Williams’ test",
    ("pearson", "perm-both"): "Pearson, PERM-BOTH",
}
"""The matrices that are drawn; the table below a matrix is of the first and the second."""
PERMUTED: Test = ("spearman", "perm-both")

TESTS_READ = (
    "Every two columns are tested on the items that both have scores for: is the difference of their correlations "
    "with people more than chance? Williams’ test takes into account that both are correlated with the same ratings "
    "and with each other. It is made for Pearson’s r of normal data and is an approximation for Spearman’s. PERM-BOTH, "
    "where the run has it, swaps the two columns’ standardised scores at random, all items of a context together.")
ADJUSTED = (
    "p is adjusted over all pairs of a quality. By Holm’s method the chance of a single false finding among them is at "
    "most 5 %; by that of Benjamini and Hochberg at most 5 % of the findings are false, on average. Undecided does not "
    "mean equal: with few items only large differences are significant. The adjusted p of every pair are in "
    "comparisons.csv.")
SHARED = (
    "Williams’ test and the intervals take items as independent. Where several responses answer one context they are "
    "not, and the test is too sure: in a simulation with five items per context and half of the variance from the "
    "context it reported a false difference in 12 to 13 % of cases instead of 5 %. PERM-BOTH stayed at 5 to 6 %.")
MISSING = "This run has no PERM-BOTH; it is added by"
ADDS = "harness run --all --permutations 20000"
WHERE = "What the tests assume, and how the best columns do over all boards"
PEARSON = "The tables are of Spearman; those of Pearson are printed by"
PRINTS = "harness report --clusters --statistic pearson"
LARGEST = 150_000
"""Squares of matrices on a page, at about ten bytes each: a page should stay under 2 MB."""
INDEPENDENT = 1.05
"""Items per context below which rows are as good as independent."""


def build(results: Results) -> tuple[Page, ...]:
    """Build the page over all boards and one per dataset; none where the run tested nothing."""
    index, pairs = make_index(results), make_pairs(results)
    paths = {name: path.replace("dataset/", "significance/", 1) for name, path in index.dataset_paths.items()}
    tested = {dataset for dataset, _ in pairs.matrices}
    pages = tuple(_page(index, entry, pairs, paths[entry.name]) for entry in index.datasets if entry.name in tested)
    return (_overview(index, pairs, paths), *pages) if pages else ()


def _overview(index: Index, pairs: Pairs, paths: Mapping[str, str]) -> Page:
    origins = sorted({origin_of(entry) for entry in index.datasets})
    firsts = [boards(index.results, name, origin)[0] for name, origin in names(index.results)]
    sections = [Section(f"board-{slug(board.name)}-{board.origin}",
                        f"{board.title}, {ORIGIN_TITLES.get(board.origin, board.origin)}", (table,))
                for board in firsts if (table := wins_table(index, board, pairs)) is not None]
    sections += [Section(f"qualities-{origin}", f"Quality by quality, {ORIGIN_TITLES.get(origin, origin)}", (table,))
                 for origin in origins if (table := differing_table(index, pairs, paths, origin)) is not None]
    shared = tuple(table for origin in origins if (table := contexts_table(index, origin)) is not None)
    permuted = any(row.test == PERMUTED[1] for row in index.results.comparisons)
    reading = Section("reading", "How to read it, and what the tests assume", (
        Prose(TESTS_READ), Prose(ADJUSTED), Prose(SHARED),
        *(() if permuted else (Prose(MISSING), Prose(ADDS, code=True))), *shared))
    return Page(
        path="significance.html", title="Which differences are significant?", label="Over all boards", order=3,
        lead="How often each of the best columns beats each other, and how many pairs differ at all.",
        sections=(*sections, reading), group="Significance", detail="wins and losses; how to read the matrices",
        markdown=False, sample="sample" in origins, mixed=len(origins) > 1)


def _page(index: Index, entry: DatasetEntry, pairs: Pairs, path: str) -> Page:
    anchors = slugs(quality.name for quality in entry.qualities)
    own = {quality.name: pairs.matrices[entry.name, quality.name] for quality in entry.qualities
           if (entry.name, quality.name) in pairs.matrices}
    drawn = _drawn(own.values())
    sections = tuple(_quality(index, entry, name, anchors[name], tests, drawn) for name, tests in own.items())
    key = Section("key", "How to read the matrices", (
        Picture(picture.legend(), "A filled square: p < 0.05 by Holm; a bar: by Benjamini-Hochberg alone; empty: "
                                  "undecided. Blue: the row is better; orange: it is worse."),
        Prose("Rows and columns are in the order of their correlations, numbered alike. The adjusted p of every pair "
              f"are in comparisons.csv. {PEARSON}"),
        Prose(PRINTS, code=True), Prose(WHERE, link="significance.html#reading"),
        *_warnings(index, entry, own.values(), drawn)))
    return Page(
        path=path, title=f"{entry.name}: which differences are significant?", label=entry.name,
        lead=f"Every two columns on every quality of {entry.name}: which agrees better with people, and how sure is "
             "that?",
        sections=(key, *sections), group="Significance", order=3, markdown=False,
        detail=f"{plural(len(sections), 'quality', 'qualities')}, {entry.items} items, {entry.origin}",
        sample=origin_of(entry) == "sample")


def _drawn(qualities: Collection[Mapping[Test, Matrix]]) -> tuple[Test, ...]:
    """Choose the tests whose matrices a page has room for: the first always, others while the page is not too large."""
    drawn: list[Test] = []
    squares = 0
    for test in TESTS:
        squares += sum(len(tests[test].columns) ** 2 for tests in qualities if test in tests)
        if not drawn or squares <= LARGEST:
            drawn.append(test)
    return tuple(drawn)


def _warnings(index: Index, entry: DatasetEntry, qualities: Collection[Mapping[Test, Matrix]],
              drawn: tuple[Test, ...]) -> Iterator[Prose]:
    """Say where a test reports too much, or can report nothing, and what has no picture."""
    if shares_contexts(entry) and entry.items >= INDEPENDENT * entry.contexts:
        yield Prose(f"{entry.items} items share {entry.contexts} contexts: Williams’ test takes them as independent "
                    "and is too sure here; PERM-BOTH swaps contexts whole.")
    draws = index.results.run.options.get("permutations", 0)
    pairs = max((tests[PERMUTED].pairs for tests in qualities if PERMUTED in tests), default=0)
    if pairs and isinstance(draws, int) and pairs / (draws + 1) >= ALPHA:
        yield Prose(f"{draws} draws of PERM-BOTH are too few: over {pairs} pairs no p by Holm can be below "
                    f"{pairs / (draws + 1):.2g}.")
    if left := [TESTS[test] for test in TESTS if test not in drawn and any(test in tests for tests in qualities)]:
        yield Prose(f"Not drawn, since the page would grow too large: {'; '.join(left)}.")


def _quality(index: Index, entry: DatasetEntry, quality: str, anchor: str, tests: Mapping[Test, Matrix],
             drawn: tuple[Test, ...]) -> Section:
    blocks: list[Block] = [_picture(index, entry, tests[test], TESTS[test]) for test in drawn if test in tests]
    if WILLIAMS in tests:
        blocks.append(_table(index, entry, quality, anchor, tests))
    return Section(f"quality-{anchor}", quality, tuple(blocks))


def _picture(index: Index, entry: DatasetEntry, matrix: Matrix, title: str) -> Picture:
    labels = [_label(index, entry, column) for column in matrix.columns]
    others = len(labels) - 1
    titles = [f"{label}: {number(value)}, beats {won}, loses to {lost}, undecided {others - won - lost}"
              for label, value, won, lost
              in zip(labels, matrix.values, matrix.wins(), matrix.losses(), strict=True)]
    caption = (f"{title}: of {matrix.pairs} pairs {matrix.by_holm} differ significantly by Holm, "
               f"{matrix.by_benjamini_hochberg} more by Benjamini-Hochberg; {items_range(matrix, ' to ')} items.")
    as_good = [label for label, level in zip(labels[1:], matrix.levels[0][1:], strict=True) if level != HOLM]
    best = f"Not beaten by the best, {labels[0]}: {', '.join(as_good[:10]) or 'none'}" + (
        f" and {len(as_good) - 10} more." if len(as_good) > 10 else ".")
    return Picture(picture.matrix(labels, titles, matrix.levels, f"{caption} {best}"), f"{caption} {best}", caption)


def _label(index: Index, entry: DatasetEntry, column: Column) -> str:
    label = index.labels[column]
    return f"{label} {FITTED}" if index.is_fitted(column, entry.name) else label


def _table(index: Index, entry: DatasetEntry, quality: str, anchor: str, tests: Mapping[Test, Matrix]) -> Table:
    """Draw a row for each column: how many it beats, how many beat it, and how many are undecided."""
    williams, permuted = tests[WILLIAMS], tests.get(PERMUTED)
    headings = (Heading("", "rank"), Heading("Metric", "stub"), Heading("Spearman", "number"),
                Heading("Beats", "number"), Heading("Loses to", "number"), Heading("Undecided", "number"),
                *((Heading("Beats, PERM-BOTH", "number"), Heading("Loses to, PERM-BOTH", "number"))
                  if permuted else ()),
                Heading("Letters", title="columns that share a letter do not differ significantly"),
                Heading("Best that does not beat it"))
    table = table_of(index, origin_of(entry), f"table-{anchor}",
                     f"{quality}: what each column beats, by Williams’ test and Holm", headings,
                     _rows(index, entry, williams, permuted))
    return replace(table, data=marked(table.data, any(index.is_fitted(column, entry.name)
                                                      for column in williams.columns)))


def _rows(index: Index, entry: DatasetEntry, matrix: Matrix, permuted: Matrix | None) -> Iterator[Row]:
    others, letters = len(matrix.columns) - 1, matrix.letters()
    swapped = {column: pair for column, *pair in zip(permuted.columns, permuted.wins(), permuted.losses(), strict=True)
               } if permuted else {}
    for place, (column, value, won, lost) in enumerate(
            zip(matrix.columns, matrix.values, matrix.wins(), matrix.losses(), strict=True)):
        counts = (won, lost, others - won - lost, *swapped.get(column, ()))
        best = matrix.best_match(place)
        name = replace(metric_cell(index, column), text=_label(index, entry, column), key=("", ""))
        yield (count_cell(place + 1), name, number_cell(value, shaded=True), *map(count_cell, counts),
               Cell(letters[place]),
               Cell("itself" if best == place else _label(index, entry, matrix.columns[best])))
