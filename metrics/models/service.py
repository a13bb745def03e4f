"""The Models service: all networks, word vectors and resources that a metric does not define itself.

    models.encoder(name)          texts to vectors             encoder.py
    models.lm(name)               likelihoods of texts         causal.py
    models.vectors(name)          words to vectors             vectors.py
    models.scorer(name)           scores of a checkpoint       scorer.py
    models.trained(name, class)   a network of this project    checkpoint.py
    models.masked(encoder)        likelihoods of tokens        masked.py
    models.resource(name)         data such as WordNet         resources.py

An empty name means the model chosen for the run (`--encoder`, `--lm`, `--vectors`), or else the embedded default. Each
model is loaded once, on first use.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from metrics.errors import MissingResource
from metrics.models import catalogue, checkpoint, resources, small_lm
from metrics.models import weights as files
from metrics.models.checkpoint import Checkpoint
from metrics.models.counters import COUNTERS
from metrics.models.device import Machine, machine
from metrics.models.memory import MEBIBYTE, ArrayCache
from metrics.models.resources import Resource
from metrics.models.weights import Weights

if TYPE_CHECKING:
    from metrics.models.causal import LanguageModel
    from metrics.models.encoder import Encoder
    from metrics.models.masked import MaskedModel
    from metrics.models.scorer import Scorer
    from metrics.models.vectors import WordVectors

Loaded = TypeVar("Loaded")
MASKED = "mlm"
"""The checkpoint of the masked language model."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The models of a run, for metrics whose options do not name one, and how to run them."""

    encoder: str = ""
    lm: str = ""
    vectors: str = ""
    device: str = "auto"
    precision: str = "auto"
    batch_tokens: int | None = None
    download: bool = False
    price: tuple[float, float] = (0.0, 0.0)  # per million tokens of prompts and of answers
    max_cost: float = 0.0  # of judges; 0 for no limit
    max_requests: int = 0


