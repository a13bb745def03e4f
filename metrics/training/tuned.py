"""The network of a training: a head on a frozen encoder's vectors, or a transformer that is trained with its head.

The checkpoint of the latter holds `body.*` or `adapters.*`, and `head.*`, `words.*` where words are masked. Its body is
an encoder of its own, `ENCODER+CHECKPOINT`.
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
from metrics.models.adapters import Adapted, Adapters, linears
from metrics.models.architectures.base import Architecture
from metrics.models.architectures.cross_encoder import TokenArchitecture
from metrics.models.encoder import padded
from metrics.models.masked import mask_of
from metrics.models.reading import READING
from metrics.models.readings import Reading
from metrics.models.scorer import find
from metrics.models.tokens import Tokenizer
from metrics.training.data import TrainingData

CHUNK = 512
"""Tokens that the processor reads at a time, which is enough for its products and leaves little padding."""


@dataclass(frozen=True, slots=True)
class Built:
    """A fresh network with its arguments; `inputs` makes tensors of readings, which `prepare` has seen before."""

    network: Any
    config: dict[str, Any]
    inputs: Callable[[Sequence[Any], np.random.Generator], tuple[Any, ...]]
    prepare: Callable[[Sequence[Any]], None] = lambda readings: None


def built(data: TrainingData, **more: Any) -> Built:
    """Return the network of the recipe's architecture, made at the first call; `more` are further arguments of it."""
    if data.built is None:
        kind = find(data.recipe.architecture)
        data.built = (tuned if issubclass(kind, TokenArchitecture) else frozen)(data, kind, more)
    network: Built = data.built
    return network


def frozen(data: TrainingData, kind: type[Architecture], more: Mapping[str, Any]) -> Built:
    """Return a head on vectors that a frozen encoder reads once."""
    table = kind.table(data.models.encoder(data.encoder), data.vectors)
    config: dict[str, Any] = {"width": table.width, **data.recipe.network, **more}
    network = kind(**config)
    return Built(network, config, lambda readings, _: network.inputs(readings, table),
                 lambda readings: table.add(text for reading in readings for text in network.texts(reading)))


def tuned(data: TrainingData, kind: type[Architecture], more: Mapping[str, Any]) -> Built:
    """Return a transformer with a head of this kind."""
    data.frozen = False
    recipe, machine, encoder = data.recipe, data.models.machine, data.models.encoder(data.encoder)
    if recipe.batch < 2:
        raise MetricError(f"batch={recipe.batch}: a batch of a transformer's training has 2 rows or more")
    settings: dict[str, Any] = {**recipe.network, **more}
    heads = networks.pretraining_heads(encoder.weights)
    if recipe.next_sentence:
        settings["hidden"] = encoder.width
        if not recipe.rate and "seq_relationship.weight" not in heads:
            raise BadOption(f"encoder {encoder.name} has no layer for the next sentence; take a BERT such as "
                            "bert-base-uncased")
    if above := int(settings.pop("above", 0)):
        settings["layers"] = encoder.networks[0].config.num_hidden_layers - above
    body = networks.loaded("AutoModel", encoder.weights, machine, settings.get("layers")).float()
    if recipe.checkpointing:
        body.gradient_checkpointing_enable({"use_reentrant": False})
    config = {"width": encoder.width, "length": recipe.length, **settings}
    head = kind(**config)
    if head.separator:
        body = networks.separated(body)
    tokens = CHUNK if machine.kind == "cpu" else machine.tokens // 4
    network = Tuned(body, head, recipe.rank, encoder.tokenizer, tokens, recipe.masked)
    _take_heads(network, heads, recipe.next_sentence)
    if recipe.masked:
        mask_of(encoder)  # an error where it has none
    return Built(network, config, network.inputs)


