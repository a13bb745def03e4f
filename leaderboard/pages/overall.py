"""The front page: short answers, how to add a metric, then the overall boards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.results.rows import DatasetEntry, Results
from leaderboard.blocks import boardtable
from leaderboard.blocks.tables import Page, Prose, Row, Section, Table
from leaderboard.model import answers, numbers
from leaderboard.model.boards import BOARDS, Board, boards, names
from leaderboard.model.cost import Profile, beside, profiles
from leaderboard.model.index import Index, Key, make_index, there
from leaderboard.model.numbers import Ranked, Spot
from leaderboard.model.slugs import slug
from leaderboard.model.verdicts import Verdicts, verdicts
from leaderboard.pages.adding import PATH as ADDING
from leaderboard.pages.adding import SHORT, TYPED

LEAD = ("How well automatic metrics agree with people about open-domain dialogue. "
        "Each number is a correlation of a metric's scores with human ratings; higher is better.")
WORDS = {"sample": "bundled sample", "real": "real data"}
ANSWERED = ("Best: the column with the highest mean of Spearman's ρ. Next: the best column of another metric. Really "
            "better, over all qualities: whether the draws behind the ranks tell the two apart, so that they share no "
            "letter on the board. On one quality: whether Williams' test finds the best above the next, p < 0.05 after "
            "Holm's adjustment over all pairs, on every dataset (yes) or on some (in part). Below: on how many. "
            "People: one rater against the mean of the others; a metric is held against the mean of all, so it can "
            "pass that. Ratings, under Needs: its weights were fitted on ratings, each dataset's on those of "
            "the others.")


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What the parts of the page are drawn from; `spots` are the rated qualities in the order of the page's data."""

    found: Index
    profiles: Mapping[Key, Profile]
    verdicts: Verdicts
    spots: tuple[Spot, ...]

    def on(self, entries: Iterable[DatasetEntry]) -> tuple[int, ...]:
        """Name the cells of datasets by their places."""
        chosen = {entry.name for entry in entries}
        return tuple(place for place, (entry, _) in enumerate(self.spots) if entry.name in chosen)


def build(results: Results) -> tuple[Page, ...]:
    """Build the front page."""
    found, pairs = make_index(results), names(results)
    origins = {origin for _, origin in pairs}
    drawing = _Drawing(found, profiles(results), verdicts(results), _spots(found))
    parts = (*_answers(drawing, pairs), *(_section(drawing, name, origin) for name, origin in pairs))
    nothing = Section("nothing", "No ranking", (Prose(why_nothing(results)),))
    return (Page(path="index.html", title="Which metric best agrees with people?", label="Overall", lead=LEAD,
                 sections=parts if pairs else (nothing,), order=0, legend=True, tested=False,
                 sample="sample" in origins, mixed=len(origins) > 1, data=_numbers(drawing, pairs)),)


def why_nothing(results: Results) -> str:
    """Say why there is no board: what was rated, and what was scored."""
    if (results.skips or results.failures) and not results.timings:
        return "No board: nothing could be scored; below stands what was skipped or crashed, and why."
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs three rated items that differ. " + "; ".join(rated) + "."


def _spots(index: Index) -> tuple[Spot, ...]:
    """List the qualities of datasets that some column has a value on: the cells of the boards."""
    valued = {(row.dataset, row.quality) for row in index.results.correlations if there(row)}
    return tuple((entry, quality) for entry in index.datasets for quality in entry.qualities
                 if quality.rated and (entry.name, quality.name) in valued)


def _section(drawing: _Drawing, name: str, origin: str) -> Section:
    found = drawing.found
    first, *others = boards(found.results, name, origin)
    main = boardtable.table(found, first, drawing.spots)
    main = beside(main, boardtable.width(first), drawing.profiles, found.results)
    ranked = _ranked(drawing, first) is not None
    tables = (replace(main, board=f"{name}-{origin}" if ranked else ""),
              *(boardtable.table(found, board, folded=True) for board in others))
    return Section(f"{slug(name)}-{slug(origin)}", f"{BOARDS.get(name, name)}, {WORDS.get(origin, origin)}", tables)


