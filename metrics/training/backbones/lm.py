"""A small causal language model of dialogues, for metrics that use the likelihood of a text.

The turns of a dialogue are joined by the end-of-text token, as in DialoGPT (Zhang et al., 2020). Training windows begin
with a turn, as do the texts that metrics score. Corpora are sampled in proportion to the square root of their number of
turns. The tokenizer is learned first, from the same dialogues. The checkpoint stores matrices in eight bits
(small_lm.py); bits per held-out character, on its card, are comparable between tokenizers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from metrics.errors import MetricError
from metrics.models.checkpoint import compressed, decompressed
from metrics.models.small_lm import END, Pieces, configuration
from metrics.training.recipe import Dialogues, Objective, Trainable, TrainingData, recipes_of

SAMPLE = 60_000
"""Utterances to learn the tokenizer from, equally many from each corpus."""
BATCH_TOKENS = 2_048
"""Tokens in a training batch."""
FULL_LENGTH_SHARE = 0.25
"""Share of batches with windows of the network's full length; others have twice as many windows, half as long."""
HELD_OUT_ROWS, HELD_OUT_BATCHES = 8, 24
"""Windows in a held-out batch, and the number of such batches."""


class Stream(NamedTuple):
    """The dialogues of a corpus as one token sequence, with the positions where turns begin."""

    tokens: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.intp]
    characters: int


@dataclass(frozen=True, slots=True)
class CausalLanguageModel(Trainable):
    """Cross entropy of each token given the preceding ones."""

    recipes = recipes_of("lm")
    pieces: int = 6_144
    width: int = 192
    layers: int = 4
    heads: int = 3
    positions: int = 256

    def objective(self, data: TrainingData) -> Objective:
        pieces = Pieces.learn(_sample(data), self.pieces)
        tokenizer = pieces.tokenizer()
        streams = [self._stream(data.dialogues(name), tokenizer) for name in data.corpora]
        held_out = self._stream(data.held_out(), tokenizer)
        weights = np.sqrt([len(stream.starts) for stream in streams])
        config: dict[str, Any] = {"pieces": pieces.to_text(), "width": self.width, "layers": self.layers,
                                  "heads": self.heads, "positions": self.positions}
        batches = self._held_out_batches(held_out)

        def draw(rng: np.random.Generator) -> Any:
            length = self.positions if rng.random() < FULL_LENGTH_SHARE else self.positions // 2
            chosen = rng.choice(len(streams), max(1, BATCH_TOKENS // length), p=weights / weights.sum())
            return _windows([(streams[index], streams[index].starts[rng.integers(len(streams[index].starts))])
                             for index in chosen], length)

        return Objective(DialogueLM(**config), config, draw, batches, lambda network, rows: network(rows.long()),
                         lambda network: _notes(network, batches, held_out))

    def _stream(self, dialogues: Dialogues, tokenizer: Any) -> Stream:
        """Return the dialogues as tokens, with an end token before each dialogue and after each turn."""
        texts = [turn.text for dialogue in dialogues for turn in dialogue.utterances]
        encodings = iter(tokenizer.encode_batch_fast(texts))
        end = tokenizer.token_to_id(END)
        ids: list[int] = []
        for dialogue in dialogues:
            ids.append(end)
            for _ in dialogue.utterances:
                ids += [*next(encodings).ids, end]
        tokens = np.array(ids, dtype=np.uint16)
        ends = tokens == end
        starts = np.flatnonzero(ends[: -self.positions] & ~ends[1 : len(ends) - self.positions + 1])
        return Stream(tokens, starts, sum(len(text) + 1 for text in texts))

    def _held_out_batches(self, stream: Stream) -> list[Any]:
        """Return batches of windows spaced evenly over the held-out tokens."""
        if not len(stream.starts):
            raise MetricError(f"the held-out dialogues are shorter than a window of {self.positions} tokens; use "
                              "larger corpora")
        count = min(HELD_OUT_BATCHES * HELD_OUT_ROWS, len(stream.starts))
        chosen = stream.starts[np.linspace(0, len(stream.starts) - 1, count).astype(int)]
        return [_windows([(stream, start) for start in chosen[first : first + HELD_OUT_ROWS]], self.positions)
                for first in range(0, count, HELD_OUT_ROWS)]


def _sample(data: TrainingData) -> list[str]:
    rng, sample = data.rng, []
    for name in data.corpora:
        texts = [turn.text for dialogue in data.dialogues(name) for turn in dialogue.utterances]
        sample += [texts[row] for row in rng.permutation(len(texts))[: SAMPLE // len(data.corpora)]]
    return sample


def _windows(starts: Sequence[tuple[Stream, int]], length: int) -> Any:
    """Return windows of tokens, each with the token after it: (windows, length + 1)."""
    rows = [stream.tokens[start : start + length + 1] for stream, start in starts]
    return torch.from_numpy(np.stack(rows).astype(np.int32))


def _notes(network: Any, batches: Sequence[Any], stream: Stream) -> dict[str, float | int]:
    """Return sizes, and bits per held-out character with the weights as trained and as stored."""
    device = next(network.parameters()).device

    def bits() -> float:
        with torch.no_grad():
            loss = float(np.mean([float(network(rows.long().to(device))) for rows in batches]))
        return round(loss * len(stream.tokens) / stream.characters / math.log(2), 4)

    trained = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    notes = {"parameters": sum(parameter.numel() for parameter in network.parameters()),
             "held-out characters per token": round(stream.characters / len(stream.tokens), 3),
             "held-out bits per character": bits()}
    network.load_state_dict(decompressed(compressed(trained, eight_bits=True)))
    notes["the same in eight bits"] = bits()
    network.load_state_dict(trained)
    return notes


class DialogueLM(torch.nn.Module):
    """A GPT-NeoX over these word pieces, with the parameter names of transformers."""

    def __init__(self, pieces: str, width: int, layers: int, heads: int, positions: int) -> None:
        from transformers import GPTNeoXModel

        super().__init__()
        config = configuration(len(Pieces.read(pieces).ids), width, layers, heads, positions)
        config._attn_implementation = "eager"  # its backward pass is faster than PyTorch's own attention on a CPU
        self.gpt_neox = GPTNeoXModel(config)

    def forward(self, rows: Any) -> Any:
        """Return the mean −log p of each token given the preceding ones; rows are (rows, tokens)."""
        use_bf16 = rows.device.type == "cpu" and torch.cpu._is_avx512_bf16_supported()
        with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
            states = self.gpt_neox(input_ids=rows[:, :-1], use_cache=False).last_hidden_state
            scores = functional.linear(states, self.gpt_neox.embed_in.weight)
        return functional.cross_entropy(scores.flatten(0, 1).float(), rows[:, 1:].flatten())
