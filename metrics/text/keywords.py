"""Keywords of an utterance by TF-IDF and part of speech, as in GRADE (Huang et al. 2020, after Tang et al. 2019).

A keyword is a noun, verb or adjective. By default, word lists exclude function words, adverbs, interjections, numbers,
and verbs and nouns too general for a topic; tagger=nltk uses NLTK's tagger. The candidates with the largest
tf · ln(N / df) are kept, in the order of the text. tagger=weighed follows GRADE's released code and keeps words with
(weight of the part of speech) · tf / words · log10(N / df) above 0.15.

`keyword_counts.tsv.gz` holds the number of utterances with each word in the training splits of five corpora (df), after
a first line with the number of utterances (N).
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, TypeAlias

from metrics.errors import MissingResource
from metrics.text.words import terms

Tagger: TypeAlias = Literal["lists", "nltk", "weighed"]
MAX_KEYWORDS = 10
"""Maximum number of keywords of a text."""
MIN_RARITY = 3.0
"""Minimum ln(N / df) of a keyword: a word in more than one in twenty utterances is too common to name a topic."""
MIN_COUNT = 5
"""Minimum number of utterances with a word for it to be counted."""
SPEECH_WEIGHTS, MIN_WEIGHT = {"VB": 1.0, "NN": 2.0, "JJ": 0.5}, 0.15
"""Weights with tagger=weighed by the first letters of a Penn Treebank tag; the weight above which a word is kept."""
_WORD = re.compile(r"[a-zà-ɏ]+(?:['’][a-zà-ɏ]+)?", re.IGNORECASE)
STOP_WORDS, GENERAL_WORDS, LY_WORDS = (frozenset(words.split()) for words in tomllib.loads(
    (files(__package__) / "english.toml").read_text("utf-8")).values())
"""Function words, other words too general for a topic, and words in -ly that are not adverbs."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of utterances, and of utterances with each word."""

    utterances: int
    words: Mapping[str, int]
    digest: str

    def rarity(self, word: str) -> float:
        """Return ln(N / df), 0 or more, with df = MIN_COUNT - 1 for an uncounted word."""
        return math.log(self.utterances / self.words.get(word, MIN_COUNT - 1))


def plain_words(text: str) -> list[str]:
    """Return the lower-cased words of a text, without digits, possessive endings and words in -n't."""
    words = (word.replace("’", "'") for word in _WORD.findall(text.casefold()))
    return [word.partition("'")[0] for word in words if not word.endswith("n't")]


@functools.lru_cache(maxsize=1 << 18)
def keywords(text: str, tagger: Tagger = "lists") -> tuple[str, ...]:
    """Return the distinct keywords of a text, in order of appearance."""
    if tagger == "weighed":
        return tuple(_weighted_keywords(_tags_by_nltk(text), shipped_counts()))
    if tagger == "nltk":
        candidates = _content_words(_tags_by_nltk(text))
    else:  # there are no word lists for non-Latin scripts
        foreign = [] if text.isascii() else terms(text)
        candidates = [*filter(is_topical, plain_words(text)),
                      *(term for term in foreign if term[0].isalpha() and not _WORD.match(term))]
    return tuple(ranked(Counter(candidates), shipped_counts()))


def ranked(frequency: Mapping[str, int], counts: Counts) -> list[str]:
    """Return the MAX_KEYWORDS candidates with the largest tf · ln(N / df), in order of appearance."""
    weights = {word: times * rarity for word, times in frequency.items()
               if (rarity := counts.rarity(word)) >= MIN_RARITY}
    best = set(sorted(weights, key=lambda word: (-weights[word], word))[:MAX_KEYWORDS])
    return [word for word in weights if word in best]


def is_topical(word: str) -> bool:
    """Return True if a lower-cased word can name a topic."""
    return (2 < len(word) < 24 and word not in STOP_WORDS and word not in GENERAL_WORDS
            and not (word.endswith("ly") and word not in LY_WORDS))


def vocabulary(min_count: int = 10) -> list[str]:
    """Return the counted words that can be keywords, most frequent first."""
    counts = shipped_counts()
    return [word for word, count in counts.words.items()
            if count >= min_count and is_topical(word) and counts.rarity(word) >= MIN_RARITY]


@functools.cache
def shipped_counts() -> Counts:
    content = gzip.decompress((files(__package__) / "keyword_counts.tsv.gz").read_bytes())
    first, *lines = content.decode().splitlines()
    words = (line.split("\t") for line in lines)
    return Counts(int(first.split("\t")[1]), {word: int(count) for word, count in words},
                  hashlib.sha256(content).hexdigest())


def _weighted_keywords(tagged: Sequence[tuple[str, str]], counts: Counts) -> list[str]:
    """Return the distinct words whose weight is above MIN_WEIGHT."""
    words = [(first, SPEECH_WEIGHTS.get(tag[:2], 0.0)) for word, tag in tagged for first in plain_words(word)[:1]]
    frequency = Counter(word for word, _ in words)
    return list(dict.fromkeys(word for word, speech in words if len(word) > 1 and speech * frequency[word] / len(tagged)
                              * counts.rarity(word) / math.log(10) > MIN_WEIGHT))


def _tags_by_nltk(text: str) -> list[tuple[str, str]]:
    import nltk

    try:
        return list(nltk.pos_tag(_WORD.findall(text)))
    except LookupError:
        raise MissingResource("NLTK's tagger is not installed: run `python -m nltk.downloader "
                              "averaged_perceptron_tagger_eng`, or use tagger=lists") from None


def _content_words(tagged: Iterable[tuple[str, str]]) -> list[str]:
    """Return the nouns, verbs and adjectives that are neither function words nor too general for a topic."""
    words = (plain_words(word) for word, tag in tagged if tag[:2] in SPEECH_WEIGHTS)
    return [first for parts in words for first in parts[:1]
            if 2 < len(first) < 24 and first not in STOP_WORDS and first not in GENERAL_WORDS]
