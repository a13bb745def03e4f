"""Models of the package sentence-transformers as metrics: sentence encoders and cross-encoders.

    st:MODEL   the cosine of sentence embeddings (Reimers and Gurevych, 2019), made by the package's `encode` with the
               model's own pooling, normalisation and prompt; the mean over the tokens where it describes none
    ce:MODEL   what a cross-encoder says of (other text, response), read as one sequence. A model with one output is
               scored with its own activation, the sigmoid where it names none; of one with several labels, `label`
               says whose probability is the score. A sequence that is too long is cut by the package, the longer text
               first and from its end: with `against=context` that is where the last utterance stands

The package reads the model's folder itself, with its own pooling, normalisation and activation, in float32 on the
first device: `--precision` and `--batch-tokens` are for the networks of this project. Models are found as all others
are (metrics/models/weights.py), so that nothing is read but safetensors and no code comes with a model.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from benchmarks.dataset import Item
from benchmarks.errors import nearest
from metrics.errors import BadOption, MissingResource, in_one_line
from metrics.metric import Column, Columns, Metric, MetricCard, variant
from metrics.models import resources, weights
from metrics.models.hub import quiet
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.models.weights import Weights
from metrics.paths import label
from metrics.text.similarity import cosines
from metrics.text.words import over_references, reply, unscored

Against: TypeAlias = Literal["last", "context", "references"]
Pair: TypeAlias = tuple[str, str]

PACKAGE = "sentence-transformers"
NEEDS: dict[str, tuple[str, ...]] = {"last": ("context",), "context": ("context",), "references": ("references",)}
BATCH = 32
"""Texts read at a time, as the package has it; it sorts them by length."""


@dataclass(frozen=True, slots=True)
class OfPairs:
    """A number for (other text, response): the last utterance, the whole context in one line, or each reference."""

    card: ClassVar[MetricCard]
    model: ClassVar[str]
    against: Against = "last"
    references: Literal["max", "mean", "first"] = "max"

    @classmethod
    def named(cls, model: str) -> type[Metric]:
        """The class for one model, bearing its name."""
        name = label(cls.card.name, model)
        title = f"{cls.card.title} of {name.partition(':')[2]}"
        return variant(cls, card=dataclasses.replace(cls.card, name=name, columns=(name,), title=title), model=model)

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> type[Metric]:
        """The class whose card needs what the response is compared with."""
        return variant(cls, card=dataclasses.replace(cls.card, needs=NEEDS[values.get("against", "last")]))

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """One number per item; NaN without the text to compare with."""
        pairs_of: dict[int, list[Pair]] = {}
        for row, item in enumerate(items):
            if others := list(self._others(item)):
                pairs_of[row] = [(other, reply(item)) for other in others]
        column = unscored(1, len(items))[0]
        values = iter(self.values([pair for pairs in pairs_of.values() for pair in pairs], models) if pairs_of else ())
        for row, pairs in pairs_of.items():
            column[row] = over_references([float(next(values)) for _ in pairs], self.references)
        return {self.card.name: column}

    def values(self, pairs: Sequence[Pair], models: Models) -> Column:
        """The number of each pair."""
        raise NotImplementedError

    def files(self, models: Models) -> Weights:
        """The model's files, or MissingResource; what they are must be known before the package is imported."""
        if importlib.util.find_spec(PACKAGE.replace("-", "_")) is None:
            raise MissingResource(f"{PACKAGE} is not installed; the extra [all] brings it")
        return weights.find(self.model, models.home, download=models.choice.download)

    def depends(self, models: Models) -> tuple[str, ...]:
        """The model's digests and the version of the package."""
        weights = self.files(models)
        parts = f"+{digest[:6]}" if (digest := _modules(weights)) else ""
        version = importlib.metadata.version(PACKAGE)
        return f"asked={self.card.name}", f"model={weights.identity}{parts}", f"{PACKAGE}={version}"

    def loaded(self, kind: str, models: Models) -> Any:
        """The package's object for the model, on the first device."""
        files = self.files(models)
        return _loaded(kind, files, _modules(files), models.machine.devices[0])

    def _others(self, item: Item) -> Iterator[str]:
        if self.against == "references":
            texts = [reference.text for reference in item.references if reference.text.strip()]
            yield from texts[:1] if self.references == "first" else texts
        elif item.context:
            turns = item.context[-1:] if self.against == "last" else item.context
            yield " ".join(turn.text for turn in turns)


@functools.cache
def _loaded(kind: str, files: Weights, _digest: str, device: str) -> Any:
    import sentence_transformers
    import torch

    with quiet():
        try:
            return getattr(sentence_transformers, kind)(
                str(files.folder), device=device, local_files_only=True, trust_remote_code=False,
                model_kwargs={"dtype": torch.float32, "use_safetensors": True})
        except MemoryError:
            raise
        except Exception as error:  # a folder can be wrong in many ways, each with an error of its own
            raise MissingResource(f"model {files.name}: {PACKAGE} cannot load it as {kind} "
                                  f"({in_one_line(error)})") from error


