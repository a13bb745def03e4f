"""The controls of the front page: answers and ranks match the results, and the address keeps the selection."""

import math
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from playwright import sync_api

from harness.results.rows import Results
from leaderboard.model.index import make_index
from leaderboard.model.questions import answers, questions
from leaderboard.model.sentences import evidence, question_text, verdict
from tests.browser.conftest import Open, Site, choose, published, rows
from tests.leaderboard.conftest import find_question
from tests.leaderboard.large import NEURAL, enlarged
from tests.suite_run import SuiteRun

pytestmark = pytest.mark.browser


def shown(page: sync_api.Page) -> dict[str, str]:
    """Return the rank of each visible row by its column."""
    return {row["label"]: row["rank"] for row in rows(page) if not row["hidden"]}


def expected(results: Results, dimension: str, statistic: str = "spearman", without: Collection[str] = ()
             ) -> dict[str, int]:
    """Compute the rank of every column, by its title, on a quality of the development datasets."""
    titles = make_index(results).labels
    targets = [(entry.name, quality.name) for entry in results.datasets for quality in entry.qualities
               if entry.split == "dev" and quality.dimension == dimension and entry.name not in without]
    values: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in results.correlations:
        if row.statistic == statistic and math.isfinite(row.value):
            values[titles[row.metric, row.column]][row.dataset, row.quality] = round(row.value, 6)
    means = {column: fmean(known[target] for target in targets) for column, known in values.items()
             if known.keys() >= set(targets)}
    return {column: 1 + sum(other > value + 1e-9 for other in means.values()) for column, value in means.items()}


def assert_ranks(page: sync_api.Page, ranks: dict[str, int]) -> None:
    visible = shown(page)
    assert {label: int(rank) for label, rank in visible.items()} == {label: ranks[label] for label in visible}


@pytest.fixture
def front(site: Site, visit: Open) -> sync_api.Page:
    return visit(site.at("index.html"))


def test_answer_matches_the_results_for_every_choice(site: Site, front: sync_api.Page) -> None:
    known, index = answers(site.results), make_index(site.results)
    for question in questions(site.results):
        for choice, ratings, models in (
                ((False, math.inf), "", ""), ((True, math.inf), "1", ""), ((False, 0.0), "", "0")):
            choose(front, q=question.name, ratings=ratings, models=models)
            if answer := known(question.name).get(choice):
                texts = {name: front.locator(f"#sentence .{name}").inner_text()
                         for name in ("best", "evidence", "asked")}
                assert texts == {
                    "best": index.labels[answer.best], "evidence": evidence(index, question, answer),
                    "asked": question_text(question, choice, verdict(index, question, answer.best))}


def test_texts_do_not_mention_metrics_that_do_not_exist(suite_run: SuiteRun, tmp_path: Path, visit: Open) -> None:
    """Every metric has a model, and none is fitted on ratings."""
    results = enlarged(suite_run.results)
    made = replace(results, metrics=tuple(replace(entry, **NEURAL) for entry in results.metrics))
    with published(made, tmp_path) as site:
        page = visit(site.at("index.html#models=0"))
        assert re.fullmatch("no metric.* meets these restrictions", page.locator("#sentence .best").inner_text())
        assert page.locator(".ranked caption .data").inner_text() == "Ranks count all columns"


def test_board_shows_ranks_and_one_column_per_metric(site: Site, front: sync_api.Page) -> None:
    for dimension in ("overall", "understandability"):
        choose(front, q=f"dev:{dimension}", ratings="1")
        ranks = expected(site.results, dimension)
        assert_ranks(front, ranks)
        assert list(shown(front)) == sorted(shown(front), key=ranks.__getitem__)
    metrics = {title: metric for (metric, _), title in make_index(site.results).labels.items()}
    assert len({metrics[label] for label in shown(front)}) == len(shown(front)) > 5


