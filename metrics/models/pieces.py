"""The tokenizer of the language model that comes with this package: what it makes equal, and the pieces it knows.

Corpora write the same words in different ways: `don ’ t`, `do n't`, `Don't`, with spaces before marks or without. What
differs so is made equal before a text is cut, so that a model is not surprised by the habits of a corpus. What is left
are 70 signs: lower-case letters, digits, the marks of ASCII, ▁ for a space and \ufffd for any other sign.

Words are cut into pieces by byte-pair encoding (Sennrich et al., 2016), learned without regard to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

END = "<|endoftext|>"
"""The token that ends a turn; it stands twice between two dialogues, and once before whatever is read alone."""

SPACE, OTHER = "▁", "\ufffd"
SIGNS = "".join(sign for sign in map(chr, range(33, 127)) if sign == sign.lower()) + SPACE + OTHER

_ENDINGS = "s|t|m|d|re|ve|ll"
_REPLACED = (
    ("[‘’ʼ`´′]", "'"), ("[“”«»]", '"'), ("[–—]", "-"), ("…", "..."), (r"\s+", " "), ("[^ -~]+", OTHER),
    (r" (?=[.,!?;:')])", ""),                     # a space before a mark
    (rf"(?<=[a-z]') (?=(?:{_ENDINGS})\b)", ""),   # i' m
    (r" (?=n't\b)", ""),                          # do n't
)
_WORDS = rf"{SPACE}?[a-z]+|'(?:{_ENDINGS})(?![a-z])|{SPACE}?[0-9]|{SPACE}?[^{SPACE}a-z0-9]+|{SPACE}"


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a tokenizer has learned: which two pieces become one, in order."""

    merges: tuple[tuple[str, str], ...] = ()

    @classmethod
    def learned(cls, texts: Sequence[str], size: int) -> Pieces:
        """Learn so many pieces, the signs and the end token included, from texts."""
        import json

        from tokenizers import trainers

        found = cls().tokenizer()
        found.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=size, special_tokens=[END], initial_alphabet=list(SIGNS), show_progress=False))
        merges = json.loads(found.to_str())["model"]["merges"]
        return cls(tuple((str(first), str(second)) for first, second in merges))

    @classmethod
    def read(cls, text: str) -> Pieces:
        """The pieces as `written` wrote them."""
        pairs = [line.partition(" ") for line in text.splitlines()]
        return cls(tuple((first, second) for first, _, second in pairs))

    def written(self) -> str:
        """One line for each two pieces that become one."""
        return "\n".join(f"{first} {second}" for first, second in self.merges)

    @property
    def numbers(self) -> dict[str, int]:
        """Every piece and its number; the end of a text is 0."""
        pieces = dict.fromkeys([END, *SIGNS, *(first + second for first, second in self.merges)])
        return {piece: number for number, piece in enumerate(pieces)}

    def tokenizer(self) -> Any:
        """The tokenizer, of the library `tokenizers`."""
        from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

        found = Tokenizer(models.BPE(self.numbers, list(self.merges)))
        found.normalizer = normalizers.Sequence([
            normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents(),
            *(normalizers.Replace(Regex(old), new) for old, new in _REPLACED),
            normalizers.Strip(), normalizers.Replace(" ", SPACE), normalizers.Prepend(SPACE)])
        found.pre_tokenizer = pre_tokenizers.Split(Regex(_WORDS), "isolated")
        found.add_special_tokens([AddedToken(END, normalized=False, special=True)])
        return found
