"""The front page: which metric to use, answered in a sentence and a picture; then the board, and every other answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from harness.results.rows import Results
from leaderboard.blocks.boards import QUALITIES, ranked_table
from leaderboard.blocks.cells import count_cell
from leaderboard.blocks.costs import cost_picture
from leaderboard.blocks.dots import dots
from leaderboard.blocks.tables import Ask, Block, Cell, Group, Heading, Page, Prose, Row, Section, Table
from leaderboard.model import sentences
from leaderboard.model.index import Index, make_index, plural
from leaderboard.model.numbers import columns_of, sizes
from leaderboard.model.questions import Choice, Question, answers, best_of_each, default, questions

TITLE = "Which metric should I use?"
PLAIN: Choice = (False, math.inf)
"""What the page answers first: without ratings, with any model."""
READ = ("Score: the mean over the datasets of Spearman’s correlation with people; ± is half of its 95 % interval, on "
        "other contexts of these datasets. Rank: among all columns with every value, with its 95 % interval over "
        "resampled contexts and, where a quality has several datasets, resampled datasets. Established: the lead over "
        "the next metric by PERM-BOTH to first order, contexts swapping on all datasets at once, adjusted for five "
        "comparisons, p < 0.05. Williams’ test, in the drawers, takes items as independent and gives p-values that are "
        "too small where several share a context. Best and second of a column are bold and underlined; ▽ is no better "
        "than counting words. Below a name: how the metric stands to its paper’s system; what is fitted on ratings was "
        "also designed while looking at these datasets, so its score is optimistic.")
OTHERS = "Not among the best of their metric, fitted on ratings, or without a value somewhere"


def build(results: Results) -> tuple[Page, ...]:
    """Build the front page."""
    index, asked = make_index(results), questions(results)
    first = default(asked)
    sections: Iterable[Section] = (Section("nothing", "No ranking", (Prose(why_nothing(results)),)),)
    if first is not None:
        sections = (Section("answer", "", _answer(index, asked, first), boxed=True),
                    Section("metrics", "Board", (_board(index, asked, first), Prose(READ))),
                    Section("answers", "Every answer", (_answers(index, asked),)),
                    *_costs(index, first))
    return (Page(path="index.html", title=TITLE, label="Board", lead="", sections=tuple(sections), order=0,
                 ranked=first is not None),)


def _costs(index: Index, first: Question) -> tuple[Section, ...]:
    drawn = cost_picture(index, first, best_of_each(index, first, PLAIN))
    return (Section("costs", f"Agreement against cost, {first.title}, without ratings", (drawn,)),) if drawn else ()


def why_nothing(results: Results) -> str:
    """Say why there is no board: what was rated, and what was scored."""
    if (results.skips or results.failures) and not results.timings:
        return "No board: nothing could be scored. What was skipped or failed, and why, is listed below."
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs three rated items that differ. " + "; ".join(rated) + "."


def _answer(index: Index, asked: Sequence[Question], first: Question) -> tuple[Block, ...]:
    own = answers(index.results).get((first.board.name, PLAIN))
    choices = (("q", "for", tuple((one.board.name, one.title, one is first) for one in asked)),
               ("ratings", "may use ratings", (("", "no", True), ("1", "yes", False))),
               ("models", "may use", tuple((key, words, not key) for key, words, _ in sizes(index))))
    question = sentences.asked(first, PLAIN, own is not None and sentences.is_control(index, own.best))
    if own is None:
        return (Ask(choices, question, Cell("no metric has every value"), "", "", sentences.people(first)),)
    ask = Ask(choices, question, Cell(index.labels[own.best], link=index.metric_paths.get(own.best[0], "")),
              sentences.about(index, own.best), sentences.evidence(index, first, own), sentences.people(first))
    return (ask, dots(index, first, best_of_each(index, first, PLAIN)))


def _board(index: Index, asked: Sequence[Question], first: Question) -> Table:
    columns, shown = columns_of(index.results), best_of_each(index, first, PLAIN)
    split = first.board.name.partition(":")[0]
    same = [one for one in asked if one.dimension and one.board.name.partition(":")[0] == split]
    several = [one for one in same if one.datasets > 1] or same
    others = [column for column in (*first.board.ranked, *columns) if column not in shown]
    return ranked_table(index, first, several[:QUALITIES], columns, {"": shown, OTHERS: list(dict.fromkeys(others))})


def _answers(index: Index, asked: Sequence[Question]) -> Table:
    """Answer every question, without ratings and with them."""
    found = answers(index.results)

    def cells(question: Question, choice: Choice) -> Row:
        if (own := found.get((question.board.name, choice))) is None:
            return (Cell("none"), Cell(""), Cell(""))
        row, beaten = question.board.ranked[own.best], sentences.is_control(index, own.best)
        lead = "not tested" if own.lead is None else "established" if own.lead.established else "not established"
        return (Cell(index.labels[own.best], link=index.metric_paths.get(own.best[0], ""),
                     small=f"{sentences.BEATEN} this control" if beaten else ""),
                Cell(f"{row.value:.3f}".replace("-", "−"), value=row.value, small=sentences.error(row.error).strip()),
                Cell(lead, title="" if own.following is None else f"over {index.labels[own.following]}"))

    rows = tuple((Cell(one.title), count_cell(one.datasets), *cells(one, PLAIN), *cells(one, (True, math.inf)))
                 for one in asked)
    headings = (Heading("For", "stub"), Heading("Datasets", "number"), Heading("Without ratings", "words"),
                Heading("Score", "number"), Heading("Its lead", "words"), Heading("With ratings", "words"),
                Heading("Score", "number"), Heading("Its lead", "words"))
    return Table("answers-table", "The best metric for each quality", headings, (Group(rows),), data=index.data(),
                 folded=f"The answers to all {plural(len(rows), 'question')}")
