"""A site of hostile names has the elements, attributes and links of a site of plain ones, and shows every name."""

import json
import re
from html.parser import HTMLParser

import pytest

from leaderboard.render.escaping import HIDDEN, visible
from leaderboard.site import site as draw
from tests.leaderboard import hostile

EMPTY = {"meta", "link", "wbr", "br", "input", "hr"}
MARKDOWN_TAGS = {"a", "br", "details", "ins", "small", "sub", "summary", "sup"}


class Parsed(HTMLParser):
    """A page as a browser would take it apart: what was made, attributes, data for scripts, words."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.made: set[tuple[str, str]] = set()
        self.values: list[tuple[str, str, str]] = []
        self.data: list[str] = []
        self.words: list[str] = []
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.made |= {(tag, ""), *((tag, name) for name, _ in attrs)}
        self.values += [(tag, name, value or "") for name, value in attrs]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in EMPTY or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.data if self.open[-1:] == ["script"] else self.words).append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def attributes(self, *names: str) -> list[str]:
        """The values of attributes of some names."""
        return [value for _, name, value in self.values if name in names]


def parsed(site: dict[str, bytes]) -> dict[str, Parsed]:
    return {path: Parsed(content) for path, content in site.items() if path.endswith(".html")}


@pytest.fixture(scope="module")
def pages(hostile_site: dict[str, bytes]) -> dict[str, Parsed]:
    return parsed(hostile_site)


def test_names_make_no_element_and_no_attribute(pages: dict[str, Parsed]) -> None:
    harmless = parsed(draw(hostile.make(hostile.plain(hostile.NAMES))))
    made = {pair for page in harmless.values() for pair in page.made}
    assert {(*pair, path) for path, page in pages.items() for pair in page.made - made - {("wbr", "")}} == set()
    assert not [path for path, page in pages.items() if page.open]


def test_nothing_runs_but_the_scripts_of_the_site_and_ids_are_distinct(
        hostile_site: dict[str, bytes], pages: dict[str, Parsed]) -> None:
    for path, page in pages.items():
        assert not [value for value in page.values if value[1].startswith("on") or value[1] in ("style", "srcdoc")]
        assert {tag for tag, _ in page.made}.isdisjoint({"iframe", "img", "object", "embed", "base", "style"}), path
        scripts = re.findall(rb"<script\b[^>]*>", hostile_site[path])
        assert not [tag for tag in scripts if b"src=" not in tag and b'type="application/json"' not in tag], path
        ids = page.attributes("id")
        assert len(set(ids)) == len(ids), path
        seen = "".join((*page.words, *(value for _, _, value in page.values)))
        assert not HIDDEN.search(seen), f"{path}: what cannot be seen is written out"


def test_data_for_scripts_holds_every_name_as_it_is_shown_and_every_row_of_the_board(
        hostile_site: dict[str, bytes], pages: dict[str, Parsed]) -> None:
    script = hostile_site["numbers.js"].decode()
    given = json.loads(script.removeprefix("const Numbers = ").removesuffix(";\n"))
    found = json.dumps(given, ensure_ascii=False)
    of_sample = {entry.name for entry in hostile.make().datasets if entry.origin == "sample"}
    assert not [name for name in hostile.NAMES[:10] if name not in of_sample
                and json.dumps(visible(name), ensure_ascii=False) not in found]
    assert not HIDDEN.search(found)
    assert script.isascii()
    assert sorted(map(int, pages["index.html"].attributes("data-row"))) == list(range(len(given["columns"])))


def test_markdown_has_no_markup_of_a_name(hostile_site: dict[str, bytes]) -> None:
    text = hostile_site["LEADERBOARD.md"].decode()
    assert not HIDDEN.search(text)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # indented: code, as it is
    assert set(re.findall(r"</?([a-zA-Z]+)", prose)) <= MARKDOWN_TAGS
    assert not re.search(r"(?<!\\)\]\((?!https://|#|[a-z-]+\.(csv|html|json|md))", prose)
    block: list[int] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            block.append(len(re.findall(r"(?<!\\)\|", line)))
        else:
            assert len(set(block)) <= 1, "no cell breaks its table"
            block = []


def test_every_name_is_shown_and_a_sign_without_a_shape_is_written_out(pages: dict[str, Parsed]) -> None:
    shown = " ".join("".join(pages["methods.html"].words).split())
    for name in (name for name in hostile.NAMES if len(name) < 100):
        assert " ".join(visible(name).split()) in shown
    for text, expected in (
            ("tab\tand\nline", "tab\tand\nline"), ("one\r\ntwo\rthree", "one\ntwo\nthree"), ("a\u202eb", "a⟨U+202E⟩b"),
            ("\x00", "⟨U+0000⟩"), ("\ud800", "⟨U+D800⟩"), ("\U000e0041", "⟨U+E0041⟩"), ("–×ρ\u00a0", "–×ρ\u00a0"),
            ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469")):
        assert visible(text) == expected
