"""The language model that comes with this package, a GPT-NeoX with tied embeddings.

A checkpoint holds its matrices in eight bits (checkpoint.py), and the tokenizer's pieces in its config. To be loaded,
it is expanded into a temporary folder in the format of transformers.

Corpora spell the same words differently: `don ’ t`, `do n't`, `Don't`, with or without spaces before punctuation. Text
is normalised first, to 70 characters: lower-case letters, digits, ASCII punctuation, ▁ for a space and \ufffd for any
other character. Words are then split into pieces by byte-pair encoding (Sennrich et al., 2016).
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import MissingResource
from metrics.models.checkpoint import CONFIG, SHIPPED, WEIGHTS, Checkpoint
from metrics.models.device import Machine
from metrics.models.memory import ArrayCache
from metrics.models.weights import Weights

if TYPE_CHECKING:
    from metrics.models.causal import LanguageModel

NAME, DISPLAY_NAME = "lm", "dialogue-lm"
"""The names of the checkpoint, and of the model in signatures and on pages."""
END = "<|endoftext|>"
"""The token that ends a turn; two of them separate dialogues, and one precedes a text without a context."""
SPACE, OTHER = "▁", "\ufffd"
CHARACTERS = "".join(char for char in map(chr, range(33, 127)) if char == char.lower()) + SPACE + OTHER

_ENDINGS = "s|t|m|d|re|ve|ll"
_REPLACED = (
    ("[‘’ʼ`´′]", "'"), ("[“”«»]", '"'), ("[–—]", "-"), ("…", "..."), (r"\s+", " "), ("[^ -~]+", OTHER),
    (r" (?=[.,!?;:')])", ""),                     # a space before punctuation
    (rf"(?<=[a-z]') (?=(?:{_ENDINGS})\b)", ""),   # i' m
    (r" (?=n't\b)", ""),                          # do n't
)
_WORDS = rf"{SPACE}?[a-z]+|'(?:{_ENDINGS})(?![a-z])|{SPACE}?[0-9]|{SPACE}?[^{SPACE}a-z0-9]+|{SPACE}"


@dataclass(frozen=True, slots=True)
class Pieces:
    """The merges of a byte-pair tokenizer, in the order in which they were learned."""

    merges: tuple[tuple[str, str], ...] = ()

    @classmethod
    def learn(cls, texts: Sequence[str], size: int) -> Pieces:
        """Learn `size` pieces from texts, including single characters and the end token."""
        from tokenizers import trainers

        tokenizer = cls().tokenizer()
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=size, special_tokens=[END], initial_alphabet=list(CHARACTERS), show_progress=False))
        merges = json.loads(tokenizer.to_str())["model"]["merges"]
        return cls(tuple((str(first), str(second)) for first, second in merges))

    @classmethod
    def read(cls, text: str) -> Pieces:
        pairs = [line.partition(" ") for line in text.splitlines()]
        return cls(tuple((first, second) for first, _, second in pairs))

    def to_text(self) -> str:
        return "\n".join(f"{first} {second}" for first, second in self.merges)

    @property
    def ids(self) -> dict[str, int]:
        """The id of each piece; END is 0."""
        pieces = dict.fromkeys([END, *CHARACTERS, *(first + second for first, second in self.merges)])
        return {piece: index for index, piece in enumerate(pieces)}

    def tokenizer(self) -> Any:
        from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

        tokenizer = Tokenizer(models.BPE(self.ids, list(self.merges)))
        tokenizer.normalizer = normalizers.Sequence([
            normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents(),
            *(normalizers.Replace(Regex(old), new) for old, new in _REPLACED),
            normalizers.Strip(), normalizers.Replace(" ", SPACE), normalizers.Prepend(SPACE)])
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORDS), "isolated")
        tokenizer.add_special_tokens([AddedToken(END, normalized=False, special=True)])
        return tokenizer


def weights(checkpoint: Checkpoint) -> Weights:
    digests = checkpoint.card["sha256"]
    origin = "this package" if checkpoint.folder.is_relative_to(SHIPPED) else "home"
    return Weights(DISPLAY_NAME, checkpoint.folder, digests[WEIGHTS], digests[CONFIG], origin)


def load(checkpoint: Checkpoint, machine: Machine, memory: ArrayCache) -> LanguageModel:
    from metrics.models.causal import LanguageModel

    files = weights(checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        expand(checkpoint, Path(folder))
        model = LanguageModel(dataclasses.replace(files, folder=Path(folder)), machine, memory)
        model.tokenizer  # noqa: B018 - loads network and tokenizer while the folder exists
    model.weights = files
    return model


def expand(checkpoint: Checkpoint, folder: Path) -> None:
    """Write a checkpoint in the format of transformers."""
    import safetensors
    from safetensors.torch import save_file
    from transformers import PreTrainedTokenizerFast

    try:
        sizes = dict(checkpoint.config["network"])
        pieces = Pieces.read(sizes.pop("pieces"))
        configuration(vocabulary=len(pieces.ids), **sizes).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=pieces.tokenizer(), bos_token=END, eos_token=END,
                                model_max_length=sizes["positions"]).save_pretrained(folder)
        stored = checkpoint.weights()
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise MissingResource(f"weights {checkpoint.name}: {checkpoint.folder} does not hold a language model "
                              f"({error!s:.120}); retrain with `harness train {NAME} --fresh`") from error
    save_file(stored, folder / WEIGHTS, {"format": "pt"})


def configuration(vocabulary: int, width: int, layers: int, heads: int, positions: int) -> Any:
    from transformers import GPTNeoXConfig

    return GPTNeoXConfig(
        architectures=["GPTNeoXForCausalLM"], vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=4 * width, max_position_embeddings=positions,
        hidden_act="gelu_pytorch_tanh", tie_word_embeddings=True, bos_token_id=0, eos_token_id=0)
