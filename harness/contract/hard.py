"""Items that tend to break metrics, by kind of difficulty.

Each odd text serves as response, reference and context in turn, with plain texts in the other fields, so that any
metric can score every case.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Item, Level, Reference, Source, Utterance

TEXTS: dict[str, tuple[str, ...]] = {
    "empty response": ("",),
    "whitespace only": (" ", "\t\n", "\u3000"),
    "punctuation and single letters": (".", "?!", "a", "-\nx", "3.5 % of $1,000-2,000", "don't can't won't"),
    "repeated words": ("na na na na na", "ok " * 2000),
    "Arabic and Hebrew": ("مرحبا ، كيف حالك اليوم ؟", "ירושלים مرحبا"),
    "Chinese and Japanese": ("你好，你今天怎么样？", "日本語のテキスト です"),
    "emoji": ("🙂🙃 🙂", "👩‍👩‍👧‍👦 🏳️‍🌈 ❤️"),
    "combining marks": ("émigré naïve café", "e\u0301 n\u0303 Z\u0351\u036b\u0343", "İstanbul ǅ ß"),
    "control characters": ("a\u202eb\u0000c", "\x00\x07\x1b[31m", "cut \ud800 short"),
    "markup": ("<b>&amp;</b> <skipped>",),
    "very long texts": ("x" * 100_000, "word " * 20_000),
}
CARD = DatasetCard("hard-cases", "Hard cases", "dev", "turn", (), 0, (Source("made here"),), "Apache-2.0", "none")
FACTS = ("I like tea.",)


def items_with_text(text: str, name: str = "") -> tuple[Item, ...]:
    """Return items with an odd text as response, reference or context."""
    reply, greeting = "a good reply to you", "hello there"
    parts = {"response": (text, reply, greeting), "reference": (reply, text, greeting), "context": (reply, reply, text)}
    return tuple(item(f"{name}{part}", response, (reference,), (context,))
                 for part, (response, reference, context) in parts.items())


def item(name: str, response: str, references: Sequence[str] = ("a good reply to you",),
         context: Sequence[str] = ("hello there",)) -> Item:
    """Return an item whose context alternates between the speakers and ends with the user."""
    turns = [Utterance(USER if back % 2 == 0 else SYSTEM, text) for back, text in enumerate(reversed(context))]
    return Item(name, tuple(turns[::-1]), Utterance(SYSTEM, response), tuple(map(Reference, references)), FACTS, "bot")


def cases() -> dict[str, tuple[Item, ...]]:
    """Return the items by kind of difficulty."""
    odd = {name: tuple(case for number, text in enumerate(texts, 1)
                       for case in items_with_text(text, f"{name} {number} as "))
           for name, texts in TEXTS.items()}
    response, context = Utterance(SYSTEM, "hello there"), (Utterance(USER, "what now ?"),)
    return odd | {
        "no references": (Item("without references", context, response, (), FACTS),
                          item("blank reference", "well", (" ",)),
                          item("several references", "well", ("a good reply", "", "another reply"))),
        "no context": (Item("without context", (), response, (Reference("hello"),), FACTS),
                       item("blank context", "well", context=(" ",))),
        "nothing but a response": (Item("bare", (), response),),
        "one utterance": (item("one utterance before", "well", context=("hi",)),),
        "500 utterances": (item("500 utterances", "well", context=("what now ?", "not much .") * 249 + ("and ?",)),),
    }


def full_dataset() -> Dataset:
    """Return a dataset of all these items and a plain one."""
    return dataset((item("plain", "yes , i like tea"), *itertools.chain.from_iterable(cases().values())))


def dialogues() -> tuple[Item, ...]:
    """Return dialogues of one, two and 500 utterances, and one between named people."""
    turns = tuple(Utterance((USER, SYSTEM)[index % 2], f"line {index} is here") for index in range(500))
    return (Item("one", turns[:1], None), Item("two", turns[:2], None), Item("all", turns, None),
            Item("people", (Utterance("Ann", "hi"), Utterance("Bob", "hello you there")), None))


def dataset(items: Sequence[Item], level: Level = "turn") -> Dataset:
    """Make a dataset of items without ratings."""
    return Dataset(replace(CARD, level=level, size=len(items)), tuple(items), (), "sample")