class Tuned(nn.Module):
    """A transformer and a head; `rank` 0 trains the transformer's own weights, any other rank adapters to them.

    `tokens` are read at a time, padding included. A share `masked` of the words is masked and predicted in training.
    """

    def __init__(self, body: Any, head: Any, rank: int, tokenizer: Tokenizer, tokens: int,
                 masked: float = 0.0) -> None:
        super().__init__()
        self.body, self.head, self.tokens, self.masked = body.requires_grad_(not rank), head, tokens, masked
        self.tokenizer = tokenizer
        self.adapters = Adapters(rank, linears(body)) if rank else None
        self.words = Adapted(body.config.hidden_size, body.config.vocab_size, 0, []) if masked else None
        self._predicted: list[Any] = []
        for name, parameter in body.named_parameters():
            if name.startswith("pooler"):
                parameter.requires_grad_(False)  # nothing reads through it

    def train(self, mode: bool = True) -> Tuned:
        """Use dropout in the body where its own weights are trained; adapters of low rank do without."""
        super().train(mode)
        if self.adapters is not None:
            self.body.eval()
        return self

    def inputs(self, readings: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        """Return the readings as tokens, some masked, and what the head takes besides."""
        whole = [self.head.reading(reading) for reading in readings]
        rows = tokenized(whole, self.tokenizer, self.head.length, self.body.config.vocab_size - 1)
        if self.masked:
            hidden = torch.from_numpy(chosen_words(rows["ids"].numpy(), self.tokenizer, rng, self.masked))
            rows["targets"] = rows["ids"].where(hidden, -1)
            rows["ids"].masked_fill_(hidden, self.tokenizer.wrapped.mask_token_id)
        return rows, *self.head.extra_inputs(readings)

    def forward(self, rows: Mapping[str, Any], *beside: Any) -> Any:
        return self.head(self.pooled(rows), *beside)

    def extra_loss(self) -> Any:
        """Return the cross entropy of the masked words that were read last."""
        if not self._predicted:
            return 0.0
        scores, targets = map(torch.cat, zip(*self._predicted, strict=True))
        self._predicted = []
        return functional.cross_entropy(scores, targets)

    def pooled(self, rows: Mapping[str, Any]) -> Any:
        """Return one vector (B, width) for each row of `ids` (B, longest), reading its first `lengths` (B,) tokens."""
        lengths = rows["lengths"]
        READING.trained += int(lengths.sum()) if self.training else 0
        order, parts, start = lengths.argsort(descending=True, stable=True), [], 0
        while start < len(order):  # rows of like length
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
        """Return the token states of rows, and which of them count."""
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
    """Return the readings as rows of token ids, with the length of each; all are texts, pairs or dialogues."""
    rows = tokenizer.readings(readings, separator, longest)
    inputs = padded(rows, tokenizer.pad)
    tokens = {"ids": inputs["input_ids"], "lengths": np.array([len(row.ids) for row in rows])}
    types = {"types": inputs["token_type_ids"]} if "token_type_ids" in inputs else {}
    return {name: torch.from_numpy(array) for name, array in (tokens | types).items()}


def chosen_words(ids: npt.NDArray[np.int64], tokenizer: Tokenizer, rng: np.random.Generator,
                 share: float) -> npt.NDArray[np.bool_]:
    """Return which tokens of each row are to be masked: a share of its words, at least one."""
    specials = tokenizer.specials - {tokenizer.wrapped.unk_token_id}  # a word that is not in the vocabulary is a word
    drawn = np.where(np.isin(ids, list(specials)), 2.0, rng.random(ids.shape))
    chosen: npt.NDArray[np.bool_] = (drawn < share) | ((drawn == drawn.min(axis=1, keepdims=True)) & (drawn < 1))
    return chosen


def _take_heads(network: Tuned, heads: Mapping[str, Any], next_sentence: bool) -> None:
    """Initialise from BERT's pretraining: the hidden layer from its pooler, and on request the classifier and words."""
    dense, pooler = network.head.dense, getattr(getattr(network.body, "pooler", None), "dense", None)
    if network.head.pooling == "cls" and dense is not None and pooler is not None and (
            dense.weight.shape == pooler.weight.shape):
        dense.load_state_dict(pooler.state_dict())
    if next_sentence and "seq_relationship.weight" in heads:
        for name in ("weight", "bias"):
            follows, does_not = heads[f"seq_relationship.{name}"].float()
            getattr(network.head.out, name).data.copy_(follows - does_not)
    if network.words is not None and "predictions.bias" in heads:
        names = {"bias": "bias", "dense.weight": "transform.dense.weight", "dense.bias": "transform.dense.bias",
                 "norm.weight": "transform.LayerNorm.weight", "norm.bias": "transform.LayerNorm.bias"}
        network.words.load_state_dict({name: heads[f"predictions.{theirs}"] for name, theirs in names.items()},
                                      strict=False)
