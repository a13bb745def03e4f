"""The files: whole, escaped, the same every time, and every link inside them leads somewhere.

A page of each kind is kept in golden/. After an intended change, write them anew and read the difference:

    REGENERATE=1 python -m pytest tests/leaderboard/test_site.py; git diff tests/leaderboard/golden
"""

from __future__ import annotations

import csv
import io
import math
import os
import posixpath
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness.results.rows import Results, Run
from leaderboard.render.html import BANNER
from leaderboard.render.text import summary
from leaderboard.site import builders
from leaderboard.site import site as draw

GOLDEN = Path(__file__).parent / "golden"
EMPTY = {"meta", "link", "wbr", "br"}


class Reader(HTMLParser):
    """What a test wants to know of a page: tags in balance, ids, links, visible text."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag has."""
        found = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(found)
        self.ids += [value for name, value in attrs if name == "id" and value is not None]
        self.links += [value for name, value in attrs if name in ("href", "src") and value is not None]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """See that it closes the last one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep what is read."""
        self.words.append(data)


def pages(site: dict[str, bytes]) -> dict[str, Reader]:
    return {path: Reader(content) for path, content in site.items() if path.endswith(".html")}


def test_the_site_has_its_pages_under_safe_and_distinct_names(site: dict[str, bytes]) -> None:
    assert {"index.html", "about.html", "LEADERBOARD.md", "ranking.csv", "correlations.csv", "style.css",
            "dataset/fed-turn.html", "dataset/a-b.html", "quality/maintains-context.html"} <= set(site)
    assert len([path for path in site if re.fullmatch(r"dataset/sample-chat-[0-9a-f]{8}\.html", path)]) == 2
    assert all(re.fullmatch(r"([a-z]+/)?[\w-]+(\.schema)?\.(html|md|csv|css|js|json|tex)", path) for path in site)
    assert len({path.casefold() for path in site}) == len(site)


def test_the_pages_are_as_they_were(site: dict[str, bytes]) -> None:
    paths = [path.relative_to(GOLDEN).as_posix() for path in sorted(GOLDEN.rglob("*")) if path.is_file()]
    assert len(paths) == 6
    for path in paths:
        if os.environ.get("REGENERATE"):
            (GOLDEN / path).write_bytes(site[path])
        assert site[path].decode() == (GOLDEN / path).read_text(encoding="utf-8"), path


def test_the_order_in_which_a_report_lists_things_does_not_matter(
        results: Results, site: dict[str, bytes]) -> None:
    rng = random.Random(3)  # noqa: S311 - a test's shuffle
    parts = {name: tuple(rng.sample(rows := getattr(results, name), len(rows)))
             for name in ("datasets", "metrics", "correlations", "ranking", "skips", "failures", "timings")}
    run = replace(results.run, options=dict(reversed(list(results.run.options.items()))),
                  packages=dict(reversed(list(results.run.packages.items()))))
    shuffled = replace(results, run=run, **parts)
    assert draw(shuffled) == site
    assert summary(shuffled) == summary(results)


def test_timings_change_costs_and_no_other_number(results: Results, site: dict[str, bytes]) -> None:
    other = draw(replace(results, timings=()))
    changed = {path for path in site if site[path] != other[path]}
    assert changed >= {"about.html", "index.html"}
    assert not [path for path in changed if path.startswith("dataset/") or path.endswith(("correlations.csv", ".js"))]


def test_every_internal_link_leads_somewhere(site: dict[str, bytes]) -> None:
    found = pages(site)
    for path, page in found.items():
        for link in page.links:
            if link.startswith(("https://", "data:")):
                continue
            name, _, fragment = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
            assert target in site, (path, link)
            assert not fragment or fragment in found[target].ids, (path, link)


