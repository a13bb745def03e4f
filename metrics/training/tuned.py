"""The network to train: a head on a frozen encoder's vectors, or a transformer with a head.

The checkpoint of a transformer has the tensors `body.*` or `adapters.*`, `head.*`, and `words.*` if words are masked.
Its body can be used as an encoder, `ENCODER+CHECKPOINT`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from metrics.errors import BadOption, MetricError
from metrics.models import networks
from metrics.models.adapters import Adapters, AdaptersWithHead, linears
from metrics.models.architectures.base import Architecture, TokenArchitecture
from metrics.models.counters import COUNTERS
from metrics.models.encoder import padded
from metrics.models.masked import mask_of
from metrics.models.scorer import find
from metrics.models.tokens import Reading, Tokenizer
from metrics.training.data import TrainingData

CHUNK_TOKENS = 512
"""Tokens per forward pass on a CPU: enough for efficient matrix products, with little padding."""


@dataclass(frozen=True, slots=True)
class UntrainedNetwork:
    """An untrained network with its arguments; `inputs` makes tensors of readings that were passed to `prepare`."""

    network: Any
    config: dict[str, Any]
    inputs: Callable[[Sequence[Any], np.random.Generator], tuple[Any, ...]]
    prepare: Callable[[Sequence[Any]], None] = lambda readings: None


def network_of(data: TrainingData, **arguments: Any) -> UntrainedNetwork:
    """Return the network of the recipe's architecture; the first call builds it with these additional arguments."""
    if data.untrained is None:
        kind = find(data.recipe.architecture)
        build = transformer_with_head if issubclass(kind, TokenArchitecture) else head_on_frozen_encoder
        data.untrained = build(data, kind, arguments)
    network: UntrainedNetwork = data.untrained
    return network


def head_on_frozen_encoder(data: TrainingData, kind: type[Architecture],
                           arguments: Mapping[str, Any]) -> UntrainedNetwork:
    """Return a head on the vectors of a frozen encoder, which encodes each text once."""
    table = kind.table(data.models.encoder(data.encoder), data.vectors)
    config: dict[str, Any] = {"width": table.width, **data.recipe.network, **arguments}
    network = kind(**config)
    return UntrainedNetwork(network, config, lambda readings, _: network.inputs(readings, table),
                 lambda readings: table.add(text for reading in readings for text in network.texts(reading)))


def transformer_with_head(data: TrainingData, kind: type[Architecture],
                          arguments: Mapping[str, Any]) -> UntrainedNetwork:
    data.frozen = False
    recipe, machine, encoder = data.recipe, data.models.machine, data.models.encoder(data.encoder)
    if recipe.batch < 2:
        raise MetricError(f"batch={recipe.batch}: must be at least 2 to train a transformer")
    if recipe.checkpointing and recipe.rank:
        raise BadOption(f"checkpointing=true has no effect with adapters (rank={recipe.rank}); give one of them")
    if encoder.weights.trained is not None:
        base, _, trained = encoder.name.rpartition("+")
        raise BadOption(f"encoder {encoder.name} is already fine-tuned as {trained}, and cannot be fine-tuned "
                        f"again; use --encoder {base}")
    settings: dict[str, Any] = {**recipe.network, **arguments}
    heads = networks.pretraining_heads(encoder.weights)
    if recipe.next_sentence:
        settings["hidden"] = encoder.width
        if not recipe.rate and "seq_relationship.weight" not in heads:
            raise BadOption(f"encoder {encoder.name} has no next-sentence classifier; use a BERT such as "
                            "bert-base-uncased")
    if above := int(settings.pop("above", 0)):
        settings["layers"] = encoder.networks[0].config.num_hidden_layers - above
    body = networks.load("AutoModel", encoder.weights, machine, settings.get("layers")).float()
    if recipe.checkpointing:
        body.gradient_checkpointing_enable({"use_reentrant": False})
    config = {"width": encoder.width, "length": recipe.length, **settings}
    head = kind(**config)
    if head.separator:
        body = networks.add_separator(body)
    tokens = CHUNK_TOKENS if machine.kind == "cpu" else machine.tokens // 4
    network = Tuned(body, head, recipe.rank, encoder.tokenizer, tokens, recipe.masked)
    _load_heads(network, heads, recipe.next_sentence)
    if recipe.masked:
        mask_of(encoder)  # raises BadOption if the tokenizer has no mask token
    return UntrainedNetwork(network, config, network.inputs)


