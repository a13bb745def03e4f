"""The front page: short answers, how to add a metric, then the overall boards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.results.rows import DatasetEntry, Results
from leaderboard.blocks import answers
from leaderboard.blocks.boards import board_table, with_costs
from leaderboard.blocks.tables import Page, Prose, Row, Section
from leaderboard.model.boards import BOARDS, Board, boards, names
from leaderboard.model.index import ORIGIN_TITLES, Index, has_value, make_index, slug
from leaderboard.model.numbers import Rankable, TargetEntry, page_numbers

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


def build(results: Results) -> tuple[Page, ...]:
    """Build the front page."""
    index, pairs = make_index(results), names(results)
    valued = {(row.dataset, row.quality) for row in results.correlations if has_value(row)}
    targets = tuple((entry, quality) for entry in index.datasets for quality in entry.qualities
                    if quality.rated and (entry.name, quality.name) in valued)
    every = [boards(results, name, origin) for name, origin in pairs]
    rankable = {f"{board.name}-{board.origin}": known for board, *_ in every
                if (known := _rankable(index, targets, board))}
    columns = sorted({column for board, *_ in every for column in board.columns})
    sections = (*_answers(index, targets, pairs), ADD_YOURS,
                *(_section(index, targets, own, rankable) for own in every))
    origins = {origin for _, origin in pairs}
    nothing = Section("nothing", "No ranking", (Prose(why_nothing(results)),))
    return (Page(path="index.html", title="Which metric best agrees with people?", label="Overall", lead=LEAD,
                 sections=sections if pairs else (nothing,), order=0, legend=True, tested=False,
                 sample="sample" in origins,
                 data=page_numbers(index, targets, columns, rankable)),)


def why_nothing(results: Results) -> str:
    """Say why there is no board: what was rated, and what was scored."""
    if (results.skips or results.failures) and not results.timings:
        return "No board: nothing could be scored. What was skipped or failed, and why, is listed below."
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs three rated items that differ. " + "; ".join(rated) + "."


def _section(index: Index, targets: Sequence[TargetEntry], every: Sequence[Board],
             rankable: dict[str, Rankable]) -> Section:
    """Draw the boards of a split and an origin: the first statistic with costs, the others folded."""
    first, *others = every
    name, origin = first.name, first.origin
    main = with_costs(index, board_table(index, first, targets), 2 + len(first.rules) + first.has_letters)
    board = f"{name}-{origin}"
    tables = (replace(main, board=board if board in rankable else ""),
              *(board_table(index, other, folded=True) for other in others))
    return Section(f"{slug(name)}-{slug(origin)}", f"{BOARDS.get(name, name)}, {ORIGIN_TITLES.get(origin, origin)}",
                   tables)


def _rankable(index: Index, targets: Sequence[TargetEntry], board: Board) -> Rankable | None:
    """Give the scripts a board, if the targets that its ranks come from are those of its datasets."""
    datasets = index.on(board.origin, board.name)
    places = tuple(place for place, (entry, _) in enumerate(targets) if entry in datasets)
    same = all(row.targets == len(places) for row in board.ranking.values())
    return Rankable(places, board.rules[0], board) if same else None


def _answers(index: Index, targets: Sequence[TargetEntry], pairs: list[tuple[str, str]]) -> Iterable[Section]:
    """Answer on real data where there is some."""
    if not pairs:
        return
    origin = min(origin for _, origin in pairs)  # real before sample
    single: list[Row] = []
    shared: list[Row] = []
    columns = sorted(index.ranked_columns(origin))
    for question in answers.of_qualities(index, _among(targets, index.on(origin)), columns):
        if row := answers.answer_row(index, question):
            (shared if len({entry.name for entry, _ in question.targets}) > 1 else single).append(row)
    groups = (("All qualities", _over_all(index, targets, pairs, origin)), ("One quality", shared))
    tables = [answers.answer_table(index, origin, "answers", "Best metric, and how far from people", groups)]
    if single:
        tables.append(answers.answer_table(
            index, origin, "answers-single", "The same for qualities of one dataset", (("", single),),
            f"Qualities that only one dataset has: {len(single)}"))
    yield Section("best", f"The short answer, {ORIGIN_TITLES.get(origin, origin)}",
                  (*(table for table in tables if table.groups), Prose(ANSWERS_READ)), boxed=True)


def _over_all(index: Index, targets: Sequence[TargetEntry], pairs: list[tuple[str, str]], origin: str) -> list[Row]:
    """Answer for each board, and again without fitted columns where that leaves something out."""
    questions = []
    for name in (name for name, other in pairs if other == origin and "-" not in name):
        question = answers.of_board(boards(index.results, name, origin)[0], _among(targets, index.on(origin, name)),
                                    f"index.html#{slug(name)}-{slug(origin)}")
        without = answers.unfitted(index, question)
        questions += [question] if len(question.means) == len(without.means) else [question, without]
    return [row for question in questions if (row := answers.answer_row(index, question))]


def _among(targets: Sequence[TargetEntry], datasets: Sequence[DatasetEntry]) -> tuple[TargetEntry, ...]:
    return tuple(target for target in targets if target[0] in datasets)