def _ranked(drawing: _Drawing, board: Board) -> Ranked | None:
    """Give the scripts a board, if the cells that its ranks come from are those of its datasets."""
    cells = drawing.on(drawing.found.on(board.origin, board.name))
    same = all(row.cells == len(cells) for row in board.ranking.values())
    return Ranked(cells, board.rules[0], board) if same else None


def _numbers(drawing: _Drawing, pairs: Iterable[tuple[str, str]]) -> str:
    found = drawing.found
    firsts = [boards(found.results, name, origin)[0] for name, origin in pairs]
    ranked = {f"{board.name}-{board.origin}": known for board in firsts if (known := _ranked(drawing, board))}
    keys = sorted({key for board in firsts for key in board.keys})
    return numbers.data(found, drawing.spots, keys, ranked, drawing.profiles, drawing.verdicts) if ranked else ""


def _answers(drawing: _Drawing, pairs: list[tuple[str, str]]) -> tuple[Section, ...]:
    """Answer on real data where there is some."""
    if not pairs:
        return ()
    origin = min(origin for _, origin in pairs)  # real before sample
    asked = answers.Answers(drawing.found, drawing.profiles, drawing.verdicts)
    asked_of = [_board_question(drawing, name, other) for name, other in pairs if other == origin and "-" not in name]
    overall = [one for question in asked_of for one in _both(question, asked.unfitted(question))]
    single, shared = _by_quality(drawing, asked, origin)
    groups = (("All qualities", [row for question in overall if (row := asked.row(question))]), ("One quality", shared))
    tables = [_answer_table(drawing, origin, "answers", "Best metric, and how far from people", groups)]
    if single:
        folded = f"Qualities that one dataset alone asks for: {len(single)}"
        tables.append(_answer_table(drawing, origin, "answers-single", "The same for qualities of one dataset",
                                    (("", single),), folded=folded))
    known = tuple(table for table in tables if table.groups)
    return (Section("best", f"The short answer, {WORDS.get(origin, origin)}", (*known, Prose(ANSWERED)), boxed=True),
            YOURS)


def _both(question: answers.Question, unfitted: answers.Question) -> tuple[answers.Question, ...]:
    """Ask a second time only where that leaves something out."""
    return (question,) if len(question.means) == len(unfitted.means) else (question, unfitted)


def _answer_table(drawing: _Drawing, origin: str, anchor: str, caption: str,
                  groups: Sequence[tuple[str, Sequence[Row]]], folded: str = "") -> Table:
    return answers.table(anchor, caption, groups, drawing.found.data(origin), sample=origin == "sample", folded=folded)


def _by_quality(drawing: _Drawing, asked: answers.Answers, origin: str) -> tuple[list[Row], list[Row]]:
    """Answer for each quality: those of one dataset, and those that several share."""
    keys = sorted(drawing.found.standing_keys(origin))
    names = {entry.name for entry in drawing.found.on(origin)}
    spots = [spot for spot in drawing.spots if spot[0].name in names]
    rows: tuple[list[Row], list[Row]] = ([], [])
    for dimension, own in answers.by_dimension(spots).items():
        row = asked.row(answers.of_quality(drawing.found, dimension, own, keys))
        if row:
            rows[len({entry.name for entry, _ in own}) > 1].append(row)
    return rows


def _board_question(drawing: _Drawing, name: str, origin: str) -> answers.Question:
    board = boards(drawing.found.results, name, origin)[0]
    spots = tuple(drawing.spots[place] for place in drawing.on(drawing.found.on(origin, name)))
    return answers.of_board(board, spots, f"index.html#{slug(name)}-{slug(origin)}")


YOURS = Section("yours", "Add your metric", (
    Prose(SHORT), Prose(TYPED, code=True), Prose("The whole file, a package of your own, metrics of other libraries",
                                                 link=ADDING)), boxed=True)
