"""Short titles of columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.results.entries import MetricEntry
from leaderboard.model.titles import MAX_TITLE, short, titles


@pytest.mark.parametrize(("name", "title"), [
    ("bleu-1", "bleu-1"),
    ("cosine[encoder=org/all-mpnet-base-v2@1f2e]", "cosine (all-mpnet-base-v2)"),
    ("rouge-l[references=max]", "rouge-l (references=max)"),
    ("deep-am-fm[lm=tiny] / am", "deep-am-fm (tiny) / am"),
    ("judge:fit[model=m,url=http://127.0.0.1:80/v1]", "judge:fit (m, 127.0.0.1:80)"),
    ("rank-average[inputs=deb+judge:fit[lm=tiny]]", "rank-average (deb + judge:fit)"),
    ("rank-average[inputs=+judge:fit[lm=tiny]]", "rank-average (+ judge:fit)"),
    ("rank-average[inputs=a+b+c+d]", "rank-average (a + b + 2 more)")])
def test_titles_omit_obvious_names_of_options(name: str, title: str) -> None:
    assert short(name) == title


def test_columns_with_equal_titles_keep_more_of_their_names() -> None:
    names = {("a", ""): "mix[inputs=x[n=1]+y]", ("b", ""): "mix[inputs=x[n=2]+y]", ("c", ""): "mix[inputs=y]",
             ("d", ""): f"long[inputs={'x' * 60}]"}
    shown = titles(names, ())
    assert [shown[column] for column in names][:3] == [names["a", ""], names["b", ""], "mix (y)"]
    assert len(set(shown.values())) == 4
    assert len(shown["d", ""]) == MAX_TITLE


def test_title_requested_in_the_run_takes_precedence() -> None:
    entry = MetricEntry("mix[k=1]", "Mix", "composite", ("mix[k=1]", "mix-single[k=1]"), (), {})
    names = {(entry.name, column): column for column in entry.columns}
    assert [*titles(names, [replace(entry, named="panel")]).values()] == ["panel", "panel / mix-single"]
