"""Changes to relevant replies (Sai et al., 2020): some should cost a reply its relevance, some should not.

Words are what stands between white space; their marks go with them. Nouns and synonyms are WordNet's (`lexicon`),
so those two changes need it. "Nouns" keeps nouns alone, which can leave nothing. A synonym comes in its base form,
since it replaces what WordNet knows the word by. The paper names neither its list of stop words nor its tagger: here
the stop words are the function words of English below, with their contractions, and there is no tagger.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import numpy as np

from harness.studies.dailydialogpp.lexicon import Lexicon

Change = Callable[[str], str]

FUNCTION_WORDS = {
    "articles and determiners": "a an the this that these those some any each every either neither no such both all",
    "pronouns": "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its "
                "itself we us our ours ourselves they them their theirs themselves who whom whose which what",
    "auxiliaries": "am is are was were be been being have has had having do does did doing will would shall should can "
                   "could may might must",
    "prepositions": "of in on at by for with about against between into through during before after above below to "
                    "from up down out off over under",
    "conjunctions": "and but or nor if because as until while than though although so",
    "adverbs": "not only own same too very just then once here there when where why how again further now more most "
               "other few",
}
CONTRACTED = ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")
STOP = frozenset(word for words in FUNCTION_WORDS.values() for word in words.split())

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_MARK = re.compile(r"(?<!\w)[^\w\s]+|[^\w\s]+(?!\w)|[^\w\s'’]")


def unchanged(text: str) -> str:
    """The reply as it is."""
    return text


def reverse(text: str) -> str:
    """The words from the last to the first."""
    return " ".join(text.split()[::-1])


def jumble(seed: int) -> Change:
    """The words in a random order, which depends on the reply and the seed alone."""

    def jumbled(text: str) -> str:
        own = int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:8])
        words = text.split()
        return " ".join(words[place] for place in np.random.default_rng([seed, own]).permutation(len(words)))

    return jumbled


def no_punctuation(text: str) -> str:
    """Without marks, but for those inside a word."""
    return " ".join(_MARK.sub(" ", text).split())


def no_stop_words(text: str) -> str:
    """Without the function words."""
    return " ".join(word for word in text.split() if not is_stop(word))


def only_nouns(lexicon: Lexicon) -> Change:
    """Only the words that are mostly nouns."""

    def nouns(text: str) -> str:
        return " ".join(word for word in _WORD.findall(text)
                        if not is_stop(word) and lexicon.part_of_speech(word) == "noun")

    return nouns


def synonyms(lexicon: Lexicon) -> Change:
    """Every noun, verb, adjective and adverb that has a synonym replaced by it, its first letter as large as before."""

    def other(match: re.Match[str]) -> str:
        word = match[0]
        new = "" if is_stop(word) else lexicon.synonym(word)
        return (new.capitalize() if word[0].isupper() else new) or word

    return lambda text: _WORD.sub(other, text)


def is_stop(word: str) -> bool:
    """Whether a word is a function word or a contraction of one."""
    bare = "".join(_WORD.findall(word.lower().replace("’", "'"))[:1])
    return bare in STOP or any(bare.removesuffix(end) in STOP for end in CONTRACTED if bare.endswith(end))


def changes(seed: int, lexicon: Lexicon | None) -> dict[str, Change]:
    """Every change by its name; those that need WordNet only with it."""
    known = {"unchanged": unchanged, "reverse": reverse, "jumble": jumble(seed), "no punctuation": no_punctuation,
             "no stop words": no_stop_words}
    if lexicon is not None:
        known |= {"nouns only": only_nouns(lexicon), "synonyms": synonyms(lexicon)}
    return known