def test_other_statistic_or_fewer_datasets_rerank_without_intervals(site: Site, front: sync_api.Page) -> None:
    choose(front, q="dev:overall", ratings="1")
    choose(front, stat="pearson")
    assert_ranks(front, expected(site.results, "overall", "pearson"))
    first = site.results.datasets[0].name
    front.locator(".panel .menu summary").click()
    front.get_by_label(first, exact=True).uncheck()
    assert_ranks(front, expected(site.results, "overall", "pearson", (first,)))
    assert front.locator(".ranked td.rank small").first.inner_text() == "not available"
    assert "not tested" in front.locator("#sentence .evidence").inner_text()
    assert front.locator("#sentence .people").inner_text() == ""
    assert str(front.locator("figure.dots svg").get_attribute("aria-label")).startswith("Pearson: ")
    left = {entry.name for entry in site.results.datasets for quality in entry.qualities
            if entry.split == "dev" and quality.dimension == "overall"} - {first}
    assert front.locator(".ranked thead th[data-key='dev:overall'] small").inner_text() == f"{len(left)} datasets"
    one, other, *_ = shown(front)
    choose(front, one=one, other=other)
    assert {*front.locator(".compared tbody th").all_inner_texts()} == left
    assert front.locator(".compared p").inner_text().startswith("By Spearman, ")


def test_corrected_scores_state_how_many_qualities_they_cover(site: Site, front: sync_api.Page) -> None:
    question = find_question(site.results)
    front.evaluate("Numbers.targets.forEach((target, place) => { target.limit = place % 2 ? 0.9 : null; })")
    choose(front, q=question.name, stat="corrected")
    known = front.evaluate("Numbers.questions.find(({ board }) => board === 'dev:overall').targets"
                           ".filter((target) => target % 2).length")
    assert 0 < known < len(question.targets)
    for place in ("#sentence .evidence", ".ranked caption"):
        assert f", over {known} of {len(question.targets)} qualities, " in front.locator(place).inner_text()
    choose(front, stat="pearson")
    assert " qualities, " not in front.locator(".ranked caption").inner_text()


