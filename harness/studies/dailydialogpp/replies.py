"""Every reply of DailyDialog++ as an item with one reference, several, or none; and changes to relevant replies.

The k-th reply of each kind is compared with all relevant replies except the k-th: a relevant one with the other four,
and an irrelevant one with four as well, since the best match among five would favour it. The reference of `single` is
drawn from these, once for the k-th replies of all three kinds. ΔBLEU also gets all random replies except the k-th, with
weight -1.

The changes are those of Sai et al. (2020), some of which should make a reply irrelevant. Words are split at white space
and keep their punctuation. "Nouns only" can leave an empty reply. Synonyms are in their base form. The paper names
neither its stop words nor its tagger: here stop words are the function words of English with their contractions, and
there is no tagger. Parts of speech and synonyms come from the file of senses in NLTK's `wordnet.zip` (senseidx(5WN)). A
line of `index.sense` is `lemma%type:...  synset  number  count`: the type is the part of speech, the number orders the
senses of a lemma by frequency, the count is the sense's frequency in tagged texts. A word is looked up as it is and in
its base forms (wndb(5WN), morphy(7WN)). Its part of speech is the most frequent one, regardless of the sentence.
Function words are removed first, because WordNet lists "I" as iodine and "a" as a unit of length.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias
from zipfile import BadZipFile, ZipFile

import numpy as np

from benchmarks.corpora.dailydialogpp import URL, Context, Kind
from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Quality, Reference, Source, Utterance
from metrics.errors import MissingResource
from metrics.lexical.meteor import ENDINGS
from metrics.text.keywords import STOP_WORDS

References: TypeAlias = Literal["none", "single", "several", "weighted"]

KINDS: tuple[Kind, ...] = ("positive", "random", "adversarial")
SETS = {"P": ("positive",), "P+R": ("positive", "random"), "P+A": ("positive", "adversarial")}
"""Kinds of replies whose conicity is measured together."""

Change = Callable[[str], str]

CONTRACTIONS = ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")
FUNCTION_WORDS = {word for word in STOP_WORDS - {"don"} if "'" not in word} | {
    "although", "either", "every", "herself", "himself", "may", "mine", "neither", "ourselves", "shall", "themselves",
    "though", "whose", "yourselves"}

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_MARK = re.compile(r"(?<!\w)[^\w\s]+|[^\w\s]+(?!\w)|[^\w\s'’]")

PARTS_OF_SPEECH = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}

Word: TypeAlias = tuple[str, str]  # a part of speech, and a lemma or the offset of a synset


@dataclass(frozen=True, slots=True)
class Replies:
    """The items of contexts as a dataset, with the kind and the context number of each item."""

    dataset: Dataset
    kinds: np.ndarray[tuple[int], np.dtype[np.str_]]
    contexts: np.ndarray[tuple[int], np.dtype[np.int64]]


def make_replies(name: str, contexts: Sequence[Context], references: References, seed: int,
                 kinds: Sequence[Kind] = KINDS, change: Callable[[str], str] = str) -> Replies:
    rows = [(kind, index, Item(f"{context.name}_{kind}_{k}", context.utterances, Utterance(SYSTEM, change(text)),
                                tuple(_references(context, k, references, seed))))
            for index, context in enumerate(contexts) for kind in kinds
            for k, text in enumerate(context.replies[kind])]
    items = tuple(item for _, _, item in rows)
    card = DatasetCard(
        name=name, title="DailyDialog++", split="test", level="turn", qualities=(Quality("relevance", 0, 1),),
        size=len(items), sources=(Source(URL),), licence="none stated", citation="Sai et al. 2020")
    return Replies(Dataset(card, items, (), "imported"),
                   np.array([kind for kind, _, _ in rows]), np.array([index for _, index, _ in rows], np.int64))


def _references(context: Context, k: int, references: References, seed: int) -> Iterator[Reference]:
    def without_kth(kind: Kind) -> list[str]:
        replies = context.replies[kind]
        return [text for index, text in enumerate(replies) if index != k % len(replies)]

    relevant = without_kth("positive")
    if references == "single":
        digest = int.from_bytes(hashlib.sha256(f"{context.name}_{k}".encode()).digest()[:8])
        yield Reference(relevant[int(np.random.default_rng([seed, digest]).integers(len(relevant)))])
    elif references != "none":
        yield from map(Reference, relevant)
    if references == "weighted":
        yield from (Reference(text, -1.0) for text in without_kth("random"))


@dataclass
class Lexicon:
    """The senses of each lemma (number, synset, count), the lemmas of each synset (count, lemma), irregular forms."""

    senses: dict[Word, list[tuple[int, str, int]]] = field(default_factory=dict)
    members: dict[Word, list[tuple[int, str]]] = field(default_factory=dict)
    irregular: dict[Word, list[str]] = field(default_factory=dict)

    def part_of_speech(self, word: str) -> str:
        """Return the most frequent part of speech of a word, or an empty string if it is unknown."""
        counts = {part: sum(count for form in forms for _, _, count in self.senses[part, form])
               for part in ENDINGS if (forms := self._forms(part, word.lower()))}
        return max(counts, key=lambda part: counts[part]) if counts else ""

    def synonym(self, word: str) -> str:
        """Return a synonym of the word's most common sense that has one, in its part of speech, or an empty string."""
        part, lowered = self.part_of_speech(word), word.lower()
        for form in self._forms(part, lowered) if part else ():
            for _, synset, _ in sorted(self.senses[part, form]):
                others = [(-count, other) for count, other in self.members[part, synset]
                          if other not in (form, lowered) and "_" not in other]
                if others:
                    return min(others)[1]
        return ""

    def _forms(self, part: str, word: str) -> list[str]:
        """Return the word and its base forms that WordNet has in this part of speech."""
        base = self.irregular.get((part, word)) or [
            word.removesuffix(old) + new for old, new in (pair.split(":") for pair in ENDINGS[part].split())
            if word.endswith(old)]
        return [form for form in dict.fromkeys((word, *base)) if (part, form) in self.senses]


