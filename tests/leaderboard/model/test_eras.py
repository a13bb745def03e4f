"""Results with datasets of several eras: each has a front page, and no number is averaged over two eras."""

import json
from dataclasses import replace

import pytest

from harness.results.entries import BoardId
from harness.results.rows import Results, Timing
from leaderboard.model.boards import ERAS, era_of, parts
from leaderboard.model.cost import costs
from leaderboard.model.questions import questions
from leaderboard.render.text import summary
from leaderboard.site import site as draw
from tests.leaderboard.large import enlarged
from tests.suite_run import SuiteRun


@pytest.fixture(scope="module")
def mixed_eras(suite_run: SuiteRun) -> Results:
    """Results on datasets of every era; scoring takes one millisecond per item in the first era, ten in the others."""
    made = enlarged(suite_run.results, 4, splits=("recent", "own", "more"))
    slow = {entry.name for entry in made.datasets if entry.split not in ("dev", "test")}
    return replace(made, timings=tuple(
        Timing(row.dataset, row.metric, 10, 0.1 if row.dataset in slow else 0.01) for row in made.timings))


def test_no_board_question_or_cost_spans_eras(mixed_eras: Results) -> None:
    era = {entry.name: era_of(entry.split) for entry in mixed_eras.datasets}
    boards = {row.board for row in mixed_eras.ranking}
    assert {era_of(BoardId.parse(name).split) for name in boards} == set(ERAS)
    for name in boards:
        assert len({era[entry.name] for entry in mixed_eras.datasets if entry.on(name)}) == 1, name
    assert [part.era for part in parts(mixed_eras)] == list(ERAS)
    for part in parts(mixed_eras):
        listed = questions(part.results)
        assert {era[dataset] for question in listed for dataset, _ in question.targets} == {part.era}
        assert costs(part.results)["length"].seconds == pytest.approx(10 if part.suffix else 1)


def test_each_era_has_its_own_front_page(mixed_eras: Results) -> None:
    files = draw(mixed_eras)
    pages = {part.era: part.path for part in parts(mixed_eras)}
    assert list(pages.values()) == ["index.html", "index-recent.html", "index-own.html", "index-more.html"]
    for part in parts(mixed_eras):
        page, script = files[part.path].decode(), f"numbers{part.suffix}.js"
        data = json.loads(files[script].decode().removeprefix("const Numbers = ").removesuffix(";\n"))
        assert set(data["datasets"]) <= {entry.name for entry in part.results.datasets}
        assert f'src="{script}"' in page
        assert f"For {part.era.systems}, " in page
        assert all(f'href="{path}"' in page for path in pages.values())
    for text in (files["LEADERBOARD.md"].decode(), " ".join(summary(mixed_eras).split())):
        assert all(f"For {era.systems}, " in text for era in ERAS)


def test_results_of_one_era_have_no_choice(full: Results) -> None:
    (part,) = parts(full)
    assert part.results is full
    assert b'class="choices"' not in draw(full)[part.path]
