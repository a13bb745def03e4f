"""Pictures from a file: parsed, and written again with nothing but shapes, lines and text.

What a picture may contain is on the two lists below; anything else is left out with all its content: scripts, handlers,
styles, links, images, references to other places. Ids are left out as well, since two pictures of a page may share one.
A picture with a document type or entities is refused. Colours stay as attributes, which the page's policy allows; those
of a style attribute become such attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from xml.parsers import expat

SPACE = "http://www.w3.org/2000/svg"
ELEMENTS = frozenset({"svg", "g", "title", "desc", "rect", "circle", "ellipse", "line", "polyline", "polygon", "path",
                      "text", "tspan"})
PAINT = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
         "fill-opacity", "stroke-opacity", "font-size", "font-weight", "font-style", "font-family", "text-anchor",
         "dominant-baseline")
ATTRIBUTES = frozenset({"x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry", "width", "height",
                        "d", "points", "transform", *PAINT})
VALUE = re.compile(r"[\w\s.,#%()+-]*")
BOX = re.compile(r"\s*0[\s,]+0[\s,]+(\d{1,5}(?:\.\d+)?)[\s,]+(\d{1,5}(?:\.\d+)?)\s*")
DEEPEST = 40
LARGEST = 1_000_000
"""Characters of a picture: a page should stay under 2 MB."""


class Unsafe(ValueError):
    """A picture that cannot be shown; the message says why."""


def sanitised(svg: str, text: str) -> str:
    """Return the picture with nothing but what is allowed; `text` is read to those who do not see it."""
    if len(svg) > LARGEST:
        raise Unsafe(f"it has more than {LARGEST} characters")
    pen = _Pen(text)
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = pen.doctype
    parser.StartElementHandler = pen.start
    parser.EndElementHandler = pen.end
    parser.CharacterDataHandler = pen.text
    try:
        parser.Parse(svg.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise Unsafe(f"it is not well-formed ({expat.ErrorString(error.code)})") from error
    return "".join(pen.parts)


class _Pen:
    """Writes what the lists allow of what the parser reads."""

    def __init__(self, description: str) -> None:
        self.parts: list[str] = []
        self.description = description
        self.open: list[str] = []
        self.hidden = 0

    def doctype(self, *_: object) -> None:
        raise Unsafe("it has a document type")

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        space, _, element = name.rpartition(" ")
        root = not self.open and not self.hidden
        if root and (element != "svg" or space not in ("", SPACE)):
            raise Unsafe("it is no SVG")
        if self.hidden or space not in ("", SPACE) or element not in ELEMENTS or len(self.open) >= DEEPEST \
                or (element == "svg" and not root):
            self.hidden += 1
            return
        self.open.append(element)
        self.parts.append(self._root(attributes) if root else f"<{element}{''.join(_attributes(attributes))}>")

    def end(self, _: str) -> None:
        if self.hidden:
            self.hidden -= 1
        else:
            self.parts.append(f"</{self.open.pop()}>")

    def text(self, value: str) -> None:
        if not self.hidden and self.open and self.open[-1] in ("title", "desc", "text", "tspan"):
            self.parts.append(escape(value))

    def _root(self, attributes: Mapping[str, str]) -> str:
        box = BOX.fullmatch(attributes.get("viewBox", ""))
        if box is None:
            raise Unsafe("its viewBox is not of the form 0 0 WIDTH HEIGHT")
        width, height = (float(side) for side in box.groups())
        if not 0 < width <= 20_000 or not 0 < height <= 20_000:
            raise Unsafe("it has no size, or one above 20,000")
        paint = {name: value for name, value in attributes.items() if name in PAINT}
        return (f'<svg class="drawing" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
                f'role="img" tabindex="0" aria-label="{escape(self.description)}"{"".join(_attributes(paint))}>')


def _attributes(attributes: Mapping[str, str]) -> Iterator[str]:
    """List the allowed attributes, those of the style attribute too, in the order of their names."""
    declared = (part.partition(":")[::2] for part in attributes.get("style", "").split(";"))
    style = {name.strip(): value.strip() for name, value in declared if name.strip() in PAINT}
    for name, value in sorted({**attributes, **style}.items()):
        if name in ATTRIBUTES and VALUE.fullmatch(value) and "url" not in value.casefold():
            yield f' {name}="{escape(value)}"'
