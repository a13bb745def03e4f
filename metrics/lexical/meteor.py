"""METEOR (Lavie and Agarwal, 2007), equal to `nltk.translate.meteor_score` on 13a tokens.

Words of response and reference are aligned in three passes: identical words, identical Porter stems, and stems that are
WordNet synonyms. Each pass goes through the response from its end and takes the last free position in the reference;
like NLTK, the third pass looks up stems, not words. The best of several references counts, so `standard` and `max` are
the same. In languages other than English, only identical words match.

WordNet is read from its database files, in a folder or in a zip like NLTK's; `metrics/text/wordnet.zip` has only the
fields used here. A word is looked up as it is and in its base forms: those in the exception lists, else those that its
ending suggests (wndb(5WN), morphy(7WN)). The synonyms equal the lemmas of NLTK's `synsets(word)`.
"""

from __future__ import annotations

import functools
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple

from benchmarks.dataset import Item, primary_language
from metrics.errors import BadOption, MissingResource
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, against_references, stem, tokens

ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
"""Regular forms by part of speech, as ENDING:REPLACEMENT."""

_INDEX_LINE = re.compile(rb"^([^ \n]+) .*?((?: \d{8})+) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Meteor:
    """METEOR = (1 − γ · (chunks/m)^β) · P · R / (α · P + (1 − α) · R),  P = m / |response|,  R = m / |reference|."""

    card: ClassVar[MetricCard] = MetricCard(
        name="meteor", title="METEOR", columns=("meteor",), family="lexical",
        needs=("references",), resources=("wordnet",), paper="https://aclanthology.org/W07-0734",
        notes="Equals NLTK's, 0 to 1, on 13a tokens; not METEOR 1.5, which has paraphrases and other weights.",
        system="as published",
    )
    references: Aggregation = "standard"
    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise BadOption(f"meteor: alpha must be between 0 and 1, not {self.alpha}")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return METEOR, 0 to 1; NaN without a reference."""
        resource = models.resource("wordnet")
        synonyms = cached_wordnet(resource.path, resource.digest).synonyms
        return {"meteor": against_references(items, self.references, partial(_Text.of, synonyms), self._f)}

    def _f(self, response: _Text, reference: _Text) -> float:
        aligned = _aligned(response, reference)
        if not aligned:
            return 0.0
        precision, recall = len(aligned) / len(response.words), len(aligned) / len(reference.words)
        mean = (precision * recall) / (self.alpha * precision + (1 - self.alpha) * recall)
        chunks = 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(aligned))
        return (1 - self.gamma * math.pow(chunks / len(aligned), self.beta)) * mean


class _Text(NamedTuple):
    """The words of a text, their stems, and the synonyms of each stem."""

    words: list[str]
    stems: list[str]
    synonyms: list[frozenset[str]]

    @classmethod
    def of(cls, synonyms: Callable[[str], frozenset[str]], text: str, language: str) -> _Text:
        words = [token.lower() for token in tokens(text, language=language)]
        if primary_language(language) != "en":
            return cls(words, words, [frozenset()] * len(words))
        stems = [stem(word) for word in words]
        return cls(words, stems, [synonyms(word) for word in stems])


def _aligned(response: _Text, reference: _Text) -> list[tuple[int, int]]:
    """Return aligned positions in response and reference, in order."""
    free = list(reversed(range(len(reference.words))))
    pairs: dict[int, int] = {}
    for accepted, reference_forms in (([{word} for word in response.words], reference.words),
                                      ([{word} for word in response.stems], reference.stems),
                                      (response.synonyms, reference.stems)):
        distinct = set(reference_forms)
        for position in reversed(range(len(accepted))):
            if position not in pairs and not accepted[position].isdisjoint(distinct):
                match = next((other for other in free if reference_forms[other] in accepted[position]), None)
                if match is not None:
                    pairs[position] = match
                    free.remove(match)
    return sorted(pairs.items())


@functools.lru_cache(maxsize=1)
def cached_wordnet(path: Path, _digest: str) -> WordNet:
    return WordNet(path)


class WordNet:
    """WordNet in memory, about 60 MB."""

    def __init__(self, path: Path) -> None:
        self._by_part_of_speech = []  # offsets of synsets by word, synsets, irregular forms, regular endings
        try:
            files = path if path.is_dir() else zipfile.Path(path, "wordnet/")
            for name, endings in ENDINGS.items():
                offsets = dict(_INDEX_LINE.findall((files / f"index.{name}").read_bytes()))
                lines = (files / f"{name}.exc").read_text(encoding="utf-8").splitlines()
                irregular = {first: rest for first, *rest in map(str.split, lines)}
                regular = [ending.split(":") for ending in endings.split()]
                self._by_part_of_speech.append((offsets, (files / f"data.{name}").read_bytes(), irregular, regular))
        except (zipfile.BadZipFile, OSError) as error:
            raise MissingResource(f"{path} is not WordNet ({error}); run `harness fetch wordnet`") from error
        self.synonyms = functools.lru_cache(maxsize=1 << 14)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """Return the single-word synonyms of `word`, spelled as in WordNet."""
        return frozenset(name for name in self._lemmas(word.lower()) if "_" not in name)

    def _lemmas(self, word: str) -> Iterator[str]:
        for offsets, synsets, irregular, regular in self._by_part_of_speech:
            forms = irregular.get(word) or [word.removesuffix(old) + new for old, new in regular if word.endswith(old)]
            for form in {word, *forms}:
                for offset in map(int, offsets.get(form.encode(errors="surrogatepass"), b"").split()):
                    # fields: offset, file, kind, number of words (hexadecimal), word, id, word, id, ...
                    fields = synsets[offset : synsets.index(b"\n", offset)].split()
                    for field in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
                        yield field.decode().partition("(")[0]
