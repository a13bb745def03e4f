"""Means by era and source, worked by hand, and their page, plot and file."""

import re
from dataclasses import replace

import pytest
from scipy import stats

from harness.results.rows import Correlation, Results, Timing
from leaderboard.model.index import select_datasets
from leaderboard.pages import holds_up
from leaderboard.pages.holds_up import means
from leaderboard.render import rows as exports
from leaderboard.site import site as draw
from tests.leaderboard.conftest import EMPTY, dataset, metric, quality, read_csv

VALUES = {("usr-a", "Fun"): 0.2, ("usr-a", "Overall"): 0.4, ("usr-b", "Overall"): 0.5, ("fed", "Overall"): 0.6,
          ("dices-1", "safe"): 0.1, ("dices-2", "safe"): 0.3, ("deco", "sense"): -0.1, ("mtrag", "kind"): None}
"""Sources: usr (mean of .3 and .5: .4) and fed until 2021, dices (.2), deco and mtrag from 2022 on."""


@pytest.fixture
def both() -> Results:
    entries = [replace(dataset(name, "dev" if name[0] in "uf" else "recent", "imported", *(
        quality(row) for known, row in VALUES if known == name)), citation=name.partition("-")[0])
        for name in dict.fromkeys(name for name, _ in VALUES)]
    correlations = tuple(Correlation(*target, "deb", "deb", "spearman", 9, value, 0.1, value, value)
                         for target, value in VALUES.items() if value is not None)
    return replace(EMPTY, datasets=tuple(entries), metrics=(metric("deb", "DEB", "trained", "deb"),),
                   correlations=correlations, timings=(Timing("fed", "deb", 9, 1.0),))


def test_means_are_over_qualities_then_datasets_then_sources(both: Results) -> None:
    ((then, now),) = means(both).values()
    assert then.sources == pytest.approx({"usr": 0.4, "fed": 0.6})
    assert now.sources == pytest.approx({"dices": 0.2, "deco": -0.1}), "mtrag has no value and does not count"
    for mean, values in ((then, (0.4, 0.6)), (now, (0.2, -0.1))):
        interval = stats.t.interval(0.95, 1, sum(values) / 2, stats.sem(values))
        assert (mean.value, mean.low, mean.high) == pytest.approx((sum(values) / 2, *interval))


@pytest.mark.parametrize(("pairs", "lead"), [
    ([], "No metric "), ([(0.1, 0.1)], "Of 1 metric .*, 1 agrees .* 1 of 1 does"),
    ([(0.1, 0.1), (0.2, 0.1), (0.1, -0.1), (-0.1, 0.1)], "Of 4 metrics .*, 3 agree .* 2 of 3 do")])
def test_lead_counts_the_metrics_that_agree_in_each_era(
        both: Results, pairs: list[tuple[float, ...]], lead: str) -> None:
    columns = [f"m{number}" for number in range(len(pairs))] + ["length"]
    families = dict.fromkeys(columns, "lexical") | {"length": "control"}
    values = dict(zip(columns, [*pairs, (0.3, 0.3)], strict=True))
    correlations = (Correlation(row.dataset, row.quality, name, name, "spearman", 9, value, 0.1, value, value)
                    for name in columns for row in both.correlations
                    for value in [values[name][row.dataset in ("dices-1", "dices-2", "deco")]])
    made = replace(both, correlations=tuple(correlations),
                   metrics=tuple(metric(name, name, family, name) for name, family in families.items()))
    (page,) = holds_up.build(made)
    assert re.match(lead, page.lead)


def test_page_and_file_exist_if_real_data_of_both_eras_do(both: Results) -> None:
    files = draw(both)
    page = files["holds-up.html"].decode()
    assert "Of 1 metric " in page
    assert page.count('class="dot"') == page.count('class="other"') == page.count('class="other-span"') == 1
    assert 'href="holds-up.csv"' in page
    lines = {(line["era"], line["source"]): line["mean"] for line in read_csv(files["holds-up.csv"])}
    assert float(lines["until 2021", ""]) == pytest.approx(0.5)
    assert float(lines["from 2022 on", "deco"]) == -0.1
    for kept in ({"usr-a", "fed"}, {"deco"}):
        part = select_datasets(both, kept)
        assert (holds_up.build(part), exports.holds_up(part)) == ((), b"")
    sample = replace(both, datasets=tuple(replace(entry, origin="sample") for entry in both.datasets))
    assert holds_up.build(sample) == ()