class Tuned(nn.Module):
    """A transformer and a head; `rank` 0 trains the transformer's weights, any other rank low-rank adapters.

    A forward pass processes up to `tokens` tokens, including padding. In training, `masked_share` of the words is
    predicted.
    """

    def __init__(self, body: Any, head: Any, rank: int, tokenizer: Tokenizer, tokens: int,
                 masked_share: float = 0.0) -> None:
        super().__init__()
        self.body, self.head, self.tokens, self.masked_share = body.requires_grad_(not rank), head, tokens, masked_share
        self.tokenizer = tokenizer
        self.adapters = Adapters(rank, linears(body)) if rank else None
        self.words = AdaptersWithHead(body.config.hidden_size, body.config.vocab_size, 0, []) if masked_share else None
        self._predicted: list[Any] = []
        for name, parameter in body.named_parameters():
            if name.startswith("pooler"):
                parameter.requires_grad_(False)  # its output is not used

    def train(self, mode: bool = True) -> Tuned:
        """Set the mode, without dropout in the body if only adapters are trained."""
        super().train(mode)
        if self.adapters is not None:
            self.body.eval()
        return self

    def inputs(self, readings: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        """Return the readings as tokens, some of them masked, and the head's extra inputs."""
        texts = [self.head.reading(reading) for reading in readings]
        rows = tokenized(texts, self.tokenizer, self.head.length, self.body.config.vocab_size - 1)
        if self.masked_share:
            masked = torch.from_numpy(chosen_words(rows["ids"].numpy(), self.tokenizer, rng, self.masked_share))
            rows["targets"] = rows["ids"].where(masked, -1)
            rows["ids"].masked_fill_(masked, self.tokenizer.wrapped.mask_token_id)
        return rows, *self.head.extra_inputs(readings)

    def forward(self, rows: Mapping[str, Any], *extra: Any) -> Any:
        return self.head(self.pooled(rows), *extra)

    def extra_loss(self) -> Any:
        """Return the cross entropy of the words masked since the last call."""
        if not self._predicted:
            return 0.0
        scores, targets = map(torch.cat, zip(*self._predicted, strict=True))
        self._predicted = []
        return functional.cross_entropy(scores, targets)

    def pooled(self, rows: Mapping[str, Any]) -> Any:
        """Return a vector (B, width) for the first `lengths` (B,) tokens of each row of `ids` (B, longest)."""
        lengths = rows["lengths"]
        COUNTERS.training_tokens += int(lengths.sum()) if self.training else 0
        order, parts, start = lengths.argsort(descending=True, stable=True), [], 0
        while start < len(order):  # batches of rows of similar length
            chunk = order[start : start + max(1, self.tokens // max(1, int(lengths[order[start]])))]
            start += len(chunk)
            states, mask = self._read(rows, chunk)
            parts.append(self._pool(states, mask))
            if self.words is not None:
                targets = rows["targets"][chunk, : states.shape[1]]
                table = self.body.get_input_embeddings().weight
                self._predicted.append((self.words.logits(states[targets >= 0], table), targets[targets >= 0]))
        return torch.cat(parts)[order.argsort()]

    def _read(self, rows: Mapping[str, Any], chunk: Any) -> tuple[Any, Any]:
        """Return the token states of the rows in a chunk, and a mask that excludes padding."""
        longest = int(rows["lengths"][chunk].max())
        mask = torch.arange(longest, device=chunk.device) < rows["lengths"][chunk, None]
        inputs = {"input_ids": rows["ids"][chunk, :longest], "attention_mask": mask.long()}
        if "types" in rows:
            inputs["token_type_ids"] = rows["types"][chunk, :longest]
        with self.adapters.applied_to(self.body) if self.adapters else contextlib.nullcontext():
            states = self.body(**inputs).last_hidden_state.float()
        return functional.dropout(states, self.head.token_dropout, self.training), mask

    def _pool(self, states: Any, mask: Any) -> Any:
        if self.head.pooling == "cls":
            return states[:, 0]
        if self.head.pooling == "max":
            return states.masked_fill(~mask[..., None], torch.finfo(states.dtype).min).amax(1)
        return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def tokenized(readings: Sequence[Reading], tokenizer: Tokenizer, longest: int, separator: int = 0) -> dict[str, Any]:
    """Return the readings, which are all texts, all pairs or all dialogues, as token ids with lengths."""
    rows = tokenizer.readings(readings, separator, longest)
    inputs = padded(rows, tokenizer.pad)
    tokens = {"ids": inputs["input_ids"], "lengths": np.array([len(row.ids) for row in rows])}
    types = {"types": inputs["token_type_ids"]} if "token_type_ids" in inputs else {}
    return {name: torch.from_numpy(array) for name, array in (tokens | types).items()}


def chosen_words(ids: npt.NDArray[np.int64], tokenizer: Tokenizer, rng: np.random.Generator,
                 share: float) -> npt.NDArray[np.bool_]:
    """Return where tokens of each row are to be masked: a share of its words, at least one."""
    specials = tokenizer.specials - {tokenizer.wrapped.unk_token_id}  # an unknown word is still a word
    drawn = np.where(np.isin(ids, list(specials)), 2.0, rng.random(ids.shape))
    chosen: npt.NDArray[np.bool_] = (drawn < share) | ((drawn == drawn.min(axis=1, keepdims=True)) & (drawn < 1))
    return chosen


def _load_heads(network: Tuned, heads: Mapping[str, Any], next_sentence: bool) -> None:
    """Initialise hidden layer, classifier (if `next_sentence`) and word predictor from BERT's pretraining heads."""
    dense, pooler = network.head.dense, getattr(getattr(network.body, "pooler", None), "dense", None)
    if network.head.pooling == "cls" and dense is not None and pooler is not None and (
            dense.weight.shape == pooler.weight.shape):
        dense.load_state_dict(pooler.state_dict())
    if next_sentence and "seq_relationship.weight" in heads:
        for name in ("weight", "bias"):
            follows, does_not_follow = heads[f"seq_relationship.{name}"].float()
            getattr(network.head.out, name).data.copy_(follows - does_not_follow)
    if network.words is not None and "predictions.bias" in heads:
        names = {"bias": "bias", "dense.weight": "transform.dense.weight", "dense.bias": "transform.dense.bias",
                 "norm.weight": "transform.LayerNorm.weight", "norm.bias": "transform.LayerNorm.bias"}
        network.words.load_state_dict({name: heads[f"predictions.{theirs}"] for name, theirs in names.items()},
                                      strict=False)
