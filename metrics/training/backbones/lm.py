"""A small causal language model of dialogues, for the metrics that ask how likely a text is.

The turns of a dialogue are joined by the end-of-text token, as DialoGPT's are (Zhang et al., 2020), and a window of
tokens that begins with a turn is read: what a metric asks for later begins with a turn as well. Large corpora are
drawn from less than their size would have it: by the square root of their turns.

The tokenizer is learned first, from the same dialogues. The checkpoint holds matrices in eight bits
(small_lm.py); `notes` have what that costs on what is held out, in bits per character of the text as it was
written, which can be compared between tokenizers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.checkpoint import packed, unpacked
from metrics.models.small_lm import END, Pieces, configuration
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

Tokens = npt.NDArray[np.uint16]
SAMPLE = 60_000
"""Utterances that the tokenizer is learned from, of all corpora alike."""
TOKENS = 2_048
"""Tokens of a batch in training."""
LONG = 0.25
"""How many batches hold windows as long as the network reads; the others hold twice as many of half the length."""
ROWS = 8
"""Windows in a batch that is held out."""
HELD_OUT_BATCHES = 24
"""Batches of the held-out loss."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The dialogues of a corpus as one row of tokens, the places where its turns begin, and its characters."""

    tokens: Tokens
    starts: npt.NDArray[np.int64]
    characters: int


@dataclass(frozen=True, slots=True)
class CausalLanguageModel(Trainable):
    """Cross entropy of each token after those before it."""

    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(
        corpora=("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia",
                 "self_dialogue", "cmu_dog", "dream", "multi_session_chat", "wizard_of_internet"),
        steps=3_000, rate=3e-3, warmup=0.04, decay=0.1, every=150)}
    pieces: int = 6_144
    width: int = 192
    layers: int = 4
    heads: int = 3
    positions: int = 256

    def objective(self, data: TrainingData) -> Objective:
        """Learn the tokenizer, prepare the network, windows of all corpora, and windows of what is held out."""
        pieces = Pieces.learned(_sample(data), self.pieces)
        tokenizer = pieces.tokenizer()
        streams = [self._stream(data.dialogues(name), tokenizer) for name in data.corpora]
        held_out = self._stream(data.held_out(), tokenizer)
        shares = np.sqrt([len(stream.starts) for stream in streams])
        sizes = {"width": self.width, "layers": self.layers, "heads": self.heads, "positions": self.positions}
        config: dict[str, Any] = {"pieces": pieces.written(), **sizes}
        batches = self._even(held_out)
        return Objective(network=DialogueLM(**config), config=config, held_out=batches,
                         loss=lambda network, rows: network(rows.long()),
                         draw=lambda rng: self._drawn(streams, shares / shares.sum(), rng),
                         notes=lambda network: _told(network, batches, held_out))

    def _stream(self, dialogues: Sequence[Dialogue], tokenizer: Any) -> Stream:
        """The end token before each dialogue and after each turn."""
        texts = [[turn.text for turn in dialogue.utterances] for dialogue in dialogues]
        encodings = iter(tokenizer.encode_batch_fast([text for turns in texts for text in turns]))
        end = tokenizer.token_to_id(END)
        ids: list[int] = []
        for turns in texts:
            ids.append(end)
            for _ in turns:
                ids += [*next(encodings).ids, end]
        tokens = np.array(ids, dtype=np.uint16)
        ends = tokens == end
        starts = np.flatnonzero(ends[: -self.positions] & ~ends[1 : len(ends) - self.positions + 1])
        characters = sum(len(text) + 1 for turns in texts for text in turns)
        return Stream(tokens, starts.astype(np.int64), characters)

    def _drawn(self, streams: Sequence[Stream], shares: npt.NDArray[np.float64], rng: np.random.Generator) -> Any:
        length = self.positions if rng.random() < LONG else self.positions // 2
        rows = []
        for place in rng.choice(len(streams), max(1, TOKENS // length), p=shares):
            start = streams[place].starts[rng.integers(len(streams[place].starts))]
            rows.append(streams[place].tokens[start : start + length + 1])
        return _tensor(rows)

    def _even(self, stream: Stream) -> list[Any]:
        """Batches of windows that lie evenly over all that is held out."""
        if not len(stream.starts):
            raise MetricError(f"too little is held out for a window of {self.positions} tokens; take larger corpora")
        places = np.linspace(0, len(stream.starts) - 1, min(HELD_OUT_BATCHES * ROWS, len(stream.starts))).astype(int)
        rows = [stream.tokens[start : start + self.positions + 1] for start in stream.starts[places]]
        return [_tensor(rows[first : first + ROWS]) for first in range(0, len(rows), ROWS)]


def _sample(data: TrainingData) -> list[str]:
    """Utterances of all corpora alike, as many of each."""
    rng, sample = data.rng, []
    for name in data.corpora:
        texts = [turn.text for dialogue in data.dialogues(name) for turn in dialogue.utterances]
        sample += [texts[place] for place in rng.permutation(len(texts))[: SAMPLE // len(data.corpora)]]
    return sample


def _tensor(rows: Sequence[Tokens]) -> Any:
    return torch.from_numpy(np.stack(rows).astype(np.int32))


def _told(network: Any, batches: Sequence[Any], stream: Stream) -> dict[str, float | int]:
    """Sizes, and the bits that a held-out character takes, with weights as they were trained and as they are stored."""
    per_token = len(stream.tokens) / stream.characters / math.log(2)
    whole = _loss(network, batches) * per_token
    trained = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    network.load_state_dict(unpacked(packed(trained, eight_bits=True)))
    stored = _loss(network, batches) * per_token
    network.load_state_dict(trained)
    return {"parameters": sum(parameter.numel() for parameter in network.parameters()),
            "held-out characters per token": round(stream.characters / len(stream.tokens), 3),
            "held-out bits per character": round(whole, 4), "the same in eight bits": round(stored, 4)}


def _loss(network: Any, batches: Sequence[Any]) -> float:
    device = next(network.parameters()).device
    with torch.no_grad():
        return float(np.mean([float(network(rows.long().to(device))) for rows in batches]))


class DialogueLM(torch.nn.Module):
    """A GPT-NeoX over these pieces; its parts are named as transformers names them."""

    def __init__(self, pieces: str, width: int, layers: int, heads: int, positions: int) -> None:
        from transformers import GPTNeoXModel

        super().__init__()
        config = configuration(len(Pieces.read(pieces).numbers), width, layers, heads, positions)
        config._attn_implementation = "eager"  # faster than PyTorch's own, backwards, on the processor
        self.gpt_neox = GPTNeoXModel(config)

    def forward(self, rows: Any) -> Any:
        """Tell the mean of −log p of each token after those before it: (rows, tokens) to one number."""
        with torch.autocast("cpu", torch.bfloat16, enabled=rows.device.type == "cpu" and _quick_in_bf16()):
            states = self.gpt_neox(input_ids=rows[:, :-1], use_cache=False).last_hidden_state
            scores = functional.linear(states, self.gpt_neox.embed_in.weight)
        return functional.cross_entropy(scores.flatten(0, 1).float(), rows[:, 1:].flatten())


def _quick_in_bf16() -> bool:
    """Whether this processor has matrix products in bfloat16."""
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return supported is not None and bool(supported())