def test_plot_extends_to_a_band_below_its_usual_start(front: sync_api.Page) -> None:
    front.evaluate("for (const { marks } of Numbers.questions) marks.length = [-0.25, 0.1]")
    choose(front, q="dev:overall")
    path = str(front.locator(".dots-plot .length").get_attribute("d"))
    assert path.startswith("M100 0H233V"), "from -0.35 to -0.15 on an axis from -0.5 to 1"
    assert front.locator(".dots.wide .ticks span").all_inner_texts() == [
        "−0.4", "−0.2", "0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_plot_prints_a_true_minus_but_none_before_zero(front: sync_api.Page) -> None:
    front.evaluate("for (const { ranks } of Numbers.questions) ranks.forEach((rank, place) => "
                   "{ if (rank) rank[3] = place % 2 ? -0.001 : -0.05; })")
    choose(front, q="dev:overall", ratings="1")
    assert {*front.locator(".dots .values li").all_inner_texts()} == {"0.00", "−0.05"}
    label = str(front.locator("figure.dots svg").get_attribute("aria-label"))
    assert " −0.05" in label
    assert " -0" not in label


def test_sizes_in_thousands_sort_below_sizes_in_millions(front: sync_api.Page) -> None:
    choose(front, q="dev:overall", ratings="1")
    heading = front.locator(".ranked thead th[data-key=size]")
    column = heading.evaluate("cell => cell.cellIndex")
    front.evaluate("""column => [...document.querySelectorAll('.ranked tbody tr')].filter(row => !row.hidden)
        .slice(0, 3).forEach((row, place) => { row.cells[column].textContent = ['300 k', '23 M', '3 M'][place]; })""",
                   column)
    heading.locator("button").click()
    texts = front.locator(".ranked tbody tr:visible").evaluate_all(
        "(rows, column) => rows.map(row => row.cells[column].textContent)", column)
    assert list(dict.fromkeys(filter(None, texts))) == ["23 M", "22 M", "3 M", "300 k"]


def test_details_and_comparison_match_the_tests(site: Site, front: sync_api.Page) -> None:
    choose(front, q="dev:overall", ratings="1")
    front.locator(".ranked .more:visible").first.press("Enter")
    assert front.evaluate("document.activeElement.className") == "more", "the keyboard stays at the row"
    assert "PERM-BOTH" in front.locator(".drawer").inner_text()
    one, other = columns = list(shown(front))[:2]
    choose(front, one=one, other=other)
    titles = {column: title for (_, column), title in make_index(site.results).labels.items()}
    values = {(row.dataset, row.quality, titles[row.column]): row.value for row in site.results.correlations
              if row.statistic == "spearman"}
    better = {(row.dataset, row.quality, frozenset((titles[row.better], titles[row.worse]))):
              titles[row.better] if row.bh < 0.05 else "no"
              for target in site.results.comparisons if target.statistic == "spearman" for row in target}
    lines = front.locator(".compared tbody tr").all()
    assert len(lines) == len(questions(site.results)[1].targets)
    for line in lines:
        dataset, quality, _, first, second, _, winner = line.locator("th, td").all_inner_texts()
        assert [first, second] == [f"{values[dataset, quality, name]:.3f}".replace("-", "−") for name in columns]
        assert winner == better[dataset, quality, frozenset(columns)]


def test_clicking_a_heading_sorts_and_reverses(front: sync_api.Page) -> None:
    heading = front.locator(".ranked thead th[data-key='dev:understandability']")
    column = heading.evaluate("cell => cell.cellIndex")
    for direction in ("descending", "ascending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        texts = front.locator(".ranked tbody tr:visible").evaluate_all(
            "(rows, column) => rows.map(row => row.cells[column].firstChild.textContent)", column)
        numbers = [float(text.replace("−", "-")) for text in texts if text != "–"]
        assert numbers == sorted(numbers, reverse=direction == "descending")
        assert len(set(numbers)) > 1
        assert front.url.endswith(f"#sort=dev%3Aunderstandability.{direction}")
    front.locator(".ranked .more:visible").first.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    choose(front, one=1, other=5)
    front.locator(".compared thead button").nth(5).click()
    before = front.locator(".compared tbody tr").all_inner_texts()
    front.locator(".ranked .more:visible").nth(1).click()
    assert front.locator(".compared tbody tr").all_inner_texts() == before
    assert front.locator(".compared [aria-sort=descending]").count() == 1


def test_search_announces_its_rows_and_not_the_answer(front: sync_api.Page) -> None:
    front.evaluate("""() => { window.changes = 0;
        new MutationObserver(list => { changes += list.length; })
          .observe(document.getElementById('sentence'), { subtree: true, childList: true, characterData: true }); }""")
    front.locator(".panel input[type=search]").press_sequentially("len")
    count = sum(not row["hidden"] for row in rows(front))
    assert re.fullmatch(rf"{count} of \d+ rows", front.locator(".panel [role=status]").inner_text())
    assert front.evaluate("changes") == 0
    front.get_by_role("button", name="Reset").click()
    assert front.locator(".panel [role=status]").inner_text() == ""


def test_downloads_have_a_name_and_ascii_numbers(front: sync_api.Page) -> None:
    choose(front, one=1, other=5)
    front.locator(".compared tbody td.number").nth(1).evaluate(
        "cell => { cell.innerHTML = '−0.1 to −0.2<small>−0.3 to −0.4</small>'; }")
    with front.expect_download() as download:
        front.locator(".compared .csv").click()
    assert download.value.suggested_filename == "table.csv"
    assert ",-0.1 to -0.2,-0.3 to -0.4," in Path(download.value.path()).read_text()


def test_fragment_restores_selection_and_scroll_position(site: Site, front: sync_api.Page) -> None:
    choose(front, q="dev:interestingness", ratings="1")
    front.locator(".ranked .more:visible").nth(2).click()
    front.locator(".panel input[type=search]").press_sequentially("len")
    front.locator(".panel input[type=search]").fill("")
    front.evaluate("scrollTo(0, 300)")
    front.get_by_role("button", name="Copy link").click()
    before, address = rows(front), front.url
    front.goto(site.at("methods.html"))
    front.goto(address)
    assert rows(front) == before
    assert front.locator(".drawer").count() == 1
    assert abs(front.evaluate("scrollY") - 300) < 5
    front.get_by_role("button", name="Reset").click()
    assert front.locator(".drawer").count() == 0
    front.go_back()
    assert rows(front) == before


def test_malformed_fragments_do_not_break_the_page(site: Site, front: sync_api.Page) -> None:
    for choice in (
            "q=__proto__", "stat=nonsense&q=constructor", "sort=dev-real:99:descending", "sort=toString.ascending",
            "without=__proto__&models=2", "one=%00&other=x", "open=none", "y=1e999&find=%3Cscript%3E", "a=%E0%A4%A",
            "#=#="):
        front.goto(site.at("methods.html"))
        front.goto(f"{site.at('index.html')}#{choice}")
        assert front.locator("#sentence .best a").count() == 1, choice
