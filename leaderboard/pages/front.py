"""The front page: short answers, how to add a metric, then the overall boards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from harness.results.rows import DatasetEntry, Results
from leaderboard.blocks.answers import answer_row, answer_table
from leaderboard.blocks.boards import board_table, width, with_costs
from leaderboard.blocks.tables import Page, Prose, Row, Section
from leaderboard.model import answers
from leaderboard.model.boards import BOARDS, Board, boards, names
from leaderboard.model.index import ORIGIN_TITLES, Index, has_value, make_index
from leaderboard.model.numbers import Rankable, TargetEntry, page_numbers
from leaderboard.model.slugs import slug

LEAD = ("How well automatic metrics agree with people about open-domain dialogue. "
        "Each number is a correlation of a metric's scores with human ratings; higher is better.")
ANSWERS_READ = (
    "Best: the column with the highest mean of Spearman's ρ. Next: the best column of another metric. Really better, "
    "over all qualities: whether the resampled ranks of the two differ significantly, so that they share no letter on "
    "the board. On one quality: whether Williams' test finds the best better than the next, p < 0.05 after Holm's "
    "adjustment over all pairs, on every dataset (yes) or on some (in part). Below: on how many. People: one rater "
    "against the mean of the others; a metric is compared with the mean of all raters, so it can exceed that. "
    "Ratings, under Needs: its weights were fitted on ratings, for each dataset on those of the others.")
ADD_YOURS = Section("yours", "Add your metric", (
    Prose("A metric is a class with a card and a method that gives each item a number. These commands write one, check "
          "it and put it on the boards:"),
    Prose("harness new metric exclaims\nharness check ./exclaims\nharness run --all --with ./exclaims", code=True)),
                    boxed=True)


@dataclass(frozen=True, slots=True)
class _Front:
    """The index, and the rated targets in the order of the page's numbers."""

    index: Index
    targets: tuple[TargetEntry, ...]

    def places(self, entries: Iterable[DatasetEntry]) -> tuple[int, ...]:
        """Return the places of the targets of datasets."""
        chosen = {entry.name for entry in entries}
        return tuple(place for place, (entry, _) in enumerate(self.targets) if entry.name in chosen)


def build(results: Results) -> tuple[Page, ...]:
    """Build the front page."""
    index, pairs = make_index(results), names(results)
    origins = {origin for _, origin in pairs}
    front = _Front(index, _targets(index))
    sections = (*_answers(front, pairs), *(_section(front, name, origin) for name, origin in pairs))
    nothing = Section("nothing", "No ranking", (Prose(why_nothing(results)),))
    return (Page(path="index.html", title="Which metric best agrees with people?", label="Overall", lead=LEAD,
                 sections=sections if pairs else (nothing,), order=0, legend=True, tested=False,
                 sample="sample" in origins, mixed=len(origins) > 1, data=_numbers(front, pairs)),)


def why_nothing(results: Results) -> str:
    """Say why there is no board: what was rated, and what was scored."""
    if (results.skips or results.failures) and not results.timings:
        return "No board: nothing could be scored. What was skipped or failed, and why, is listed below."
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs three rated items that differ. " + "; ".join(rated) + "."


def _targets(index: Index) -> tuple[TargetEntry, ...]:
    """List the rated targets that some column has a value on."""
    valued = {(row.dataset, row.quality) for row in index.results.correlations if has_value(row)}
    return tuple((entry, quality) for entry in index.datasets for quality in entry.qualities
                 if quality.rated and (entry.name, quality.name) in valued)


def _section(front: _Front, name: str, origin: str) -> Section:
    first, *others = boards(front.index.results, name, origin)
    main = with_costs(front.index, board_table(front.index, first, front.targets), width(first))
    tables = (replace(main, board=f"{name}-{origin}" if _rankable(front, first) else ""),
              *(board_table(front.index, board, folded=True) for board in others))
    return Section(f"{slug(name)}-{slug(origin)}", f"{BOARDS.get(name, name)}, {ORIGIN_TITLES.get(origin, origin)}",
                   tables)


def _rankable(front: _Front, board: Board) -> Rankable | None:
    """Give the scripts a board, if the targets that its ranks come from are those of its datasets."""
    places = front.places(front.index.on(board.origin, board.name))
    same = all(row.targets == len(places) for row in board.ranking.values())
    return Rankable(places, board.rules[0], board) if same else None


def _numbers(front: _Front, pairs: Iterable[tuple[str, str]]) -> str:
    firsts = [boards(front.index.results, name, origin)[0] for name, origin in pairs]
    rankable = {f"{board.name}-{board.origin}": known for board in firsts if (known := _rankable(front, board))}
    columns = sorted({column for board in firsts for column in board.columns})
    return page_numbers(front.index, front.targets, columns, rankable)


def _answers(front: _Front, pairs: list[tuple[str, str]]) -> tuple[Section, ...]:
    """Answer on real data where there is some."""
    if not pairs:
        return ()
    index, origin = front.index, min(origin for _, origin in pairs)  # real before sample
    single, shared = _by_quality(front, origin)
    groups = (("All qualities", _over_all(front, pairs, origin)), ("One quality", shared))
    tables = [answer_table(index, origin, "answers", "Best metric, and how far from people", groups)]
    if single:
        tables.append(answer_table(index, origin, "answers-single", "The same for qualities of one dataset",
                                   (("", single),), f"Qualities that only one dataset has: {len(single)}"))
    shown = tuple(table for table in tables if table.groups)
    return (Section("best", f"The short answer, {ORIGIN_TITLES.get(origin, origin)}", (*shown, Prose(ANSWERS_READ)),
                    boxed=True), ADD_YOURS)


def _over_all(front: _Front, pairs: list[tuple[str, str]], origin: str) -> list[Row]:
    """Answer for each board, and again without fitted columns where that leaves something out."""
    questions = []
    for name in (name for name, other in pairs if other == origin and "-" not in name):
        targets = tuple(front.targets[place] for place in front.places(front.index.on(origin, name)))
        question = answers.of_board(boards(front.index.results, name, origin)[0], targets,
                                    f"index.html#{slug(name)}-{slug(origin)}")
        without = answers.unfitted(front.index, question)
        questions += [question] if len(question.means) == len(without.means) else [question, without]
    return [row for question in questions if (row := answer_row(front.index, question))]


def _by_quality(front: _Front, origin: str) -> tuple[list[Row], list[Row]]:
    """Answer for each quality: those of one dataset, and those that several share."""
    columns = sorted(front.index.ranked_columns(origin))
    own = [front.targets[place] for place in front.places(front.index.on(origin))]
    rows: tuple[list[Row], list[Row]] = ([], [])
    for dimension, targets in answers.by_dimension(own).items():
        question = answers.of_quality(front.index, dimension, targets, columns)
        if row := answer_row(front.index, question):
            rows[len(question.datasets) > 1].append(row)
    return rows