@functools.lru_cache(maxsize=1)
def lexicon(path: Path) -> Lexicon:
    words = Lexicon()
    try:
        with ZipFile(path) as archive:
            for line in archive.read("wordnet/index.sense").decode().splitlines():
                key, offset, sense_number, count = line.split()
                lemma, _, sense_key = key.partition("%")
                part = PARTS_OF_SPEECH[sense_key[0]]
                words.senses.setdefault((part, lemma), []).append((int(sense_number), offset, int(count)))
                words.members.setdefault((part, offset), []).append((int(count), lemma))
            for part in ENDINGS:
                for line in archive.read(f"wordnet/{part}.exc").decode().splitlines():
                    word, *forms = line.split()
                    words.irregular[part, word] = forms
    except (BadZipFile, KeyError, ValueError) as error:
        raise MissingResource(f"{path} is not a complete WordNet ({error}); run `harness fetch wordnet`") from error
    return words


def is_stop(word: str) -> bool:
    bare = "".join(_WORD.findall(word.lower().replace("’", "'"))[:1])
    return bare in FUNCTION_WORDS or any(
        bare.removesuffix(end) in FUNCTION_WORDS for end in CONTRACTIONS if bare.endswith(end))


def changes(seed: int, lexicon: Lexicon | None) -> dict[str, Change]:
    """Return the changes by name; without a lexicon, only those that do not need WordNet."""

    def jumble(text: str) -> str:
        digest = int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:8])
        words = text.split()
        return " ".join(words[index] for index in np.random.default_rng([seed, digest]).permutation(len(words)))

    by_name: dict[str, Change] = {
        "unchanged": str, "reverse": lambda text: " ".join(text.split()[::-1]), "jumble": jumble,
        "no punctuation": lambda text: " ".join(_MARK.sub(" ", text).split()),  # except marks inside a word
        "no stop words": lambda text: " ".join(word for word in text.split() if not is_stop(word))}
    if lexicon is not None:
        by_name["nouns only"] = lambda text: " ".join(
            word for word in _WORD.findall(text) if not is_stop(word) and lexicon.part_of_speech(word) == "noun")
        by_name["synonyms"] = lambda text: _WORD.sub(lambda match: _synonym(match[0], lexicon), text)
    return by_name


def _synonym(word: str, lexicon: Lexicon) -> str:
    synonym = "" if is_stop(word) else lexicon.synonym(word)
    return (synonym.capitalize() if word[0].isupper() else synonym) or word
