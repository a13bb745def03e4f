"""Keywords of an utterance, as GRADE takes them (Huang et al. 2020, after Tang et al. 2019): TF-IDF and part of speech.

A keyword is a noun, verb or adjective. Without a tagger's model that is told by exclusion, from lists alone: what is
no function word, no adverb, interjection or number, and no verb or noun so general that it names no topic. Where NLTK's
tagger is installed, `tagger` takes its word for it. Of the candidates the rarest by tf · ln(N / df) are
taken, in the order in which they are said; `weighed` takes, as GRADE's released code, those whose part of speech (by
NLTK) · tf / words · log10(N / df) is above 0.15.

`keyword_counts.tsv.gz` holds in how many utterances of the training splits of five corpora a word stands (df); its
first line says in how many it could (N).
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
from pathlib import Path
from typing import Literal, TypeAlias

from metrics.errors import MissingResource
from metrics.text.words import terms

Tagger: TypeAlias = Literal["lists", "nltk", "weighed"]
MOST = 10
"""Keywords of a text."""
RARITY = 3.0
"""The least ln(N / df): what stands in more than one utterance of twenty is no topic."""
LEAST = 5
"""In how many utterances a word must stand to be counted."""
COUNTS = Path(__file__).with_name("keyword_counts.tsv.gz")
TAGS = ("NN", "VB", "JJ")
"""How the tags of the Penn Treebank begin that nouns, verbs and adjectives have."""
SPEECH, LEAST_WEIGHT = {"VB": 1.0, "NN": 2.0, "JJ": 0.5}, 0.15
"""How much a verb, noun and adjective weighs for `weighed`, and the weight above which a word is taken."""
_WORD = re.compile(r"[a-zà-ɏ]+(?:['’][a-zà-ɏ]+)?", re.IGNORECASE)
STOP_WORDS, GENERAL, LY = (frozenset(words.split()) for words in tomllib.loads(
    (files(__package__) / "english.toml").read_text("utf-8")).values())
"""Function words; words that name no topic beyond them; words in -ly that are no adverbs."""


@dataclass(frozen=True, slots=True)
class Counts:
    """In how many of how many utterances each word stands."""

    utterances: int
    words: Mapping[str, int]
    digest: str

    def rarity(self, word: str) -> float:
        """ln(N / df), 0 or more; a word that was not counted is as rare as one of `LEAST` - 1 utterances."""
        return math.log(self.utterances / self.words.get(word, LEAST - 1))


def spelled(text: str) -> list[str]:
    """The words of a text, of letters alone, lower-cased; of a possessive what stands first, of "don't" nothing."""
    words = (word.replace("’", "'") for word in _WORD.findall(text.casefold()))
    return [word.partition("'")[0] for word in words if not word.endswith("n't")]


@functools.lru_cache(maxsize=1 << 18)
def keywords(text: str, tagger: Tagger = "lists") -> tuple[str, ...]:
    """The keywords of a text, each once, in the order in which they are said; none where nothing names a topic."""
    if tagger == "weighed":
        return tuple(_weighed(_tags_by_nltk(text), shipped()))
    candidates = _tagged(_tags_by_nltk(text)) if tagger == "nltk" else [
        *filter(topical, spelled(text)), *_foreign(text)]
    return tuple(ranked(Counter(candidates), shipped()))


def _foreign(text: str) -> list[str]:
    """The terms of a text in other letters than Latin ones, of which no list says which name a topic."""
    return [] if text.isascii() else [term for term in terms(text) if term[0].isalpha() and not _WORD.match(term)]


def ranked(frequency: Mapping[str, int], counts: Counts) -> list[str]:
    """Of the candidates the `MOST` with the largest tf · ln(N / df), in their order."""
    weights = {word: times * rarity for word, times in frequency.items()
               if (rarity := counts.rarity(word)) >= RARITY}
    best = set(sorted(weights, key=lambda word: (-weights[word], word))[:MOST])
    return [word for word in weights if word in best]


def topical(word: str) -> bool:
    """Whether a word, lower-cased, can name a topic: no function word, adverb, interjection or number."""
    return (2 < len(word) < 24 and word not in STOP_WORDS and word not in GENERAL
            and not (word.endswith("ly") and word not in LY))


def vocabulary(least: int = 10) -> list[str]:
    """The counted words that can be keywords, the most frequent first."""
    counts = shipped()
    return [word for word, many in counts.words.items()
            if many >= least and topical(word) and counts.rarity(word) >= RARITY]


@functools.cache
def shipped() -> Counts:
    """The counts that come with this package."""
    content = gzip.decompress(COUNTS.read_bytes())
    first, *lines = content.decode().splitlines()
    words = (line.split("\t") for line in lines)
    return Counts(int(first.split("\t")[1]), {word: int(many) for word, many in words},
                  hashlib.sha256(content).hexdigest())


def _weighed(tagged: Sequence[tuple[str, str]], counts: Counts) -> list[str]:
    """The words whose weight is above LEAST_WEIGHT, each once."""
    words = [(first, SPEECH.get(tag[:2], 0.0)) for word, tag in tagged for first in spelled(word)[:1]]
    frequency = Counter(word for word, _ in words)
    return list(dict.fromkeys(word for word, speech in words if len(word) > 1 and speech * frequency[word] / len(tagged)
                              * counts.rarity(word) / math.log(10) > LEAST_WEIGHT))


def _tags_by_nltk(text: str) -> list[tuple[str, str]]:
    import nltk

    try:
        return list(nltk.pos_tag(_WORD.findall(text)))
    except LookupError:
        raise MissingResource("NLTK's tagger is not on this machine: `python -m nltk.downloader "
                              "averaged_perceptron_tagger_eng`, or take tagger=lists") from None


def _tagged(tagged: Iterable[tuple[str, str]]) -> list[str]:
    """The nouns, verbs and adjectives, less what is a function word or so general that it names no topic."""
    words = (spelled(word) for word, tag in tagged if tag.startswith(TAGS))
    return [first for parts in words for first in parts[:1]
            if 2 < len(first) < 24 and first not in STOP_WORDS and first not in GENERAL]
