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
from pathlib import Path

from harness.results.rows import Results, Run
from leaderboard.render.html import BANNER, POLICY
from leaderboard.render.text import summary
from leaderboard.site import builders
from leaderboard.site import site as draw
from tests.leaderboard.test_hostile import parsed

GOLDEN = Path(__file__).parent / "golden"


def test_the_site_has_its_pages_under_safe_and_distinct_names(site: dict[str, bytes]) -> None:
    assert {"index.html", "about.html", "LEADERBOARD.md", "ranking.csv", "correlations.csv", "style.css",
            "dataset/fed-turn.html", "dataset/a-b.html", "quality/maintains-context.html"} <= set(site)
    assert len([path for path in site if re.fullmatch(r"dataset/sample-chat-[0-9a-f]{8}\.html", path)]) == 2
    assert all(re.fullmatch(r"([a-z]+/)?[\w-]+\.(html|md|csv|css|js|json|tex)", path) for path in site)


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


def test_every_internal_link_leads_somewhere(site: dict[str, bytes], hostile_site: dict[str, bytes]) -> None:
    for drawn in (site, hostile_site):
        assert len({path.casefold() for path in drawn}) == len(drawn)
        pages = parsed(drawn)
        for path, page in pages.items():
            assert POLICY in drawn[path].decode().replace("&#39;", "'")
            for link in (link for link in page.links if not link.startswith(("https://", "data:"))):
                name, _, fragment = link.partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
                assert target in drawn, (path, link)
                assert not fragment or fragment in pages[target].ids, (path, link)


def test_every_link_in_the_markdown_leads_somewhere(site: dict[str, bytes]) -> None:
    text = site["LEADERBOARD.md"].decode()
    anchors = re.findall(r'<a id="([^"]+)"></a>', text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(set(anchors)) == len(anchors)
    assert {link.removeprefix("#") for link in links if link.startswith("#")} == set(anchors)
    assert {link for link in links if not link.startswith("#")} <= set(site)


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
    marked = {path for path, page in parsed(site).items() if BANNER in "".join(page.words)}
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


def test_a_report_may_lack_a_part_and_an_empty_one_is_still_a_site(results: Results) -> None:
    for part in ("ranking", "correlations", "metrics", "skips", "failures"):
        less = replace(results, **{part: ()})
        assert "index.html" in draw(less)
        assert summary(less)
    empty = Results(Run("0", None, 0, "cpu", {}, "3.11", "Linux", {}), (), (), (), ())
    found = draw(empty)
    assert {path for path in found if path.endswith(".html")} == {"index.html", "about.html"}
    assert {"LEADERBOARD.md", "ranking.csv", "correlations.csv", "comparisons.csv", "reliability.csv",
            "style.css"} <= set(found)
    assert "No ranking" in summary(empty)