def test_every_link_in_the_markdown_leads_somewhere(site: dict[str, bytes]) -> None:
    text = site["LEADERBOARD.md"].decode()
    anchors = re.findall(r'<a id="([^"]+)"></a>', text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(set(anchors)) == len(anchors)
    assert {link.removeprefix("#") for link in links if link.startswith("#")} == set(anchors)
    assert {link for link in links if not link.startswith("#")} <= set(site)


def test_pages_are_well_formed_with_distinct_ids(site: dict[str, bytes]) -> None:
    for path, page in pages(site).items():
        assert page.open == [], path
        assert len(set(page.ids)) == len(page.ids), path


def test_pages_run_their_own_scripts_and_ask_for_nothing_from_outside(site: dict[str, bytes]) -> None:
    for path, page in pages(site).items():
        assert page.tags.isdisjoint({"iframe", "img", "object", "embed", "form", "b"}), path
        assert not [name for name in page.attributes if name.startswith("on") or name == "style"], path
    for path, content in site.items():
        sheets = re.findall(rb'<link rel="stylesheet" href="([^"]+)"', content)
        assert sheets == ([b"style.css" if "/" not in path else b"../style.css"] if path.endswith("html") else [])


def test_names_from_outside_are_shown_as_they_are(site: dict[str, bytes]) -> None:
    found = pages(site)
    assert "<script>alert('x')</script>" in "".join(found["index.html"].words)
    assert "<b>odd</b>" in "".join(found["about.html"].words)


def test_markdown_cells_cannot_break_their_table(site: dict[str, bytes]) -> None:
    text = site["LEADERBOARD.md"].decode()
    assert "<script" not in text
    assert "<em>" not in text
    assert "a\\|b" in text
    block: list[int] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            block.append(len(re.findall(r"(?<!\\)\|", line)))
        else:
            assert len(set(block)) <= 1
            block = []


def test_the_banner_is_on_every_page_with_sample_data_and_on_no_other(
        results: Results, site: dict[str, bytes]) -> None:
    marked = {path for path, page in pages(site).items() if BANNER in "".join(page.words)}
    drawn = [page for build in builders() for page in build(results)]
    assert marked == {page.path for page in drawn if page.sample}
    assert {"index.html", "about.html", "quality/overall.html", "quality/unrated.html"} <= marked
    assert {path for path in marked if path.startswith("dataset/")} == {
        path for path in site if path.startswith("dataset/sample-chat-")}
    assert site["LEADERBOARD.md"].decode().count(BANNER) == sum(page.sample and page.markdown for page in drawn)


def test_the_csv_files_hold_every_row_in_full_precision(results: Results, site: dict[str, bytes]) -> None:
    rows = list(csv.DictReader(io.StringIO(site["correlations.csv"].decode())))
    assert len(rows) == len(results.correlations)
    assert sorted(float(row["value"]) for row in rows if row["value"]) == sorted(
        row.value for row in results.correlations if math.isfinite(row.value))
    assert {row["origin"] for row in rows if row["dataset"] == "Sample Chat"} == {"sample"}
    assert {row["note"] for row in rows if not row["value"]} == {"all scores are equal"}


def test_people_stand_below_the_metrics_they_are_held_against(site: dict[str, bytes]) -> None:
    page = site["dataset/fed-turn.html"].decode()
    assert page.index("length") < page.index("People among themselves") < page.index("0.512")
    assert "half against half" not in page, "nobody measured it there"
    assert "People among themselves" not in site["dataset/fed-dial.html"].decode()


def test_a_rank_comes_with_its_interval(results: Results) -> None:
    known = tuple(replace(row, low=1.0, high=3.0) if row.rank else row for row in results.ranking)
    assert "1–3" in draw(replace(results, ranking=known))["index.html"].decode()


def test_every_file_names_the_models_beside_the_scores(site: dict[str, bytes]) -> None:
    linked = 'metric/grade.html">grade</a><small>bert-base, w2v.txt</small>'
    for path in ("index.html", "dataset/fed-turn.html", "quality/interesting.html"):
        assert linked in site[path].decode(), path
    assert "<dt>Models</dt><dd>bert-base, w2v.txt</dd>" in site["metric/grade.html"].decode()
    assert "| grade (bert-base, w2v.txt) |" in site["LEADERBOARD.md"].decode()
    for name in ("ranking.csv", "correlations.csv"):
        rows = list(csv.DictReader(io.StringIO(site[name].decode())))
        assert {row["models"] for row in rows if row["metric"] == "grade"} == {"bert-base, w2v.txt"}
        assert {row["models"] for row in rows if row["metric"] in {"bleu", "length"}} == {""}


@pytest.mark.parametrize("name", ["evaluate:./my.py:score", "st:all-MiniLM-L6-v2", "hf:org/model@refs/pr/1",
                                  "évaluation:C:\\x", "=1+1", "evaluate:a_b[k=*,v=|]"])
def test_a_metric_that_an_adapter_names_is_as_good_as_any(results: Results, name: str) -> None:
    def renamed(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(row, metric=name, column=name) if row.metric == "length" else row for row in rows)
    entry = next(entry for entry in results.metrics if entry.name == "length")
    found = draw(replace(
        results, metrics=(*results.metrics, replace(entry, name=name, columns=(name,))),
        correlations=renamed(results.correlations), ranking=renamed(results.ranking)))
    test_every_internal_link_leads_somewhere(found)
    test_every_link_in_the_markdown_leads_somewhere(found)
    test_pages_are_well_formed_with_distinct_ids(found)
    test_markdown_cells_cannot_break_their_table(found)
    for file in ("ranking.csv", "correlations.csv"):
        assert name in {row["metric"] for row in csv.DictReader(io.StringIO(found[file].decode()))}
    assert name in "".join(pages(found)["index.html"].words)


def test_the_csv_file_of_ranking_ranks_no_incomplete_row(results: Results, site: dict[str, bytes]) -> None:
    rows = list(csv.DictReader(io.StringIO(site["ranking.csv"].decode())))
    assert len(rows) == len(results.ranking)
    for row in rows:
        assert (row["covered"] == row["cells"]) == bool(row["rank"]) == bool(row["value"])


@pytest.mark.parametrize("gone", ["ranking", "correlations", "metrics", "skips", "failures"])
def test_a_report_may_lack_a_part(results: Results, gone: str) -> None:
    assert "index.html" in draw(replace(results, **{gone: ()}))
    assert summary(replace(results, **{gone: ()}))


def test_an_empty_report_is_still_a_site() -> None:
    run = Run("0", None, 0, "cpu", {}, "3.11", "Linux", {})
    empty = Results(run, (), (), (), ())
    found = draw(empty)
    assert {path for path in found if path.endswith(".html")} == {"index.html", "about.html", "adding.html"}
    assert {"LEADERBOARD.md", "ranking.csv", "correlations.csv", "comparisons.csv", "reliability.csv",
            "style.css"} <= set(found)
    assert "No ranking" in summary(empty)
