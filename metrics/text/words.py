"""Text processing for metrics: words, tokens, n-grams, stems, and items grouped by their references.

`tokens` returns the tokens of sacreBLEU's tokenizer for the item's language. Outside English, following Unicode
(UAX #29), a word is a run of letters and digits with their combining marks, or a single character in scripts without
spaces (Han, Hiragana, Thai, Lao, Khmer, Burmese).

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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item, Reference, primary_language
from metrics.column import Column
from metrics.errors import CannotScore, MissingResource

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

Aggregation: TypeAlias = Literal["standard", "mean", "max", "first"]
"""Aggregation over references: as in the metric's paper, their mean, their maximum, or only the first."""

Ngram: TypeAlias = tuple[str, ...]
Text = TypeVar("Text")

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
    return list(sacrebleu(language, tokenizer).tokenizer(text).split())


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


@functools.lru_cache
def _unicode_word(*, runs: bool = False) -> re.Pattern[str]:
    """Return the pattern of a word of any language; with `runs`, a run of spaceless characters is one match."""
    marks = "".join(char for char in map(chr, range(0x20000)) if unicodedata.category(char)[0] == "M")
    marks += "\u200c\u200d"
    character = rf"(?:[{SPACELESS}](?<=\w)[{marks}]*){'+' * runs}"
    letters = rf"(?:[^\W{SPACELESS}][{marks}]*)+"
    return re.compile(rf"{character}|{letters}(?:['’]{letters})*")


@functools.lru_cache
def sacrebleu(language: str, tokenizer: Tokenizer = "language", lowercase: bool = False) -> BLEU:
    """Return sacreBLEU's BLEU without smoothing; raise MissingResource if its tokenizer is unavailable."""
    from sacrebleu.metrics.bleu import BLEU

    name = _TOKENIZERS.get(primary_language(language), "13a") if tokenizer == "language" else tokenizer
    try:
        return BLEU(lowercase=lowercase, tokenize=name, smooth_method="none", effective_order=True)
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