@dataclass
class Models:
    """Finds and loads the models that metrics need, on the chosen device; `requested` records their kinds and names."""

    home: Path
    choice: Choice = field(default_factory=Choice)
    memory: ArrayCache = field(default_factory=lambda: ArrayCache(1024 * MEBIBYTE))
    folders: Mapping[str, Path] = field(default_factory=dict)
    """Folders of checkpoints by name, used in place of the home's and the shipped ones."""
    stopping: Callable[[], bool] = lambda: False
    """Whether the run was told to stop; a judge then sends no more requests."""

    def __post_init__(self) -> None:
        self._loaded: dict[tuple[Any, ...], Any] = {}
        self.requested: set[tuple[str, str]] = set()

    @functools.cached_property
    def machine(self) -> Machine:
        return machine(self.choice.device, self.choice.precision, self.choice.batch_tokens)

    def encoder(self, name: str = "", layer: int = 0) -> Encoder:
        self.requested.add(("encoder", name))
        return self._encoder(name, layer)

    def lm(self, name: str = "") -> LanguageModel:
        from metrics.models.causal import LanguageModel

        self.requested.add(("lm", name))
        weights = self._weights_of("lm", name)
        return self.load_once(("lm", weights.identity), lambda: (
            small_lm.load(self._small_lm(), self.machine, self.memory) if weights.name == small_lm.DISPLAY_NAME
            else LanguageModel(weights, self._machine("lm", name), self.memory)))

    def vectors(self, name: str = "") -> WordVectors:
        """Return word vectors from a file, or the encoder's input embeddings if neither metric nor run names a file."""
        from metrics.models.vectors import from_encoder, from_file

        self.requested.add(("vectors", name))
        file = name or self.choice.vectors
        return self.load_once(("vectors", file), lambda: from_file(self._vector_file(file), self.home) if file
                         else from_encoder(self._encoder("")))

    def trained(self, name: str, network_class: Callable[..., Loaded], encoder: str = "") -> Loaded:
        """Return the network `network_class(**config)` with the weights `name` for this encoder."""
        from metrics.models import networks

        self.requested.add(("checkpoint", name))
        trained = self.checkpoint(name, encoder)
        network: Loaded = self.load_once(("trained", network_class, trained.folder),
                                         lambda: networks.from_checkpoint(network_class, trained, self.machine))
        return network

    def scorer(self, name: str, encoder: str = "") -> Scorer:
        """Return a scorer with the weights `name`, of the architecture that their config names."""
        from metrics.models import scorer

        architecture = str(self.checkpoint(name, encoder).config.get("architecture", ""))
        network = self.trained(name, scorer.find(architecture), encoder)
        return scorer.Scorer(network, self.encoder(network.encoder_name(encoder, name), network.depth))

    def masked(self, encoder: str = "") -> MaskedModel:
        """Return the masked language model for this encoder, or the embedded encoder's if this one has none."""
        from metrics.models.adapters import AdaptersWithHead
        from metrics.models.masked import MaskedModel

        self.requested.add(("encoder", encoder))
        body, head = self._encoder(self._masked_encoder(encoder)), self.trained(MASKED, AdaptersWithHead, encoder)
        trained = self.checkpoint(MASKED, encoder)
        return self.load_once(("masked", trained.folder),
                         lambda: MaskedModel(body, head.to(self.machine.dtype()), trained.identity, self.memory))

    def checkpoint(self, name: str, encoder: str = "") -> Checkpoint:
        encoder = self._masked_encoder(encoder) if name == MASKED else encoder
        try:
            identity = self._weights_of("encoder", encoder).identity
        except MissingResource:
            with contextlib.suppress(MissingResource):  # some weights need no encoder
                return self._checkpoint(name, "")
            raise
        return self._checkpoint(name, identity)

    def resource(self, name: str) -> Resource:
        return resources.find(name, self.home)

    def identity(self, kind: str, name: str = "") -> str:
        """Return the model's part of a signature: name, digests and precision."""
        if kind == "vectors" and (name or self.choice.vectors):
            file = self._vector_file(name or self.choice.vectors)
            return f"{file.name}@{file.digest[:12]}"
        identity = self._weights_of(kind, name).identity
        precision = self._machine(kind, name).precision
        return ("input embeddings of " if kind == "vectors" else "") + identity + (
            f" {precision}" if precision != "fp32" else "")

    def display_name(self, kind: str, name: str = "") -> str:
        """Return the model's name for pages, with its precision unless fp32; empty if the model is missing."""
        try:
            name, _, rest = self.identity(kind, name).partition("@")
        except MissingResource:
            return ""
        return " ".join([name, *rest.split()[1:]])

    def parameters(self, kind: str, name: str = "") -> int:
        """Return the number of parameters; 0 for word vectors in a file or a missing model."""
        with contextlib.suppress(MissingResource):
            if kind != "vectors" or not (name or self.choice.vectors):
                folder = self._weights_of(kind, name).folder
                return files.parameters(folder, "word_embeddings" if kind == "vectors" else "")
        return 0

    def load_once(self, key: tuple[Any, ...], load: Callable[[], Loaded]) -> Loaded:
        """Return the value for a key, loading it on first use."""
        if key not in self._loaded:
            with COUNTERS.count_loading():
                self._loaded[key] = load()
        return self._loaded[key]  # type: ignore[no-any-return]

    def _machine(self, kind: str, name: str) -> Machine:
        card = catalogue.cards().get(name or self.choice.lm) if kind == "lm" else None
        if card is None or self.choice.precision != "auto" or self.machine.kind != "cpu":
            return self.machine
        return dataclasses.replace(self.machine, precision=card.precision)

    def _encoder(self, name: str, layer: int = 0) -> Encoder:
        from metrics.models.encoder import Encoder

        weights = self._weights_of("encoder", name)
        return self.load_once(("encoder", weights.identity, layer),
                         lambda: Encoder(weights, self.machine, self.memory, layer))

    def _weights_of(self, kind: str, name: str) -> Weights:
        """Return the files of a model; for word vectors, the files of the run's encoder.

        `NAME+CHECKPOINT` is the encoder NAME with the fine-tuned weights of CHECKPOINT; an empty NAME means the run's.
        """
        if kind == "lm":
            model = name or self.choice.lm or small_lm.DISPLAY_NAME
            return small_lm.weights(self._small_lm()) if model == small_lm.DISPLAY_NAME else self._weights(model, "lm")
        name = name if kind == "encoder" else ""
        if not name or name.startswith("+"):
            name = f"{self.choice.encoder or files.EMBEDDED}{name}"
        base, plus, trained = name.rpartition("+")
        if not plus or (files.is_path(name) and Path(name).expanduser().is_dir()):
            return self._weights(name, "encoder")
        weights = self._weights(base, "encoder")
        return self.load_once(("tuned", base, trained),
                              lambda: weights.tuned(self._checkpoint(trained, weights.identity)))

    def _weights(self, name: str, kind: str) -> Weights:
        catalogue.check_kind(name, kind)
        self.load_once(("installed",), _check_installed)

        def find() -> Weights | str:  # failures are cached too, since asking the hub can take long
            try:
                return files.find(name, self.home, download=self.choice.download)
            except MissingResource as error:
                return str(error)

        weights = self.load_once(("weights", name), find)
        if isinstance(weights, str):
            raise MissingResource(weights)
        return weights

    def _checkpoint(self, name: str, encoder: str) -> Checkpoint:
        return self.load_once(("checkpoint", name, encoder), lambda: checkpoint.read(name, self.folders[name])
                         if name in self.folders else checkpoint.find(name, encoder, self.home))

    def _masked_encoder(self, encoder: str) -> str:
        """Return this encoder if there are weights for a masked language model on it, else the embedded encoder."""
        identity = self._weights_of("encoder", encoder).identity
        with contextlib.suppress(MissingResource):
            self._checkpoint(MASKED, identity)
            return encoder
        return files.EMBEDDED

    def _small_lm(self) -> Checkpoint:
        self.load_once(("installed",), _check_installed)
        try:
            return self._checkpoint(small_lm.NAME, "")
        except MissingResource as error:
            raise MissingResource(f"{error}; or choose another language model with --lm (such as gpt2, "
                                  "microsoft/DialoGPT-small or a folder)") from error

    def _vector_file(self, name: str) -> Resource:
        if card := catalogue.cards().get(name):
            catalogue.check_kind(name, "vectors")
            path = catalogue.folder(card, self.home) / next(iter(card.files))
            if not path.is_file():
                raise MissingResource(f"word vectors {name!r} are not on this machine; run `harness fetch {name}` "
                                      f"({card.size / 1e6:.0f} MB)")
            self.load_once(("vector file", path), lambda: catalogue.check_digests(card, path.parent, "home"))
            return Resource(name, path, resources.sha256(path))
        for path in (Path(name).expanduser(), self.home / "vectors" / name):
            if path.is_file():
                digest = resources.sha256(path)
                if path.suffix == ".npy":  # its words are in another file
                    digest = resources.digest_of(path.parent, [path, *path.parent.glob("*.parquet")])
                return Resource(path.name, path, digest)
        raise MissingResource(f"word vectors {name!r}: no such file, nor is there one in {self.home / 'vectors'}")


def _check_installed() -> None:
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingResource(f"{package} is not installed; install the extra [neural]")
