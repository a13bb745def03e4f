"""Which differences are significant: a page per dataset with matrices of every two columns, and one over all.

Counted over targets is Williams' test of Spearman's correlations, significant by Holm's method among all pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from harness.results.rows import DatasetEntry, Results
from leaderboard.blocks import matrix as picture
from leaderboard.blocks.cells import FITTED, count_cell, marked, metric_cell, number, number_cell, shade
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Block, Cell, Heading, Page, Picture, Prose, Row, Section, Table
from leaderboard.model.boards import Board, boards, names
from leaderboard.model.index import ORIGIN_TITLES, Column, Index, make_index, origin_of, plural, slug, slugs
from leaderboard.model.pairs import ALPHA, HOLM, WILLIAMS, Matrix, Pairs, Test, make_pairs

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
TOP = 15
"""How many columns of a board are compared with each other."""


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
                for board in firsts if (table := _wins(index, board, pairs)) is not None]
    sections += [Section(f"qualities-{origin}", f"Quality by quality, {ORIGIN_TITLES.get(origin, origin)}", (table,))
                 for origin in origins if (table := _differing(index, pairs, paths, origin)).rows]
    shared = tuple(table for origin in origins if (table := _contexts(index, origin)).rows)
    permuted = any(test == PERMUTED[1] for tests in pairs.matrices.values() for _, test in tests)
    reading = Section("reading", "How to read it, and what the tests assume", (
        Prose(TESTS_READ), Prose(ADJUSTED), Prose(SHARED),
        *(() if permuted else (Prose(MISSING), Prose(ADDS, code=True))), *shared))
    return Page(
        path="significance.html", title="Which differences are significant?", label="Over all boards", order=3,
        lead="How often each of the best columns beats each other, and how many pairs differ at all.",
        sections=(*sections, reading), group="Significance", detail="wins and losses; how to read the matrices",
        markdown=False, sample="sample" in origins)


def _wins(index: Index, board: Board, pairs: Pairs) -> Table | None:
    """Draw the best columns of a board against each other: on how many targets each wins and loses."""
    ranked = board.ranked
    columns = list(ranked)[:TOP]
    targets = [(entry.name, quality.name) for entry in index.on(board.origin, board.name)
               for quality in entry.qualities]
    tested = [matrix for target in targets if (matrix := pairs.matrix(target)) is not None]
    if len(columns) < 2 or not tested:
        return None
    won = {(first, second): sum(matrix.beats(first, second) for matrix in tested)
           for first in columns for second in columns}

    def cell(row: Column, column: Column) -> Cell:
        if row == column:
            return Cell("·", title="itself")
        wins, losses = won[row, column], won[column, row]
        title = (f"{index.labels[row]} beats {index.labels[column]} on {wins} of {len(tested)} qualities and "
                 f"loses on {losses}")
        return Cell(f"{wins}–{losses}", value=wins - losses, title=title, shade=shade((wins - losses) / len(tested)))

    rows = []
    for column in columns:
        wins, losses = (sum(won[pair] for pair in won if pair[side] == column) for side in (0, 1))
        rows.append((count_cell(ranked[column].rank or 0), metric_cell(index, column),
                     Cell(f"{wins}–{losses}", value=wins - losses), *(cell(column, other) for other in columns)))
    headings = (Heading("Rank", "rank"), Heading("Metric", "stub"),
                Heading("All", "number", title="wins and losses against all in this table"),
                *(Heading(index.labels[column], "number") for column in columns))
    caption = (f"{board.title}: wins–losses of the row against the column, on "
               f"{plural(len(tested), 'quality', 'qualities')}")
    return table_of(index, board.origin, f"wins-{slug(board.name)}-{slug(board.origin)}", caption, headings, rows,
                    board.name)


def _differing(index: Index, pairs: Pairs, paths: Mapping[str, str], origin: str) -> Table:
    """Draw a row for each target: how many pairs differ, what is best, and how many columns are as good."""
    rows = []
    for entry in index.on(origin):
        for quality in entry.qualities:
            if (matrix := pairs.matrix((entry.name, quality.name))) is not None:
                share = matrix.by_holm / matrix.pairs
                rows.append((
                    Cell(entry.name, link=paths[entry.name]), Cell(quality.name),
                    count_cell(matrix.most_items)._replace(text=_items(matrix, "–")), count_cell(len(matrix.columns)),
                    count_cell(matrix.pairs), Cell(f"{share:.0%}".replace("%", " %"), value=round(share, 4),
                                                   title=f"{matrix.by_holm} pairs"),
                    metric_cell(index, matrix.columns[0]), number_cell(matrix.values[0]),
                    count_cell(int((matrix.levels[0] != HOLM).sum()) - 1)))
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Items", "number"),
                Heading("Columns", "number"), Heading("Pairs", "number"),
                Heading("Significant", "number", title="of the pairs, p < 0.05 by Holm"), Heading("Best"),
                Heading("Spearman", "number"),
                Heading("As good as the best", "number", title="columns that the best does not beat by Holm, without "
                                                               "the best itself"))
    caption = "How many pairs differ significantly, quality by quality"
    return table_of(index, origin, f"significant-{slug(origin)}", caption, headings, rows)


def _contexts(index: Index, origin: str) -> Table:
    """Draw the datasets in which several items share a context, so that rows are not independent."""
    rows = [(Cell(entry.name, link=index.dataset_paths[entry.name]), count_cell(entry.items),
             count_cell(entry.contexts),
             Cell(f"{entry.items / entry.contexts:.1f}", value=entry.items / entry.contexts))
            for entry in index.on(origin) if 0 < entry.contexts < entry.items]
    headings = (Heading("Dataset", "stub"), Heading("Items", "number"), Heading("Contexts", "number"),
                Heading("Items per context", "number"))
    caption = "Datasets in which items share contexts"
    return table_of(index, origin, f"contexts-{slug(origin)}", caption, headings, rows)


def _page(index: Index, entry: DatasetEntry, pairs: Pairs, path: str) -> Page:
    anchors = slugs(quality.name for quality in entry.qualities)
    own = {quality.name: pairs.matrices[entry.name, quality.name] for quality in entry.qualities
           if (entry.name, quality.name) in pairs.matrices}
    drawn = _drawn(own.values())
    sections = tuple(Section(f"quality-{anchors[name]}", name,
                             tuple(_blocks(index, entry, f"table-{anchors[name]}", name, tests, drawn)))
                     for name, tests in own.items())
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
    if 0 < entry.contexts < entry.items and entry.items >= INDEPENDENT * entry.contexts:
        yield Prose(f"{entry.items} items share {entry.contexts} contexts: Williams’ test takes them as independent "
                    "and is too sure here; PERM-BOTH swaps contexts whole.")
    draws = index.results.run.options.get("permutations", 0)
    pairs = max((tests[PERMUTED].pairs for tests in qualities if PERMUTED in tests), default=0)
    if pairs and isinstance(draws, int) and pairs / (draws + 1) >= ALPHA:
        yield Prose(f"{draws} draws of PERM-BOTH are too few: over {pairs} pairs no p by Holm can be below "
                    f"{pairs / (draws + 1):.2g}.")
    if left := [TESTS[test] for test in TESTS if test not in drawn and any(test in tests for tests in qualities)]:
        yield Prose(f"Not drawn, since the page would grow too large: {'; '.join(left)}.")


def _blocks(index: Index, entry: DatasetEntry, anchor: str, quality: str, tests: Mapping[Test, Matrix],
            drawn: Iterable[Test]) -> Iterator[Block]:
    """Draw the matrices of a quality, and a row for each column: how many it beats, how many beat it."""
    yield from (_picture(index, entry, tests[test], TESTS[test]) for test in drawn if test in tests)
    if WILLIAMS not in tests:
        return
    williams, permuted = tests[WILLIAMS], tests.get(PERMUTED)
    headings = (Heading("", "rank"), Heading("Metric", "stub"), Heading("Spearman", "number"),
                Heading("Beats", "number"), Heading("Loses to", "number"), Heading("Undecided", "number"),
                *((Heading("Beats, PERM-BOTH", "number"), Heading("Loses to, PERM-BOTH", "number"))
                  if permuted else ()),
                Heading("Letters", title="columns that share a letter do not differ significantly"),
                Heading("Best that does not beat it"))
    table = table_of(index, origin_of(entry), anchor, f"{quality}: what each column beats, by Williams’ test and Holm",
                     headings, _rows(index, entry, williams, permuted))
    fitted = any(index.is_fitted(column, entry.name) for column in williams.columns)
    yield replace(table, data=marked(table.data, fitted))


def _rows(index: Index, entry: DatasetEntry, matrix: Matrix, permuted: Matrix | None) -> Iterator[Row]:
    others, letters = len(matrix.columns) - 1, matrix.letters()
    swapped = {column: pair for column, *pair in zip(permuted.columns, permuted.wins(), permuted.losses(), strict=True)
               } if permuted else {}
    for place, (column, value, won, lost) in enumerate(
            zip(matrix.columns, matrix.values, matrix.wins(), matrix.losses(), strict=True)):
        counts = (won, lost, others - won - lost, *swapped.get(column, ()))
        best = matrix.best_match(place)
        name = metric_cell(index, column)._replace(text=_label(index, entry, column), key=("", ""))
        yield (count_cell(place + 1), name, number_cell(value, shaded=True), *map(count_cell, counts),
               Cell(letters[place]),
               Cell("itself" if best == place else _label(index, entry, matrix.columns[best])))


def _picture(index: Index, entry: DatasetEntry, matrix: Matrix, title: str) -> Picture:
    labels = [_label(index, entry, column) for column in matrix.columns]
    others = len(labels) - 1
    titles = [f"{label}: {number(value)}, beats {won}, loses to {lost}, undecided {others - won - lost}"
              for label, value, won, lost
              in zip(labels, matrix.values, matrix.wins(), matrix.losses(), strict=True)]
    caption = (f"{title}: of {matrix.pairs} pairs {matrix.by_holm} differ significantly by Holm, "
               f"{matrix.by_benjamini_hochberg} more by Benjamini-Hochberg; {_items(matrix, ' to ')} items.")
    as_good = [label for label, level in zip(labels[1:], matrix.levels[0][1:], strict=True) if level != HOLM]
    best = f"Not beaten by the best, {labels[0]}: {', '.join(as_good[:10]) or 'none'}" + (
        f" and {len(as_good) - 10} more." if len(as_good) > 10 else ".")
    return Picture(picture.matrix(labels, titles, matrix.levels, f"{caption} {best}"), f"{caption} {best}", caption)


def _label(index: Index, entry: DatasetEntry, column: Column) -> str:
    label = index.labels[column]
    return f"{label} {FITTED}" if index.is_fitted(column, entry.name) else label


def _items(matrix: Matrix, joined: str) -> str:
    """Write how many items the comparisons are over: one number, or the least and the most."""
    least, most = matrix.least_items, matrix.most_items
    return str(most) if least == most else f"{least}{joined}{most}"
