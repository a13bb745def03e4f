"""Parts of speech and synonyms, from the file of senses in NLTK's `wordnet.zip` (senseidx(5WN)).

A line of `index.sense` reads `lemma%type:...  synset  number  count`: the type is the part of speech, the number
orders the senses of a lemma by how common they are, the count says how often a sense was met in tagged texts. A word
is looked up as it is and in its base forms (wndb(5WN), morphy(7WN)). Its part of speech is the one whose senses were
met most often, whatever its sentence is: no tagger is needed, and a word such as "run" is a verb everywhere.

Leave function words out first: WordNet knows "I" as iodine and "a" as a unit of length.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from zipfile import BadZipFile, ZipFile

from metrics.errors import MissingResource

TYPES = {"1": "noun", "2": "verb", "3": "adjective", "4": "adverb", "5": "adjective"}
FILES = {"noun": "noun.exc", "verb": "verb.exc", "adjective": "adj.exc", "adverb": "adv.exc"}
ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
             ("men", "man"), ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adjective": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adverb": (),
}

Word: TypeAlias = tuple[str, str]
"""A part of speech, and a lemma or the place of a set of lemmas in it."""


@dataclass
class Lexicon:
    """The senses of each lemma as (number, set, count), the lemmas of each set as (count, lemma), irregular forms."""

    senses: dict[Word, list[tuple[int, str, int]]] = field(default_factory=dict)
    members: dict[Word, list[tuple[int, str]]] = field(default_factory=dict)
    irregular: dict[Word, list[str]] = field(default_factory=dict)

    def part_of_speech(self, word: str) -> str:
        """The part of speech in which a word is met most often; empty for a word that WordNet does not know."""
        met = {part: sum(count for form in forms for _, _, count in self.senses[part, form])
               for part in ENDINGS if (forms := self._forms(part, word.lower()))}
        return max(met, key=lambda part: met[part]) if met else ""

    def synonym(self, word: str) -> str:
        """Another single word for the most common sense that has one, in its part of speech; empty without any."""
        part, lowered = self.part_of_speech(word), word.lower()
        for form in self._forms(part, lowered) if part else ():
            for _, synset, _ in sorted(self.senses[part, form]):
                others = [(-count, other) for count, other in self.members[part, synset]
                          if other not in (form, lowered) and "_" not in other]
                if others:
                    return min(others)[1]
        return ""

    def _forms(self, part: str, word: str) -> list[str]:
        """The word and its base forms, as far as WordNet has them in this part of speech."""
        base = self.irregular.get((part, word)) or [
            word.removesuffix(old) + new for old, new in ENDINGS[part] if word.endswith(old)]
        return [form for form in dict.fromkeys((word, *base)) if (part, form) in self.senses]


@functools.lru_cache(maxsize=1)
def lexicon(path: Path) -> Lexicon:
    """Read the archive."""
    words = Lexicon()
    try:
        with ZipFile(path) as archive:
            for line in archive.read("wordnet/index.sense").decode().splitlines():
                _add(words, line)
            for part, name in FILES.items():
                words.irregular |= {(part, word): forms for word, forms in _exceptions(archive, name)}
    except (BadZipFile, KeyError, ValueError) as error:
        raise MissingResource(f"{path} is not NLTK's wordnet.zip ({error}): `harness fetch wordnet`") from error
    return words


def _add(words: Lexicon, line: str) -> None:
    key, offset, number, count = line.split()
    lemma, _, rest = key.partition("%")
    part = TYPES[rest[0]]
    words.senses.setdefault((part, lemma), []).append((int(number), offset, int(count)))
    words.members.setdefault((part, offset), []).append((int(count), lemma))


def _exceptions(archive: ZipFile, name: str) -> Iterator[tuple[str, list[str]]]:
    for line in archive.read(f"wordnet/{name}").decode().splitlines():
        word, *forms = line.split()
        yield word, forms