def described(folder: Path, name: str) -> Any:
    """What a JSON file of a model's folder says; None where there is none."""
    return weights.json_of(folder.name, folder / name) if (folder / name).is_file() else None


def _modules(files: Weights) -> str:
    """The digest of what the package reads besides the network: the folders that modules.json names."""
    listed = described(files.folder, "modules.json") or ()
    own: list[Path] = []
    try:
        folders = [files.folder / module["path"] for module in listed if module["path"]]
    except (KeyError, TypeError) as error:
        raise MissingResource(f"model {files.name}: modules.json is no list of modules with a path") from error
    for folder in folders:
        if any(folder.glob("*.bin")) and not any(folder.glob("*.safetensors")):
            raise MissingResource(f"model {files.name}: the weights in {folder.name} are a pickle, which can run code "
                                  "and is not read; convert them to safetensors")
        own += (path for path in folder.glob("*") if path.suffix in {".json", ".safetensors", ".txt", ".model"})
    return resources.digest_of(files.folder, own) if folders else ""


@dataclass(frozen=True, slots=True)
class SentenceCosine(OfPairs):
    """cos(e(response), e(other)), −1 to 1."""

    card: ClassVar[MetricCard] = MetricCard(
        name="st", title="Cosine of sentence embeddings", columns=("st",), family="sentence-transformers",
        needs=("context",), paper="https://aclanthology.org/D19-1410",
        notes="Embedded by the package sentence-transformers, with the model's own pooling and normalisation.",
    )

    def values(self, pairs: Sequence[Pair], models: Models) -> Column:
        """The cosine of each pair; each distinct text is read once in a run."""
        vectors = self._vectors(list(dict.fromkeys(text for pair in pairs for text in pair)), models)
        return cosines(np.stack([vectors[other] for other, _ in pairs]), np.stack([vectors[text] for _, text in pairs]))

    def _vectors(self, texts: Sequence[str], models: Models) -> dict[str, Vectors]:
        def read(missing: list[str]) -> list[Vectors]:
            network = self.loaded("SentenceTransformer", models)
            with quiet():
                vectors = network.encode(missing, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
            return [np.array(vector, dtype=np.float32) for vector in vectors]

        return dict(zip(texts, models.memory.through(self.depends(models), texts, read), strict=True))


@dataclass(frozen=True, slots=True)
class CrossEncoderScore(OfPairs):
    """f(other, response): the single output, or p(label); `negated` where less of it is better."""

    card: ClassVar[MetricCard] = MetricCard(
        name="ce", title="Cross-encoder score", columns=("ce",), family="sentence-transformers",
        needs=("context",), paper="https://aclanthology.org/D19-1410",
        notes="Scored by the package sentence-transformers, with the model's own activation.",
    )
    label: str = ""
    negated: bool = False

    def values(self, pairs: Sequence[Pair], models: Models) -> Column:
        """The score of each pair; each distinct pair is read once."""
        network = self.loaded("CrossEncoder", models)
        several = network.num_labels > 1
        place = self._place(network.config.id2label if several else {})
        distinct = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        with quiet():
            read = _predicted(network, [list(pair) for pair in distinct], several=several)
        scores = np.asarray(read, dtype=np.float64).reshape(len(distinct), -1)[:, place]
        column: Column = scores[[distinct[pair] for pair in pairs]]
        return -column if self.negated else column

    def files(self, models: Models) -> Weights:
        """The model's files; one without a head for pairs is refused, since its head would be drawn at random."""
        weights = OfPairs.files(self, models)
        described_as = (described(weights.folder, "config_sentence_transformers.json") or {}).get("model_type")
        kinds = (described(weights.folder, "config.json") or {}).get("architectures") or ()
        is_one = (any(kind.endswith("ForSequenceClassification") for kind in kinds)
                  and described_as in {None, "CrossEncoder"}) or described_as == "CrossEncoder"
        if not is_one:
            raise MissingResource(f"model {weights.name} is no cross-encoder ({', '.join(kinds) or 'of no known kind'}"
                                  "); a sentence encoder is asked for as st:MODEL")
        return weights

    def _place(self, labels: Mapping[int, str]) -> int:
        """The column of the label; the first of a model with one output, where no label can be chosen."""
        if not labels and not self.label:
            return 0
        named = {str(label).casefold(): place for place, label in labels.items()}
        named |= {str(place): place for place in labels}
        if self.label.casefold() not in named:
            known = nearest(self.label, map(str, labels.values())) if labels else "it has one output and none"
            raise BadOption(f"{self.card.name}: label={self.label!r} is none of its labels; {known}")
        return int(named[self.label.casefold()])


def _predicted(network: Any, pairs: list[list[str]], *, several: bool) -> Any:
    """The package's scores: (pairs,), or (pairs, labels) as probabilities."""
    import torch

    activation = torch.nn.Identity() if several else None
    return network.predict(pairs, batch_size=BATCH, show_progress_bar=False, activation_fn=activation,
                           apply_softmax=several)


st, ce = SentenceCosine.named, CrossEncoderScore.named
"""The metric of one sentence encoder, and of one cross-encoder."""
