"""Training a transformer from its tokens: its weights, or low-rank adapters, with a head on its pooled states.

    Tuned(body, head, rank)         rank 0 trains the body's own weights, any other rank adapters
    contrasts(data, parts, ...)     a right and a wrong text, or pair of texts, read together       (cross-encoder)
    labelled(data, parts, ...)      such a text or pair and its label from 0 to 1
    retrieval(data, parts, ...)     what was said and its reply, each read alone, among the batch   (bi-encoder)

With `masked` words of what `contrasts` reads are masked, and told as well. The checkpoint holds `adapters.*` or
`body.*`, `head.*`, and `words.*` where there are masked ones. The body with its trained weights is an encoder of its
own, `ENCODER+CHECKPOINT`, and reads as every encoder reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from metrics.errors import MetricError
from metrics.models import networks
from metrics.models.adapters import Adapted, Adapters, linears
from metrics.models.encoder import padded
from metrics.models.masked import mask_of
from metrics.models.reading import READING
from metrics.trained.heads import losses
from metrics.training.backbones.mlm import chosen_words
from metrics.training.recipe import Objective, TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.tokens import Tokenizer

Reading: TypeAlias = str | tuple[str, str] | list[str]
"""What is read as one sequence: a text, a context and its response, or the utterances of a dialogue."""
Pooling: TypeAlias = Literal["cls", "mean", "max"]
Part = TypeVar("Part")
HELD_OUT = 8
"""Batches that are held out."""
CHUNK = 512
"""Tokens that the processor reads at a time, which is enough for its products and leaves little padding."""
SHARPNESS = 20.0
"""What cosines are multiplied by where the reply is found among those of the batch."""


class Classifier(nn.Module):
    """A linear layer on a pooled state, behind a hidden layer with a tanh where `hidden` is not 0.

    The rest is how the rows were read: `length` in tokens, the states of the first `layers` (0: all) with dropout
    before they are pooled, utterances apart by a token of their own where `separator`.
    """

    def __init__(self, width: int, hidden: int = 0, dropout: float = 0.1, pooling: Pooling = "cls", length: int = 128,
                 outputs: int = 1, layers: int = 0, token_dropout: float = 0.0, separator: bool = False) -> None:
        super().__init__()
        self.pooling, self.length, self.layers = pooling, length, layers
        self.token_dropout, self.separator = token_dropout, separator
        self.dense = nn.Linear(width, hidden) if hidden else None
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden or width, outputs)

    def forward(self, pooled: Any) -> Any:
        """The logit of each row, or as many as there are outputs: (B, width) to (B,) or (B, outputs)."""
        states = pooled if self.dense is None else torch.tanh(self.dense(self.dropout(pooled)))
        logits = self.out(self.dropout(states))
        return logits.squeeze(-1) if self.out.out_features == 1 else logits


class Tuned(nn.Module):
    """A transformer, what of it is trained, and a head."""

    def __init__(self, body: Any, head: Any, rank: int, pooling: Pooling, tokens: int) -> None:
        """`tokens` is how many are read at a time, padding included."""
        super().__init__()
        self.body, self.head, self.pooling, self.tokens = body.requires_grad_(not rank), head, pooling, tokens
        self.adapters = Adapters(rank, linears(body)) if rank else None
        self.words: Adapted | None = None
        for name, parameter in body.named_parameters():
            if name.startswith("pooler"):
                parameter.requires_grad_(False)  # nothing reads through it

    def train(self, mode: bool = True) -> Tuned:
        """Dropout in the body where its own weights are trained; adapters of low rank do without."""
        super().train(mode)
        if self.adapters is not None:
            self.body.eval()
        return self

    def pooled(self, rows: Mapping[str, Any], words: list[Any] | None = None) -> Any:
        """One vector for each row of `ids` (B, longest), of which the first `lengths` (B,) count: (B, width).

        `words` receives the scores over the vocabulary of what `targets` (B, longest) says is masked, and these.
        """
        lengths = rows["lengths"]
        READING.trained += int(lengths.sum()) if self.training else 0
        order, parts = lengths.argsort(descending=True, stable=True), []
        for chunk in self._chunks(order, lengths):
            states, mask = self._read(rows, chunk)
            parts.append(self._pool(states, mask))
            if words is not None and self.words is not None:
                targets = rows["targets"][chunk, : states.shape[1]]
                table = self.body.get_input_embeddings().weight
                words.append((self.words.logits(states[targets >= 0], table), targets[targets >= 0]))
        return torch.cat(parts)[order.argsort()]

    def forward(self, rows: Mapping[str, Any], words: list[Any] | None = None) -> Any:
        """The head's logit of each row: (B,); the head also takes what stands beside the rows."""
        return self.head(self.pooled(rows, words), *(rows[name] for name in ("beside",) if name in rows))

    def _chunks(self, order: Any, lengths: Any) -> Iterator[Any]:
        """Rows of like length, as many as may be read at a time."""
        start = 0
        while start < len(order):
            many = max(1, self.tokens // max(1, int(lengths[order[start]])))
            yield order[start : start + many]
            start += many

    def _read(self, rows: Mapping[str, Any], chunk: Any) -> tuple[Any, Any]:
        """The token states of some rows, and which of them count."""
        longest = int(rows["lengths"][chunk].max())
        mask = torch.arange(longest, device=chunk.device) < rows["lengths"][chunk, None]
        inputs = {"input_ids": rows["ids"][chunk, :longest], "attention_mask": mask.long()}
        if "types" in rows:
            inputs["token_type_ids"] = rows["types"][chunk, :longest]
        with self.adapters.over(self.body) if self.adapters else contextlib.nullcontext():
            states = self.body(**inputs).last_hidden_state.float()
        return functional.dropout(states, getattr(self.head, "token_dropout", 0.0), self.training), mask

    def _pool(self, states: Any, mask: Any) -> Any:
        if self.pooling == "cls":
            return states[:, 0]
        if self.pooling == "max":
            return states.masked_fill(~mask[..., None], torch.finfo(states.dtype).min).amax(1)
        return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def tokenized(readings: Sequence[Reading], tokenizer: Tokenizer, longest: int, separator: int = 0) -> dict[str, Any]:
    """The readings as rows of numbers, with the length of each; all are texts, pairs or dialogues."""
    if readings and isinstance(readings[0], str):
        rows = tokenizer.texts([str(text) for text in readings], longest)
    elif readings and isinstance(readings[0], list):
        rows = tokenizer.dialogues(readings, separator, longest)
    else:
        rows = tokenizer.pairs([(pair[0], pair[1]) for pair in readings], longest)
    inputs = padded(rows, tokenizer.pad)
    held = {"ids": inputs["input_ids"], "lengths": np.array([len(row.ids) for row in rows])}
    types = {"types": inputs["token_type_ids"]} if "token_type_ids" in inputs else {}
    return {name: torch.from_numpy(array) for name, array in (held | types).items()}


@dataclass(frozen=True, slots=True)
class Parts(Generic[Part]):
    """What is trained on and what is held out, and how examples of either are drawn: (part, generator, how many)."""

    training: Part
    held_out: Part
    draw: Callable[[Part, np.random.Generator, int], Sequence[Any]]
    rows: int = 0
    """How many examples an epoch has."""


def contrasts(data: TrainingData, parts: Parts[Any], *, pooling: Pooling = "cls", margin: float = 0.0,
              kind: Callable[..., Any] = Classifier, above: int = 0, outputs: int = 1,
              beside: Callable[[Any, Sequence[Any]], Iterable[Any]] | None = None, as_bert: bool = False,
              masked: float = 0.0, **head: Any) -> Objective:
    """A right and a wrong reading each: cross entropy, or with a margin that of the two sigmoids (a ranking).

    An example is a right and a wrong reading, and which of several `outputs` is to tell them apart. `kind` is the
    head; `beside` gives, of a part and its examples, what the head takes besides for either reading.
    So many layers `above` what is pooled are left out. `as_bert` lets the heads begin as BERT's own, where the encoder
    has them; then a share of the words can be `masked`, and their cross entropy counts as much as the other loss.
    """
    head |= {"outputs": outputs} if outputs > 1 else {}
    head |= {"hidden": data.models.encoder(data.encoder).width} if as_bert else {}
    network, tokenizer, config = _network(data, pooling, head, kind, above)
    begins = {"the head begins": _take_heads(network, data.models.encoder(data.encoder), masked > 0)} if as_bert else {}
    longest, separator = data.recipe.length, network.body.config.vocab_size - 1

    def batch(part: Any, rng: np.random.Generator, many: int) -> dict[str, Any]:
        examples: Sequence[Any] = parts.draw(part, rng, many)
        both = [tokenized([example[place] for example in examples], tokenizer, longest, separator) for place in (0, 1)]
        for rows in both if masked else ():
            _hide(rows, tokenizer, rng, masked)
        for rows, more in zip(both, beside(part, examples) if beside else (), strict=False):
            rows["beside"] = more
        chosen = {"outputs": torch.tensor([example[2:] for example in examples])} if outputs > 1 else {}
        return {**dict(zip(("right", "wrong"), both, strict=True)), **chosen}

    def logits(network: Any, batch: Mapping[str, Any], *words: list[Any]) -> tuple[Any, Any]:
        right, wrong = network(batch["right"], *words), network(batch["wrong"], *words)
        if "outputs" in batch:
            right, wrong = (side.gather(1, batch["outputs"])[:, 0] for side in (right, wrong))
        return right, wrong

    def loss(network: Any, batch: Mapping[str, Any]) -> Any:
        words: list[Any] = []
        both = logits(network, batch, *([words] if masked else []))
        total = losses.margin_ranking(*both, margin) if margin else losses.logistic(*both)
        if words:
            scores, own = map(torch.cat, zip(*words, strict=True))
            total = total + functional.cross_entropy(scores, own)
        return total

    def shares(network: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
        words: list[Any] = []
        right, wrong = logits(network, batch, *([words] if masked else []))
        guessed = {"masked words told": torch.cat([scores.argmax(1) == own for scores, own in words])} if words else {}
        return {"right above one half": right > 0, "wrong below one half": wrong < 0, "pairs in order": right > wrong,
                **guessed}

    return _objective(data, parts, batch, network, config, loss, shares, begins)


def labelled(data: TrainingData, parts: Parts[Any], *, pooling: Pooling = "cls", **head: Any) -> Objective:
    """Cross entropy against labels from 0 to 1; an example is a reading and its label."""
    network, tokenizer, config = _network(data, pooling, head)

    def batch(part: Any, rng: np.random.Generator, many: int) -> dict[str, Any]:
        readings, labels = zip(*parts.draw(part, rng, many), strict=True)
        return {"rows": tokenized(readings, tokenizer, data.recipe.length), "labels": torch.tensor(labels).float()}

    def loss(network: Any, batch: Mapping[str, Any]) -> Any:
        return functional.binary_cross_entropy_with_logits(network(batch["rows"]), batch["labels"])

    def shares(network: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
        return {"on their side of one half": (network(batch["rows"]) > 0) == (batch["labels"] > 0.5)}

    return _objective(data, parts, batch, network, config, loss, shares)


def retrieval(data: TrainingData, parts: Parts[Any]) -> Objective:
    """Find the own reply among those of the batch and the hard ones beside it, by cosine; the way back likewise.

    An example is what was said, its reply, and a hard wrong reply or "". Replies of the same words do not count as
    wrong.
    """
    network, tokenizer, config = _network(data, "mean", None)
    longest = data.recipe.length

    def batch(part: Any, rng: np.random.Generator, many: int) -> dict[str, Any]:
        said, replies, hard = zip(*parts.draw(part, rng, many), strict=True)
        every = [*replies, *(text for text in hard if text)]
        same = [[other == own and place != row for place, other in enumerate(every)]
                for row, own in enumerate(replies)]
        return {"said": tokenized(said, tokenizer, longest), "replies": tokenized(every, tokenizer, longest),
                "same": torch.tensor(same)}

    def cosines(network: Any, batch: Mapping[str, Any]) -> Any:
        said, replies = (functional.normalize(network.pooled(batch[side]), dim=-1) for side in ("said", "replies"))
        return (SHARPNESS * said @ replies.T).masked_fill(batch["same"], -torch.inf)

    def loss(network: Any, batch: Mapping[str, Any]) -> Any:
        return losses.both_ways(cosines(network, batch))

    def shares(network: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
        logits = cosines(network, batch)
        return {"replies found": logits.argmax(1) == torch.arange(len(logits), device=logits.device)}

    return _objective(data, parts, batch, network, config, loss, shares)


def _network(data: TrainingData, pooling: Pooling, head: Mapping[str, Any] | None,
             kind: Callable[..., Any] = Classifier, above: int = 0) -> tuple[Tuned, Tokenizer, Any]:
    """A fresh network over the encoder of the training, the encoder's tokenizer, and the network's config."""
    recipe, machine = data.recipe, data.models.machine
    encoder = data.models.encoder(data.encoder)
    layers = encoder.networks[0].config.num_hidden_layers - above if above else 0
    body = networks.loaded("AutoModel", encoder.weights, machine, layers or None).float()
    if recipe.checkpointing:
        body.gradient_checkpointing_enable({"use_reentrant": False})
    config: dict[str, Any] = {}
    top = nn.Identity()
    if head is not None:
        config = {"width": int(body.config.hidden_size), "pooling": pooling, "length": recipe.length,
                  **({"layers": layers} if layers else {}), **recipe.network, **head}
        if config.get("separator"):
            body = networks.separated(body)
        top = kind(**config)
        _take_pooler(top, body)
    tokens = CHUNK if machine.kind == "cpu" else machine.tokens // 4
    return Tuned(body, top, recipe.rank, pooling, tokens), encoder.tokenizer, config


def _take_pooler(head: Any, body: Any) -> None:
    """Let the hidden layer on the first token begin as BERT's, which was pretrained to tell the next sentence."""
    pooler = getattr(getattr(body, "pooler", None), "dense", None)
    if head.pooling == "cls" and pooler is not None and head.dense is not None \
            and head.dense.weight.shape == pooler.weight.shape:
        head.dense.load_state_dict(pooler.state_dict())


def _hide(rows: dict[str, Any], tokenizer: Tokenizer, rng: np.random.Generator, share: float) -> None:
    """Mask a share of the words of each row; `targets` are these, and −1 elsewhere."""
    hidden = torch.from_numpy(chosen_words(rows["ids"].numpy(), tokenizer, rng, share))
    rows["targets"] = rows["ids"].where(hidden, -1)
    rows["ids"].masked_fill_(hidden, tokenizer.whole.mask_token_id)


def _take_heads(network: Tuned, encoder: Encoder, words: bool) -> str:
    """Let the last layer begin as the one by which BERT tells the next sentence, and that of masked `words` as its.

    How the head begins.
    """
    if words:
        mask_of(encoder)  # an error where it has none
        network.words = Adapted(network.body.config.hidden_size, network.body.config.vocab_size, 0, [])
    own = networks.own_heads(encoder.weights)
    if "seq_relationship.weight" in own:
        for name in ("weight", "bias"):
            follows, does_not = own[f"seq_relationship.{name}"].float()
            getattr(network.head.out, name).data.copy_(follows - does_not)
    if network.words is not None and "predictions.bias" in own:
        names = {"bias": "bias", "dense.weight": "transform.dense.weight", "dense.bias": "transform.dense.bias",
                 "norm.weight": "transform.LayerNorm.weight", "norm.bias": "transform.LayerNorm.bias"}
        network.words.load_state_dict({name: own[f"predictions.{theirs}"] for name, theirs in names.items()},
                                      strict=False)
    if getattr(network.body, "pooler", None) is None:
        return "at random, since the encoder has no pooling layer"
    return "as BERT's own" if "seq_relationship.weight" in own else "with the encoder's pooling layer"


def _objective(data: TrainingData, parts: Parts[Any], batch: Callable[..., Any], network: Tuned, config: Any,
               loss: Callable[..., Any], shares: Callable[..., Mapping[str, Any]],
               more: Mapping[str, str] | None = None) -> Objective:
    rows, rng = data.recipe.batch, data.rng
    if rows < 2:
        raise MetricError(f"batch={rows}: a batch of a transformer's training has 2 rows or more")
    held_out = [batch(parts.held_out, rng, rows) for _ in range(HELD_OUT)]
    notes = losses.shares(held_out, shares)
    return Objective(network, config, lambda rng: batch(parts.training, rng, rows), held_out, loss,
                     lambda network: {**notes(network), **(more or {})}, parts.rows)
