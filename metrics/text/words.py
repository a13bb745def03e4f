"""Text processing for metrics: words, tokens, n-grams, stems, and items grouped by their references.

`tokens` returns sacreBLEU's 13a tokens, by a regular expression, or by sacreBLEU itself for texts whose tokens depend
on the order of its substitutions (entities, `<skipped>`, a hyphen at a line end, a digit after two stops or commas).

In other languages, following Unicode (UAX #29), a word is a run of letters and digits with their combining marks, or a
single character in scripts without spaces (Han, Hiragana, Thai, Lao, Khmer, Burmese); BLEU uses sacreBLEU's tokenizer
for the item's language.

Only the aggregation `standard` uses blank references, as the packages do, and only BLEU's length depends on them. Items
without a non-blank reference are not scored.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import re
import sys
import types
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item, Reference, primary_language
from metrics.column import Column
from metrics.errors import CannotScore, MissingResource

Aggregation: TypeAlias = Literal["standard", "mean", "max", "first"]
"""Aggregation over references: as in the metric's paper, their mean, their maximum, or only the first."""

Ngram: TypeAlias = tuple[str, ...]
Text = TypeVar("Text")

_SYMBOL = r"!-&(-+/:-@\[-`{-~"
_TOKEN = re.compile(rf"(?:[^\s{_SYMBOL}.,\-]+|(?<![0-9])-|(?<=[0-9])[.,](?=[0-9]))+|[{_SYMBOL}.,\-]")
_STOPS_BEFORE_DIGIT = re.compile(r"[.,]{2}[0-9]")
_WORD = re.compile(r"\w+(?:['’]\w+)*")

Tokenizer: TypeAlias = Literal["language", "13a", "intl", "zh", "char", "ja-mecab", "ko-mecab", "flores200"]
"""A tokenizer of sacreBLEU, or by language: zh for Chinese, char for languages without spaces, else 13a."""

SPACELESS = ("\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
             "\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff")
"""Characters of scripts that are written without spaces, as ranges of a regular expression."""

_TOKENIZERS: dict[str, Tokenizer] = {"zh": "zh", **dict.fromkeys(("ja", "th", "lo", "km", "my"), "char")}


def words(text: str, language: str = "en") -> list[str]:
    """Return the words of a text, lower-cased and without punctuation."""
    return (_WORD if primary_language(language) == "en" else _unicode_word()).findall(text.lower())


def terms(text: str) -> list[str]:
    """Return search terms: words, or pairs of adjacent characters in scripts without spaces, as in Lucene."""
    if text.isascii():
        return words(text)
    runs = (_unicode_word().findall(run) for run in _unicode_word(runs=True).findall(text.lower()))
    return [term for run in runs for term in (map("".join, pairwise(run)) if len(run) > 1 else run)]


def tokens(text: str, lowercase: bool = False, language: str = "en", tokenizer: Tokenizer = "language") -> list[str]:
    """Return sacreBLEU's tokens of a text: 13a for English."""
    text = (text.lower() if lowercase else text).rstrip()
    if tokenizer == "language":
        tokenizer = _TOKENIZERS.get(primary_language(language), "13a")
    if tokenizer != "13a":
        return list(_sacrebleu(tokenizer)(text).split())
    is_simple = not ("&" in text or "-\n" in text or "<skipped>" in text or _STOPS_BEFORE_DIGIT.search(text))
    return _TOKEN.findall(text) if is_simple else list(_sacrebleu("13a")(text).split())


def ngrams(sequence: Sequence[str], order: int) -> Iterator[Ngram]:
    return zip(*(sequence[start:] for start in range(order)), strict=False)


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    stemmed: str = _porter().stem(word)
    return stemmed


def reply(item: Item) -> str:
    if item.response is None:
        raise CannotScore(f"item {item.id} is a whole dialogue; this metric scores responses")
    return item.response.text


def reference_groups(items: Sequence[Item],
            references: Aggregation) -> Iterator[tuple[tuple[Reference, ...], list[tuple[int, str]]]]:
    """Yield the references to use, with positions and responses of all items of one language that share them."""
    groups: dict[tuple[tuple[Reference, ...], str], list[int]] = {}
    for row, item in enumerate(items):
        groups.setdefault((item.references, item.language), []).append(row)
    for (shared, _), rows in groups.items():
        with_text = tuple(reference for reference in shared if reference.text.strip())
        if with_text:
            used = {"standard": shared, "first": with_text[:1]}.get(references, with_text)
            yield used, [(row, reply(items[row])) for row in rows]


