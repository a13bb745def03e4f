"""The files of the site: complete, reproducible, safely named, without dead links.

Hostile names yield the same elements, attributes and links as plain ones, and every name is shown. A page of each kind
is stored in golden/. After an intended change, regenerate them and review the difference:

    REGENERATE=1 python -m pytest tests/leaderboard/test_site.py; git diff tests/leaderboard/golden
"""

import json
import os
import posixpath
import random
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness import cli
from harness.results.rows import Results
from leaderboard.escaping import HIDDEN, visible
from leaderboard.model.index import make_index
from leaderboard.render.templates import BANNER, POLICY
from leaderboard.render.text import summary
from leaderboard.site import site as draw
from leaderboard.texts import TEXTS
from tests.leaderboard import hostile
from tests.leaderboard.conftest import EMPTY, altered, script_data
from tests.suite_run import SuiteRun

GOLDEN = Path(__file__).parent / "golden"
VOID = {"meta", "link", "wbr", "br", "input", "hr"}
MARKDOWN_TAGS = {"a", "br", "details", "ins", "small", "sub", "summary", "sup"}


class Parsed(HTMLParser):
    """The open elements, the attributes and the text of a page."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.values: list[tuple[str, str, str]] = []
        self.words = ""
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.values += [(tag, "", ""), *((tag, name, value or "") for name, value in attrs)]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += "" if self.open[-1:] == ["script"] else data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def made(self) -> set[tuple[str, str]]:
        """Return all elements and their attributes by name."""
        return {(tag, name) for tag, name, _ in self.values}

    def attributes(self, *names: str) -> list[str]:
        return [value for _, name, value in self.values if name in names]


def parsed(site: dict[str, bytes]) -> dict[str, Parsed]:
    return {path: Parsed(content) for path, content in site.items() if path.endswith(".html")}


def test_pages_equal_golden_files(site: dict[str, bytes]) -> None:
    paths = [path.relative_to(GOLDEN).as_posix() for path in sorted(GOLDEN.rglob("*")) if path.is_file()]
    assert len(paths) == 5
    for path in paths:
        if os.environ.get("REGENERATE"):
            (GOLDEN / path).write_bytes(site[path])
        assert site[path].decode() == (GOLDEN / path).read_text(encoding="utf-8"), path


def test_order_of_rows_does_not_matter(results: Results, site: dict[str, bytes]) -> None:
    rng = random.Random(3)  # noqa: S311 - a test's shuffle
    parts = {name: tuple(rng.sample(rows := getattr(results, name), len(rows)))
             for name in ("datasets", "metrics", "correlations", "ranking", "skips", "failures", "timings")}
    run = replace(results.run, **{name: dict(reversed(getattr(results.run, name).items()))
                                  for name in ("options", "packages")})
    shuffled = replace(results, run=run, **parts)
    assert draw(shuffled) == site
    assert summary(shuffled) == summary(results)


def test_every_page_states_a_partial_run(results: Results) -> None:
    for option, text in (("limit", b"only the first 9 items of each"), ("sample", b"at most 9 items in whole context")):
        files = draw(replace(results, run=replace(results.run, options={option: 9})))
        assert [path for path in files if path.endswith((".html", ".md")) and text not in files[path]] == []


def test_links_have_targets_and_every_page_is_linked(site: dict[str, bytes], hostile_site: dict[str, bytes]) -> None:
    for drawn in (site, hostile_site):
        assert len({path.casefold() for path in drawn}) == len(drawn)
        pages, linked = parsed(drawn), {"index.html"}
        for path, page in pages.items():
            assert set(page.attributes("aria-labelledby")) <= {*page.attributes("id")} - {"main"}
            assert POLICY in drawn[path].decode().replace("&#39;", "'")
            for link in page.attributes("href", "src", "action", "xlink:href"):
                name, _, fragment = link.partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
                linked.add(target)
                assert target in drawn or link.startswith(("https://", "data:")), (path, link)
                assert not fragment or target not in drawn or fragment in pages[target].attributes("id"), (path, link)
        assert set(pages) <= linked
    assert max(len(content) for path, content in site.items() if path.endswith(".html")) < 250_000
    assert site["dataset/fed-turn.html"].decode().count('aria-current="true">Datasets') == 1


def test_markdown_links_have_targets(site: dict[str, bytes]) -> None:
    text = site["LEADERBOARD.md"].decode()
    anchors, links = re.findall(r'<a id="([^"]+)"></a>', text), re.findall(r"\]\(([^)]+)\)", text)
    assert len(set(anchors)) == len(anchors)
    assert {link.removeprefix("#") for link in links if link.startswith("#")} == set(anchors)
    assert {link.partition("#")[0] for link in links} <= {"", *site}


def test_commands_on_pages_are_valid_and_repeat_the_run(results: Results) -> None:
    command = "harness run --all --with ./asks.py"
    made = altered(results, "grade", signature={"metric": "grade", "code": "0a"}, pretrained_on=("bert-base: books",))
    pages = parsed(draw(replace(made, run=replace(results.run, command=command, commit=f"{'ab' * 20}-dirty"))))
    lines = {line for page in pages.values() for line in page.words.splitlines() if line.startswith("harness ")}
    for line in lines:
        cli.parser().parse_args(shlex.split(line)[1:])
    assert {"harness check ./exclaims", "harness run --metric bleu --all", command} <= lines
    assert "harness run --metric grade --all" not in lines
    text = pages["methods.html"].words
    for part in (f"git checkout {'ab' * 20}\n", "pip install '.[neural]' ./weights numpy==2.0.0",
                 "harness fetch bert-base", TEXTS["methods"]["changed"]):
        assert part in text
    assert TEXTS["methods"]["same"] not in text
    assert all(f"commit {'ab' * 6}-dirty" in page.words for page in pages.values())


def test_sample_is_labelled_and_hidden_if_there_is_real_data(
        mixed: Results, site: dict[str, bytes], suite_run: SuiteRun) -> None:
    sample = {entry.name for entry in mixed.datasets if entry.origin == "sample"}
    assert draw(mixed) == site
    assert not [path for path in site for name in (*sample, "Unrated", BANNER) if name.encode() in site[path]]
    assert {page.words.count(BANNER) for page in parsed(draw(suite_run.results)).values()} == {1}
    assert BANNER in summary(suite_run.results)
    assert BANNER not in summary(mixed)


def test_incomplete_or_empty_results_still_make_a_site(results: Results) -> None:
    for part in ("ranking", "correlations", "metrics", "skips", "failures"):
        less = replace(results, **{part: ()})
        assert "index.html" in draw(less)
        assert summary(less)
    assert {path for path in draw(EMPTY) if path.endswith(".html")} == {"index.html", "methods.html"}
    assert "No ranking" in summary(EMPTY)


def test_name_has_its_options_once(results: Results) -> None:
    named = {("judge:fit[lm=x]", "fit[lm=x]"): "judge:fit[lm=x]",
             ("judge:fit[lm=x]", "fit-tone[lm=x]"): "judge:fit-tone[lm=x]",
             ("am-fm[lm=x]", "am-fm[lm=x]"): "am-fm[lm=x]", ("am-fm[lm=x]", "am[lm=x]"): "am-fm[lm=x] / am"}
    rows = tuple(replace(results.correlations[0], metric=metric, column=column) for metric, column in named)
    assert make_index(replace(results, correlations=rows)).names.items() >= named.items()


@pytest.fixture(scope="module")
def pages(hostile_site: dict[str, bytes]) -> dict[str, Parsed]:
    return parsed(hostile_site)


def test_names_make_no_element_script_or_duplicate_id(
        full: Results, pages: dict[str, Parsed], hostile_site: dict[str, bytes]) -> None:
    harmless = parsed(draw(hostile.make(full, hostile.PLAIN)))
    made = {pair for page in harmless.values() for pair in page.made} | {("wbr", "")}
    for path, page in pages.items():
        assert (page.made - made, page.open) == (set(), []), path
        assert not [name for _, name in page.made if name.startswith("on") or name in ("style", "srcdoc")]
        assert {tag for tag, _ in page.made}.isdisjoint({"iframe", "img", "object", "embed", "base", "style"}), path
        scripts = re.findall(rb"<script\b[^>]*>", hostile_site[path])
        assert all(b"src=" in tag or b'type="application/json"' in tag for tag in scripts), path
        ids = page.attributes("id")
        assert len(set(ids)) == len(ids), path
        assert not HIDDEN.search(page.words + "".join(value for _, _, value in page.values)), path


def test_script_data_has_every_name_and_row(
        renamed: Results, hostile_site: dict[str, bytes], pages: dict[str, Parsed]) -> None:
    data = script_data(renamed)
    text = json.dumps(data, ensure_ascii=False)
    assert not [entry.name for entry in (*renamed.datasets, *renamed.metrics)
                if json.dumps(visible(entry.name), ensure_ascii=False) not in text]
    assert not HIDDEN.search(text)
    assert hostile_site["numbers.js"].isascii()
    assert sorted(map(int, pages["index.html"].attributes("data-row"))) == list(range(len(data["columns"])))


def test_names_make_no_markup_in_markdown(hostile_site: dict[str, bytes]) -> None:
    text = hostile_site["LEADERBOARD.md"].decode()
    assert not HIDDEN.search(text)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # indented lines are code
    assert set(re.findall(r"</?([a-zA-Z]+)", prose)) <= MARKDOWN_TAGS
    assert not re.search(r"(?<!\\)\]\((?!https://|#|[a-z-]+\.(csv|html|json|md))", prose)
    for table in re.findall(r"(?:^\| .*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, "a cell breaks its table"


def test_names_are_shown_with_invisible_characters_written_out(pages: dict[str, Parsed]) -> None:
    shown = " ".join(pages["methods.html"].words.split())
    for name in (name for name in hostile.NAMES if len(name) < 100):
        assert " ".join(visible(name).split()) in shown
    for text, expected in (
            ("tab\tand\nline", "tab\tand\nline"), ("one\r\ntwo\rthree", "one\ntwo\nthree"), ("a\u202eb", "a⟨U+202E⟩b"),
            ("\x00", "⟨U+0000⟩"), ("\ud800", "⟨U+D800⟩"), ("\U000e0041", "⟨U+E0041⟩"), ("–×ρ\u00a0", "–×ρ\u00a0"),
            ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469")):
        assert visible(text) == expected
