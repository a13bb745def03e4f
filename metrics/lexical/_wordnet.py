"""WordNet's synonyms of a word, read from the database files as they lie in NLTK's `wordnet.zip`.

A word is looked up as it is and in its base forms: those its exception list names, else those its endings suggest
(wndb(5WN), morphy(7WN)). The result equals the lemmas of NLTK's `synsets(word)`, without NLTK's global data path.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from metrics.errors import MissingResource

_ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
_INDEX_LINE = re.compile(rb"^([^ \n]+) .*?((?: \d{8})+) *$", re.MULTILINE)


class WordNet:
    """The whole of WordNet in memory, about 60 MB; `synonyms` remembers the words asked for last."""

    def __init__(self, path: Path) -> None:
        try:
            with ZipFile(path) as archive:
                self._parts = [_PartOfSpeech(archive, name) for name in _ENDINGS]
        except (BadZipFile, KeyError) as error:
            raise MissingResource(f"{path} is not NLTK's wordnet.zip ({error}): `harness fetch wordnet`") from error
        self.synonyms = functools.lru_cache(maxsize=1 << 14)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """The single words that share a meaning with `word`, spelled as in WordNet; none for an unknown word."""
        lowered = word.lower()
        return frozenset(name for part in self._parts for name in part.synonyms(lowered) if "_" not in name)


class _PartOfSpeech:
    """One part of speech: where each word's synsets begin, the synsets, irregular forms and regular endings."""

    def __init__(self, archive: ZipFile, name: str) -> None:
        self._offsets = dict(_INDEX_LINE.findall(archive.read(f"wordnet/index.{name}")))
        self._synsets = archive.read(f"wordnet/data.{name}")
        lines = (line.split() for line in archive.read(f"wordnet/{name}.exc").decode().splitlines())
        self._irregular = {first: rest for first, *rest in lines}
        self._endings = [ending.split(":") for ending in _ENDINGS[name].split()]

    def synonyms(self, word: str) -> Iterator[str]:
        """Every lemma of every synset of the word's forms, with repetitions."""
        for form in {word, *self._base_forms(word)}:
            for offset in self._offsets.get(form.encode(errors="surrogatepass"), b"").split():
                yield from self._lemmas(int(offset))

    def _base_forms(self, word: str) -> list[str]:
        if word in self._irregular:
            return self._irregular[word]
        return [word.removesuffix(old) + new for old, new in self._endings if word.endswith(old)]

    def _lemmas(self, start: int) -> Iterator[str]:
        """The words of a synset, whose line reads: offset, file, kind, how many (hexadecimal), word, id, word, ..."""
        fields = self._synsets[start : self._synsets.index(b"\n", start)].split()
        for field in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
            yield field.decode().partition("(")[0]
