"""How fast an encoder reads texts, end to end and in its forward passes alone.

A text of n tokens, special ones included and padding not, costs

    FLOP(n) = 2·P·n + 4·L·H·n²,     P = L·(4·H² + 2·H·I),

for L layers of width H with I inside: twice the weights in matrix products for each token, and in each layer the
products of attention, queries by keys and weights by values. What else a network computes is not counted, so that a
share of the matrix product's rate is what the machine could at best have done in the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.bench.matmul import seconds
from harness.bench.texts import TextSet, part
from metrics.models.device import Machine

if TYPE_CHECKING:
    from metrics.models.batches import Forward, Positions
    from metrics.models.encoder import Encoder
    from metrics.models.tokens import Tokenized

MOST = {"cpu": 2.5e11, "mps": 1e13}
"""FLOP in one pass: on slower devices a part of the texts stands for all of them."""

ROUNDS = {"cpu": 2}
"""Passes of which the best counts, where it is not 3."""

FEW = 64
"""Texts that are read before the clock starts."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the formula takes from a network."""

    layers: int
    width: int
    inside: int

    @property
    def weights(self) -> int:
        """P: the weights in matrix products."""
        return self.layers * (4 * self.width**2 + 2 * self.width * self.inside)

    def flop(self, lengths: Sequence[int]) -> int:
        """FLOP of texts with so many tokens each."""
        return sum(2 * self.weights * n + 4 * self.layers * self.width * n * n for n in lengths)


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: a set of texts, how much of it was read, and in how many seconds."""

    name: str
    precision: str
    texts: int
    distinct: int
    tokens: int
    read: int
    """Tokens of the texts that were read, each once."""
    flop: float
    seconds: float
    forward: float
    """Seconds of the forward passes alone."""
    matmul: float
    """FLOP/s of the matrix product."""

    @property
    def share(self) -> float:
        """FLOP/s end to end as a share of the matrix product's."""
        return self.flop / self.seconds / self.matmul

    @property
    def forward_share(self) -> float:
        """FLOP/s of the forward passes alone as a share of the matrix product's."""
        return self.flop / self.forward / self.matmul


def cost(encoder: Encoder) -> Cost:
    """What the encoder's configuration says of its cost."""
    config = encoder.networks[0].config
    width = int(config.hidden_size)
    return Cost(int(config.num_hidden_layers), width, int(getattr(config, "intermediate_size", 0) or 4 * width))


def measured(encoder: Encoder, texts: TextSet, matmul: float) -> Measured:
    """Read the texts; the best of a few rounds after a warm-up."""
    machine, distinct, costs = encoder.machine, texts.distinct, cost(encoder)
    lengths = [len(row.ids) for row in encoder.tokenizer.texts(distinct)]
    chosen = part(distinct, MOST.get(machine.kind, float("inf")) / costs.flop(lengths))
    rows = encoder.tokenizer.texts(chosen)
    inputs = batches(encoder, rows)
    encoder.states(chosen[:FEW])
    rounds = range(ROUNDS.get(machine.kind, 3))
    return Measured(
        texts.name, machine.precision, len(texts.texts), len(distinct), sum(lengths), sum(len(row.ids) for row in rows),
        costs.flop([len(row.ids) for row in rows]),
        seconds=min(seconds(lambda: encoder.states(chosen), machine) for _ in rounds),
        forward=min(seconds(lambda: forward(encoder, inputs), machine) for _ in rounds),
        matmul=matmul)


def batches(encoder: Encoder, rows: Sequence[Tokenized]) -> list[dict[str, Any]]:
    """The batches that the encoder makes of the texts, already on the device."""
    import torch

    from metrics.models.batches import cut
    from metrics.models.encoder import padded

    machine: Machine = encoder.machine
    return [{name: torch.from_numpy(array).to(machine.devices[0])
             for name, array in padded([rows[place] for place in batch], encoder.tokenizer.pad).items()}
            for batch in cut([len(row.ids) for row in rows], machine.tokens, even=machine.kind == "cpu")]


def forward(encoder: Encoder, inputs: Sequence[dict[str, Any]]) -> None:
    """Send the batches through the network, by as many workers as the encoder has, and keep nothing."""
    from metrics.models.batches import Batches
    from metrics.models.networks import workers

    forwards = [_through(network, inputs) for network, _ in workers(encoder.networks, encoder.machine)]
    Batches(1).run([batch["input_ids"].numel() for batch in inputs], forwards)


def _through(network: Any, inputs: Sequence[dict[str, Any]]) -> Forward[None]:
    import torch

    def on(places: Positions) -> list[None]:
        with torch.inference_mode():
            for place in places:
                network(**inputs[place])
        return [None] * len(places)

    return on
