"""Exhibits: of a picture from a file stays what may, and nothing that could act on a page; tables sort by number."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from harness.results.rows import Exhibit, Grid, Look, Results
from harness.studies._picture import Map, heat_maps
from leaderboard.blocks.tables import Picture, Prose, Table
from leaderboard.blocks.weights import curve
from leaderboard.pages import exhibits
from leaderboard.pages.exhibits import Unsafe, on_sample, sanitised, sections

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 20">'
SAMPLE = "the bundled sample (made by a script, simulated raters)"


def within(content: str) -> str:
    """What is left of the content of a picture."""
    return sanitised(f"{HEAD}{content}</svg>", "told").partition(">")[2].removesuffix("</svg>")


def exhibit(kind: str = "study", name: str = "measures", picture: str = "", data: str = "real data") -> Exhibit:
    grid = Grid("real", "Caption <b>", ("measure", "power", "said"), (("<i>τ</i>", "−0.31 ± 0.02", "yes"),
                                                                       ("ρ", "–", "no")), data)
    return Exhibit(name, kind, "Title <script>", "Lead.", "harness study measures", (grid,),
                   ((picture, "In words."),) if picture else (), ("A remark.",))


def test_what_could_act_is_left_out_and_a_style_becomes_attributes() -> None:
    for content in (
            "<script>alert(1)</script>", '<a href="x"><text>y</text></a>', "<foreignObject><b>x</b></foreignObject>",
            "<style>*{fill:red}</style>", '<image href="https://x.test/a.png"/>', '<use xlink:href="#a"/>',
            '<animate attributeName="fill"/>', '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
            "<svg><rect/></svg>", "<?xml-stylesheet href='x'?>", "<!-- <script>x</script> -->"):
        assert within(f'{content}<rect width="1"/>') == '<rect width="1"></rect>', content
    for attribute in (
            'onload="alert(1)"', 'href="javascript:alert(1)"', 'xlink:href="x"', 'class="skip"', 'id="main"',
            'tabindex="1"', 'fill="url(https://x.test/#a)"', 'fill="URL(#a)"', 'style="position:fixed"',
            'style="fill:url(#a)"', 'd="M0 0&quot;&gt;"', 'filter="url(#f)"', 'transform="\\6a"'):
        assert within(f"<rect {attribute}/>") == "<rect></rect>", attribute
    assert within('<text style="fill: #00539c; cursor:wait">a &lt;b&gt; <b>x</b>&amp; <tspan>c</tspan>d</text>') == (
        '<text fill="#00539c">a &lt;b&gt; &amp; <tspan>c</tspan>d</text>')
    assert within("<g>" * 60 + "</g>" * 60) == "<g>" * 39 + "</g>" * 39


def test_what_is_no_picture_is_refused_and_said() -> None:
    for picture, why in (
            ('<!DOCTYPE svg [<!ENTITY a "b">]>' + HEAD + "&a;</svg>", "document type"), ("<svg", "well-formed"),
            ("<html/>", "no SVG"), ('<svg viewBox="0 0 0 4"/>', "no size"), ("<svg/>", "viewBox"),
            ("x" * 1_000_001, "characters"), ('<svg xmlns="http://x.test/" viewBox="0 0 1 1"/>', "no SVG")):
        with pytest.raises(Unsafe, match=why):
            sanitised(picture, "words")
        (block,) = sections(exhibit(picture=picture))[0].blocks
        assert isinstance(block, Prose)
        assert ("left out" in block.text, "In words." in block.text) == (True, True)


def test_our_own_pictures_lose_nothing_that_is_seen() -> None:
    for picture in (heat_maps("Title", [Map("Map", ("a", "b<"), np.array([[1, -0.5], [-0.5, 1]]))])[0],
                    curve("name", [Look(1, 0.5, 0.6), Look(2, 0.4, 0.5)], 2).decode()):
        before, after = ET.fromstring(picture), ET.fromstring(sanitised(picture, "told"))  # noqa: S314
        assert after.get("aria-label") == "told"
        for one, other in zip(list(before.iter())[1:], list(after.iter())[1:], strict=True):
            assert (one.tag.rpartition("}")[2], (one.text or "").strip()) == (other.tag, other.text or "")
            assert {name: value for name, value in one.attrib.items() if name != "id"} == other.attrib


def test_an_exhibit_becomes_tables_with_numbers_to_sort_by_on_the_data_that_they_name() -> None:
    (table, remarks, repeat) = sections(exhibit())
    (shown,) = table.blocks
    assert isinstance(shown, Table)
    assert [heading.kind for heading in shown.headings] == ["stub", "number", "text"]
    assert [[cell.value for cell in row] for row in shown.rows] == [[None, -0.31, None], [None, None, None]]
    assert (remarks.blocks, repeat.blocks) == ((Prose("A remark."),), (Prose("harness study measures", code=True),))
    for data, sample in ((SAMPLE, True), (f"{SAMPLE}, datasets with references", True), ("real data", False),
                         ("Persona-See, sample, 40 items", True), ("USR, real, 3 items", False), ("", False)):
        assert on_sample(exhibit(data=data).grids[0]) == sample


def test_each_study_has_a_page_and_the_challenge_one_and_beside_real_data_none_is_on_the_sample(
        mixed: Results) -> None:
    simulated = tuple(entry for entry in mixed.datasets if entry.origin == "sample")
    full = replace(mixed, datasets=simulated, exhibits=(exhibit(name="b/../<x>"), exhibit(name="measures", data=SAMPLE),
                                      exhibit("challenge", "dstc10", HEAD + "<rect/></svg>")))
    page, first, second = exhibits.build(full)
    assert first.path.startswith("study/b-x")
    assert (second.path, second.group) == ("study/measures.html", "Studies")
    assert (page.path, page.group) == ("challenge.html", "")
    assert isinstance(page.sections[0].blocks[0], Picture)
    assert [page.path for page in exhibits.build(replace(full, datasets=mixed.datasets))] == [page.path, first.path]