def over_references(scores: Sequence[float], references: Aggregation) -> float:
    """Return the mean of the scores with each reference if `references` is `mean`, else the largest."""
    return math.fsum(scores) / len(scores) if references == "mean" else max(scores)


def against_references(items: Sequence[Item], references: Aggregation, prepare: Callable[[str, str], Text],
                       score: Callable[[Text, Text], float]) -> Column:
    """Score each response against each of its references; NaN without a reference.

    `prepare` converts a text, given its language, to the argument of `score`; `standard` means `max`.
    """
    column: Column = unscored(1, len(items))[0]
    for shared, replies in reference_groups(items, "max" if references == "standard" else references):
        language = items[replies[0][0]].language
        prepared = [prepare(reference.text, language) for reference in shared]
        for row, text in replies:
            response = prepare(text, language)
            column[row] = over_references([score(response, reference) for reference in prepared], references)
    return column


def unscored(columns: int, items: int) -> npt.NDArray[np.float64]:
    """Return a table (columns, items) of NaN."""
    return np.full((columns, items), np.nan)


class BitTexts:
    """Texts as the bits of one integer, a bit per word and a free bit after each text, to search all at once.

    `positions` holds the bits of each word, `spans` the bits of each text, `lengths` the number of its words. Time and
    memory grow with the product of the lengths compared, which suits utterances.
    """

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self.positions: dict[str, int] = {}
        self.spans: list[int] = []
        self.lengths = [len(text) for text in texts]
        start = 0
        for text in texts:
            for bit, word in enumerate(text, start):
                self.positions[word] = self.positions.get(word, 0) | 1 << bit
            self.spans.append((1 << len(text)) - 1 << start)
            start += len(text) + 1

    def matches(self, text: Sequence[str], orders: int) -> Iterator[list[int]]:
        """Yield for each order the n-grams of `text` that occur here, from the left, as the bits of their last words.

        Different n-grams of one order never end at the same position, so equal bits mean equal n-grams.
        """
        words = [*map(self.positions.get, text, repeat(0)), 0]  # the last 0 stops n-grams at the end of the text
        ends = [(index, bits) for index, bits in enumerate(words) if bits]
        for _ in range(orders):
            yield [bits for _, bits in ends]
            ends = [(index + 1, bits) for index, before in ends if (bits := before << 1 & words[index + 1])]

    def counts(self, bits: int) -> list[int]:
        """Return how many of the bits lie in each text."""
        return [(bits & span).bit_count() for span in self.spans]


@functools.lru_cache
def _unicode_word(*, runs: bool = False) -> re.Pattern[str]:
    """Return the pattern of a word of any language; with `runs`, a run of spaceless characters is one match."""
    marks = "".join(char for char in map(chr, range(0x20000)) if unicodedata.category(char)[0] == "M")
    marks += "\u200c\u200d"
    character = rf"(?:[{SPACELESS}](?<=\w)[{marks}]*){'+' * runs}"
    letters = rf"(?:[^\W{SPACELESS}][{marks}]*)+"
    return re.compile(rf"{character}|{letters}(?:['’]{letters})*")


@functools.lru_cache
def _sacrebleu(name: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError, OSError) as error:  # its data is neither installed nor downloadable
        reason = " ".join(str(error).split())
        raise MissingResource(f"sacreBLEU's tokenizer {name} is unavailable ({reason:.200}); choose another") from error


@functools.lru_cache(maxsize=1)
def _porter() -> Any:
    """Return NLTK's stemmer without importing the rest of NLTK, which takes a second."""
    imported, spec = set(sys.modules), importlib.util.find_spec("nltk")
    if "nltk" not in imported and spec:
        for name in ("nltk", "nltk.stem"):
            sys.modules[name] = package = types.ModuleType(name)
            package.__path__ = [str(Path(str(spec.origin)).parent.joinpath(*name.split(".")[1:]))]
    try:
        return importlib.import_module("nltk.stem.porter").PorterStemmer()
    finally:  # so that a later import of NLTK loads all of it
        for name in [name for name in sys.modules.keys() - imported if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]
