"""Which differences are real: a page per dataset with the matrix of every two columns, and one over all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from harness.results.rows import DatasetEntry, Results
from leaderboard.blocks.cells import LEARNED, number, shade
from leaderboard.blocks.grid import marked, metric_cell
from leaderboard.blocks.matrix import ALPHA, Matrix, Way, matrices
from leaderboard.blocks.pictures import matrix as picture
from leaderboard.blocks.tables import Block, Cell, Group, Heading, Page, Picture, Prose, Row, Section, Table
from leaderboard.model.boards import boards, names
from leaderboard.model.duels import WILLIAMS, Squares, duels, origins, shared_contexts, shares, told_apart
from leaderboard.model.index import Index, Key, make_index, origin_of
from leaderboard.model.slugs import slug, slugs

WAYS: dict[Way, str] = {
    ("spearman", "williams"): "Spearman, Williams’ test",
    ("spearman", "perm-both"): "Spearman, PERM-BOTH",
    ("pearson", "williams"): "Pearson, Williams’ test",
    ("pearson", "perm-both"): "Pearson, PERM-BOTH",
}
"""What is drawn; the table below a matrix is of the first and the second."""
PERMUTED: Way = ("spearman", "perm-both")
WORDS = {"real": "real data", "sample": "bundled sample"}

TESTS = (
    "Every two columns are tested on the items that both have scores for: is the difference of their correlations "
    "with people more than chance? Williams’ test takes into account that both are correlated with the same ratings "
    "and with each other. It is made for Pearson’s r of normal data and is an approximation for Spearman’s. PERM-BOTH, "
    "where the run has it, swaps the two columns’ standardised scores at random, all items of a context together.")
ADJUSTED = (
    "p is adjusted over all pairs of a quality. By Holm’s method the chance of a single false finding among them is at "
    "most 5 %; by that of Benjamini and Hochberg at most 5 % of what is found is false, on average. Not told apart "
    "does not mean equal: with few items only large differences are found. The adjusted p of every pair are in "
    "comparisons.csv.")
SHARED = (
    "Williams’ test and the intervals take items as independent. Where several responses answer one context they are "
    "not, and the test is too sure: in a simulation with five items a context and half of the variance that of the "
    "context it found a false difference in 12 to 13 % of cases in place of 5 %. PERM-BOTH left 5 to 6 %.")
MISSING = "This run has no PERM-BOTH; it is added by"
ADDS = "harness run --all --permutations 20000"
WHERE = "What the tests assume, and how the best columns do over all boards"
PEARSON = "The tables are of Spearman; those of Pearson are printed by"
PRINTS = "harness report --clusters --statistic pearson"
LARGEST = 150_000
"""Squares of matrices on a page, at about ten bytes each: it is to stay under 2 MB."""
NEARLY = 1.05
"""Items a context below which rows are as good as independent."""


def build(results: Results) -> tuple[Page, ...]:
    """Build the page over all boards and one per dataset; none where the run tested nothing."""
    index = make_index(results)
    squares = matrices(index)
    paths = {name: path.replace("dataset/", "significance/", 1) for name, path in index.dataset_paths.items()}
    tested = {place[0] for place in squares}
    pages = tuple(_page(index, entry, squares, paths[entry.name]) for entry in index.datasets if entry.name in tested)
    return (_overview(index, squares, paths), *pages) if pages else ()


def _overview(index: Index, squares: Squares, paths: Mapping[str, str]) -> Page:
    kinds = origins(index)
    firsts = [boards(index.results, name, origin)[0] for name, origin in names(index.results)]
    sections = [Section(f"board-{slug(board.name)}-{board.origin}",
                        f"{board.title}, {WORDS.get(board.origin, board.origin)}", (table,))
                for board in firsts if (table := duels(index, board, squares)) is not None]
    sections += [Section(f"qualities-{origin}", f"Quality by quality, {WORDS.get(origin, origin)}", (table,))
                 for origin in kinds if (table := told_apart(index, squares, paths, origin)) is not None]
    return Page(
        path="significance.html", title="Which differences are real?", label="Over all boards", order=3,
        lead="How often each of the best columns beats each other, and how many pairs can be told apart at all.",
        sections=(*sections, _reading(index)), group="Significance", detail="wins and losses; how to read the matrices",
        markdown=False, sample="sample" in kinds, mixed=len(kinds) > 1)


def _reading(index: Index) -> Section:
    shared = tuple(table for origin in origins(index) if (table := shared_contexts(index, origin)) is not None)
    permuted = any(row.test == "perm-both" for row in index.results.comparisons)
    return Section("reading", "How to read it, and what the tests assume", (
        Prose(TESTS), Prose(ADJUSTED), Prose(SHARED),
        *(() if permuted else (Prose(MISSING), Prose(ADDS, code=True))), *shared))


def _page(index: Index, entry: DatasetEntry, squares: Squares, path: str) -> Page:
    anchors = slugs(quality.name for quality in entry.qualities)
    own = {quality.name: squares[entry.name, quality.name] for quality in entry.qualities
           if (entry.name, quality.name) in squares}
    drawn = _drawn(own.values())
    sections = tuple(_quality(index, entry, name, anchors[name], ways, drawn) for name, ways in own.items())
    key = Section("key", "How to read the matrices", (
        Picture(picture.legend(), "A filled square: p < 0.05 by Holm; a bar: by Benjamini-Hochberg alone; empty: not "
                                  "told apart. Blue: the row is ahead; orange: it is behind."),
        Prose("Rows and columns are in the order of their correlations, numbered alike. The adjusted p of every pair "
              f"are in comparisons.csv. {PEARSON}"),
        Prose(PRINTS, code=True), Prose(WHERE, link="significance.html#reading"),
        *_warnings(index, entry, own.values(), drawn)))
    return Page(
        path=path, title=f"{entry.name}: which differences are real?", label=entry.name,
        lead=f"Every two columns on every quality of {entry.name}: who agrees better with people, and how sure is it?",
        sections=(key, *sections), group="Significance", detail=_detail(entry, len(sections)), order=3, markdown=False,
        sample=origin_of(entry) == "sample")


def _drawn(qualities: Collection[Mapping[Way, Matrix]]) -> tuple[Way, ...]:
    """The ways of testing whose matrices a page has room for: the first always, others while it is not too large."""
    drawn: list[Way] = []
    squares = 0
    for way in WAYS:
        squares += sum(len(ways[way].keys) ** 2 for ways in qualities if way in ways)
        if not drawn or squares <= LARGEST:
            drawn.append(way)
    return tuple(drawn)


def _detail(entry: DatasetEntry, count: int) -> str:
    return f"{count} {'quality' if count == 1 else 'qualities'}, {entry.items} items, {entry.origin}"


def _warnings(index: Index, entry: DatasetEntry, qualities: Collection[Mapping[Way, Matrix]],
              drawn: tuple[Way, ...]) -> Iterator[Prose]:
    """Say where a test finds too much, or can find nothing, and what has no picture."""
    if shares(entry) and entry.items >= NEARLY * entry.contexts:
        yield Prose(f"{entry.items} items share {entry.contexts} contexts: Williams’ test takes them as independent "
                    "and is too sure here; PERM-BOTH swaps contexts whole.")
    draws = index.results.run.options.get("permutations", 0)
    pairs = max((ways[PERMUTED].pairs for ways in qualities if PERMUTED in ways), default=0)
    if pairs and isinstance(draws, int) and pairs / (draws + 1) >= ALPHA:
        yield Prose(f"{draws} draws of PERM-BOTH are too few: over {pairs} pairs no p by Holm can be below "
                    f"{pairs / (draws + 1):.2g}.")
    if left := [WAYS[way] for way in WAYS if way not in drawn and any(way in ways for ways in qualities)]:
        yield Prose(f"Not drawn, since the page would grow too large: {'; '.join(left)}.")


def _quality(index: Index, entry: DatasetEntry, quality: str, anchor: str, ways: Mapping[Way, Matrix],
             drawn: tuple[Way, ...]) -> Section:
    blocks: list[Block] = [_picture(index, entry, ways[way], WAYS[way]) for way in drawn if way in ways]
    if WILLIAMS in ways:
        blocks.append(_table(index, entry, quality, anchor, ways))
    return Section(f"quality-{anchor}", quality, tuple(blocks))


def _picture(index: Index, entry: DatasetEntry, one: Matrix, title: str) -> Picture:
    labels = [_label(index, entry, key) for key in one.keys]
    count = len(labels) - 1
    told = [f"{label}: {number(value)}, ahead of {won}, behind {lost}, not told from {count - won - lost}"
            for label, value, won, lost in zip(labels, one.values, one.beats(), one.beaten(), strict=True)]
    items = str(one.most) if one.least == one.most else f"{one.least} to {one.most}"
    caption = (f"{title}: of {one.pairs} pairs {one.sure} are told apart by Holm, {one.likely} more by "
               f"Benjamini-Hochberg; {items} items.")
    alike = [label for label, level in zip(labels[1:], one.ahead[0][1:], strict=True) if level != 2]
    best = f"Not beaten by the best, {labels[0]}: {', '.join(alike[:10]) or 'none'}" + (
        f" and {len(alike) - 10} more." if len(alike) > 10 else ".")
    return Picture(picture.matrix(labels, told, one.ahead, f"{caption} {best}"), f"{caption} {best}", caption)


def _label(index: Index, entry: DatasetEntry, key: Key) -> str:
    return f"{index.labels[key]} {LEARNED}" if (key[0], entry.name) in index.learned else index.labels[key]


def _table(index: Index, entry: DatasetEntry, quality: str, anchor: str, ways: Mapping[Way, Matrix]) -> Table:
    """A row for each column: what it beats, what beats it, and what it cannot be told from."""
    one, other = ways[WILLIAMS], ways.get(PERMUTED)
    permuted = (Heading("Beats, PERM-BOTH", "number"), Heading("Beaten by, PERM-BOTH", "number")) if other else ()
    rows = _rows(index, entry, one, other)
    learned = any((key[0], entry.name) in index.learned for key in one.keys)
    return Table(
        anchor=f"table-{anchor}", caption=f"{quality}: what each column beats, by Williams’ test and Holm",
        headings=(Heading("", "rank"), Heading("Metric", "stub"), Heading("Spearman", "number"),
                  Heading("Beats", "number"), Heading("Beaten by", "number"), Heading("Not told from", "number"),
                  *permuted,
                  Heading("Letters", title="columns that share a letter cannot be told apart"),
                  Heading("Best it is not beaten by")),
        groups=(Group(tuple(rows)),), data=marked(index.data(origin_of(entry)), learned),
        sample=origin_of(entry) == "sample")


def _rows(index: Index, entry: DatasetEntry, one: Matrix, other: Matrix | None) -> Iterator[Row]:
    count, given = len(one.keys) - 1, one.letters()
    swapped = {key: pair for key, *pair in zip(other.keys, other.beats(), other.beaten(), strict=True)} if other else {}
    for place, (key, value, won, lost) in enumerate(zip(one.keys, one.values, one.beats(), one.beaten(), strict=True)):
        counts = (won, lost, count - won - lost, *swapped.get(key, ()))
        best = one.match(place)
        yield (Cell(str(place + 1), value=place + 1), _named(index, entry, key),
               Cell(number(value), value=value, shade=shade(value)), *(Cell(str(one), value=one) for one in counts),
               Cell(given[place]), Cell("itself" if best == place else _label(index, entry, one.keys[best])))


def _named(index: Index, entry: DatasetEntry, key: Key) -> Cell:
    cell = metric_cell(index, key)
    return Cell(_label(index, entry, key), link=cell.link, model=cell.model)
