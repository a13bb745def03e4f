"""Pictures from a file: what may stay stays, and nothing that could act on a page."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from harness.results.rows import Exhibit, Grid, Look, Results
from harness.studies._picture import Map, heat_maps
from leaderboard.blocks.tables import Picture, Prose, Table
from leaderboard.pages import exhibits
from leaderboard.pages.exhibits import Unsafe, on_sample, sanitised, sections
from leaderboard.pages.training import curve
from leaderboard.render import html

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 20">'
SAMPLE = "the bundled sample (made by a script, simulated raters)"


def within(content: str) -> str:
    """What is left of the content of a picture."""
    found = sanitised(f"{HEAD}{content}</svg>", "told")
    return found.partition(">")[2].removesuffix("</svg>")


def exhibit(kind: str = "study", name: str = "measures", pictures: tuple[tuple[str, str], ...] = (),
            data: str = "real data") -> Exhibit:
    grid = Grid("real", "Caption <b>", ("measure", "power", "said"), (("<i>τ</i>", "−0.31 ± 0.02", "yes"),
                                                                       ("ρ", "–", "no")), data)
    return Exhibit(name, kind, "Title <script>", "Lead.", "harness study measures", (grid,), pictures, ("A remark.",))


def test_what_could_act_is_left_out_with_all_that_is_in_it() -> None:
    for content in (
            "<script>alert(1)</script>", '<a href="x"><text>y</text></a>', "<foreignObject><b>x</b></foreignObject>",
            "<style>*{fill:red}</style>", '<image href="https://x.test/a.png"/>', '<use xlink:href="#a"/>',
            '<animate attributeName="fill"/>', '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
            "<svg><rect/></svg>", "<?xml-stylesheet href='x'?>", "<!-- <script>x</script> -->"):
        assert within(f'{content}<rect width="1"/>') == '<rect width="1"></rect>', content


def test_handlers_references_and_ids_are_left_out_and_a_style_becomes_attributes() -> None:
    for attribute in (
            'onload="alert(1)"', 'href="javascript:alert(1)"', 'xlink:href="x"', 'class="skip"', 'id="main"',
            'tabindex="1"', 'fill="url(https://x.test/#a)"', 'fill="URL(#a)"', 'style="position:fixed"',
            'style="fill:url(#a)"', 'd="M0 0&quot;&gt;"', 'filter="url(#f)"', 'transform="\\6a"'):
        assert within(f"<rect {attribute}/>") == "<rect></rect>", attribute
    assert within('<text style="fill: #00539c; cursor:wait">a &lt;b&gt; &amp; c</text>') == (
        '<text fill="#00539c">a &lt;b&gt; &amp; c</text>')


def test_what_is_no_picture_is_refused_and_said() -> None:
    for picture, why in (
            ('<!DOCTYPE svg [<!ENTITY a "b">]>' + HEAD + "&a;</svg>", "document type"), ("<svg", "well-formed"),
            ("", "well-formed"), ("<html/>", "no SVG"), ('<svg viewBox="0 0 0 4"/>', "no size"), ("<svg/>", "viewBox"),
            ("x" * 1_000_001, "characters"), ('<svg xmlns="http://x.test/" viewBox="0 0 1 1"/>', "no SVG")):
        with pytest.raises(Unsafe, match=why):
            sanitised(picture, "words")
    (first, *_) = sections(exhibit(pictures=((HEAD, "In words."),)))
    (block,) = first.blocks
    assert isinstance(block, Prose)
    assert "left out" in block.text
    assert "In words." in block.text


@pytest.mark.parametrize("picture", [
    heat_maps("Title", [Map("Map", ("a", "b<"), np.array([[1, -0.5], [-0.5, 1]]))])[0],
    curve("name", [Look(1, 0.5, 0.6), Look(2, 0.4, 0.5)], 2).decode()])
def test_our_own_pictures_lose_nothing_that_is_seen(picture: str) -> None:
    before, after = ET.fromstring(picture), ET.fromstring(sanitised(picture, "told"))  # noqa: S314
    drawn, kept = list(before.iter()), list(after.iter())
    assert [(one.tag.rpartition("}")[2], (one.text or "").strip()) for one in drawn] == [
        (one.tag, one.text or "") for one in kept]
    assert after.get("aria-label") == "told"
    for one, other in zip(drawn[1:], kept[1:], strict=True):
        assert {name: value for name, value in one.attrib.items() if name != "id"} == other.attrib


def test_an_exhibit_becomes_tables_with_numbers_to_sort_by() -> None:
    (table, remarks, repeat) = sections(exhibit())
    (shown,) = table.blocks
    assert isinstance(shown, Table)
    assert [heading.kind for heading in shown.headings] == ["stub", "number", "text"]
    assert [[cell.value for cell in row] for row in shown.rows] == [[None, -0.31, None], [None, None, None]]
    assert (shown.data, shown.sample) == ("real data", False)
    assert remarks.blocks == (Prose("A remark."),)
    assert repeat.blocks == (Prose("harness study measures", code=True),)


def test_the_data_of_a_table_says_whether_people_rated() -> None:
    for data, sample in ((SAMPLE, True), (f"{SAMPLE}, datasets with references", True), ("real data", False),
                         ("Persona-See, sample, 40 items", True), ("USR, real, 3 items", False), ("", False)):
        assert on_sample(exhibit(data=data).grids[0]) == sample


def test_each_study_has_a_page_and_the_challenge_one(results: Results) -> None:
    full = replace(results, exhibits=(exhibit(name="b/../<x>"), exhibit(name="measures", data=SAMPLE),
                                     exhibit("challenge", "dstc10", ((HEAD + "<rect/></svg>", "told <"),))))
    page, first, second = exhibits.build(full)
    assert first.path.startswith("study/b-x")
    assert (second.path, second.sample, second.group) == ("study/measures.html", True, "Studies")
    assert (page.path, page.group) == ("challenge.html", "")
    (block,) = page.sections[0].blocks
    assert isinstance(block, Picture)
    text = html.html(page, (), (page,), (), ()).decode()
    assert "<script>" not in text.partition("<main")[2]
    assert "&lt;i&gt;τ&lt;/i&gt;" in text
    assert exhibits.build(results) == ()
