"""The Models service: every network, word vector and resource that a metric takes from outside its own file.

    models.encoder(name)          texts to vectors             metrics/models/encoder.py
    models.lm(name)               likelihoods of texts         metrics/models/causal.py
    models.vectors(name)          words to vectors             metrics/models/vectors.py
    models.scorer(name)           scores of a checkpoint       metrics/models/scorer.py
    models.trained(name, kind)    a network trained here       metrics/models/checkpoint.py
    models.masked(encoder)        each token from the others   metrics/models/masked.py
    models.resource(name)         data fetched or imported once, such as WordNet

An empty name stands for the model of the run (`--encoder`, `--lm`, `--vectors`), else for the embedded default. Each
model is loaded once, when it is first used; the service owns device, precision, batches and what is remembered.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.storage.digested import Store
from metrics.errors import MissingResource
from metrics.models import catalogue, checkpoint, resources, small_lm
from metrics.models import weights as files
from metrics.models.checkpoint import Checkpoint
from metrics.models.device import Machine, machine
from metrics.models.memory import MEBIBYTE, Memory
from metrics.models.reading import READING
from metrics.models.resources import Resource
from metrics.models.weights import Weights

if TYPE_CHECKING:
    from metrics.models.causal import LanguageModel
    from metrics.models.encoder import Encoder
    from metrics.models.masked import MaskedModel
    from metrics.models.scorer import Scorer
    from metrics.models.vectors import WordVectors

Loaded = TypeVar("Loaded")
MEMORY = 1024 * MEBIBYTE
"""How much of what was computed is remembered within a run."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which models stand for the ones that a metric does not name, and how they run."""

    encoder: str = ""
    lm: str = ""
    vectors: str = ""
    device: str = "auto"
    precision: str = "auto"
    batch_tokens: int | None = None
    download: bool = False


@dataclass
class Models:
    """Finds and loads what metrics need, on the chosen device."""

    home: Path
    choice: Choice = field(default_factory=Choice)
    memory: Memory = field(default_factory=lambda: Memory(MEMORY))

    def __post_init__(self) -> None:
        self._loaded: dict[tuple[Any, ...], Any] = {}
        self.requested: set[tuple[str, str]] = set()
        """The kinds and names requested since this was last emptied."""

    @functools.cached_property
    def machine(self) -> Machine:
        """The devices and the precision of the run."""
        choice = self.choice
        return machine(choice.device, choice.precision, choice.batch_tokens)

    def _machine(self, kind: str, name: str) -> Machine:
        """The same for one model, whose card may say what `auto` is on a processor."""
        card = catalogue.cards().get(name or self.choice.lm) if kind == "lm" else None
        if card is None or self.choice.precision != "auto" or self.machine.kind != "cpu":
            return self.machine
        return dataclasses.replace(self.machine, precision=card.precision)

    def encoder(self, name: str = "", layer: int = 0) -> Encoder:
        """The encoder of that name; `layer` 0 is its last."""
        self.requested.add(("encoder", name))
        return self._encoder(name, layer)

    def _encoder(self, name: str, layer: int = 0) -> Encoder:
        from metrics.models.encoder import Encoder

        weights = self._encoder_weights(name)
        return self.once(("encoder", weights.identity, layer),
                          lambda: Encoder(weights, self.machine, self.memory, layer))

    def lm(self, name: str = "") -> LanguageModel:
        """The causal language model of that name."""
        self.requested.add(("lm", name))
        from metrics.models.causal import LanguageModel

        weights = self._language_model(name)

        def load() -> LanguageModel:
            if weights.name == small_lm.SHOWN:
                return small_lm.load(self._small_lm(), self.machine, self.memory)
            return LanguageModel(weights, self._machine("lm", name), self.memory)

        return self.once(("lm", weights.identity), load)

    def vectors(self, name: str = "") -> WordVectors:
        """The word vectors in that file; without one, the encoder's input embeddings."""
        self.requested.add(("vectors", name))
        from metrics.models.vectors import from_encoder, from_file

        file = name or self.choice.vectors
        if not file:
            return self.once(("vectors", ""), lambda: from_encoder(self._encoder("")))
        return self.once(("vectors", file), lambda: from_file(self._vector_file(file), self.home))

    def trained(self, name: str, kind: Callable[..., Loaded], encoder: str = "") -> Loaded:
        """The network `kind(**config)` with the weights of that name that were trained for this encoder."""
        from metrics.models import networks

        self.requested.add(("checkpoint", name))
        trained = self.checkpoint(name, encoder)
        network: Loaded = self.once(("trained", kind, trained.folder),
                                     lambda: networks.own(kind, trained, self.machine))
        return network

    def scorer(self, name: str, encoder: str = "") -> Scorer:
        """Load the weights of that name into the architecture that they name."""
        from metrics.models import scorer

        architecture = str(self.checkpoint(name, encoder).config.get("architecture", ""))
        network = self.trained(name, scorer.find(architecture), encoder)
        return scorer.Scorer(network, self.encoder(network.encoder_name(encoder, name), network.depth))

    def masked(self, encoder: str = "") -> MaskedModel:
        """The masked language model over this encoder, whose weights are the checkpoint `mlm`."""
        from metrics.models.adapters import Adapted
        from metrics.models.masked import MaskedModel

        read, head = self.encoder(encoder), self.trained("mlm", Adapted, encoder)
        trained = self.checkpoint("mlm", encoder)
        return self.once(("masked", trained.folder),
                          lambda: MaskedModel(read, head.to(self.machine.dtype()), trained.identity, self.memory))

    def checkpoint(self, name: str, encoder: str = "") -> Checkpoint:
        """The weights of that name for this encoder, or MissingResource."""
        absent = None
        try:
            identity = self._encoder_weights(encoder).identity
        except MissingResource as error:
            identity, absent = "", error  # weights that read no encoder do without
        try:
            trained: Checkpoint = self.once(("checkpoint", name, identity),
                                           lambda: checkpoint.find(name, identity, self.home))
        except MissingResource as error:
            raise absent or error from error
        return trained

    def resource(self, name: str) -> Resource:
        """The named resource, or MissingResource with what to do."""
        return resources.find(name, self.home)

    def identity(self, kind: str, name: str = "") -> str:
        """What a score that used this model depends on: the name, the digests, how it is computed."""
        if kind == "vectors" and (name or self.choice.vectors):
            file = self._vector_file(name or self.choice.vectors)
            return f"{file.name}@{file.digest[:12]}"
        weights = self._language_model(name) if kind == "lm" else self._encoder_weights(name * (kind == "encoder"))
        parts = [weights.identity] if kind != "vectors" else [f"input embeddings of {weights.identity}"]
        if (precision := self._machine(kind, name).precision) != "fp32":
            parts.append(precision)
        return " ".join(parts)

    def display_name(self, kind: str, name: str = "") -> str:
        """The model's name as a page shows it beside a score, with a precision other than fp32; empty if absent."""
        try:
            identity = self.identity(kind, name)
        except MissingResource:
            return ""
        name, _, rest = identity.partition("@")
        return " ".join([name, *rest.split()[1:]])

    def parameters(self, kind: str, name: str = "") -> int:
        """How many parameters a model has; 0 for word vectors from a file, and where the model is absent."""
        if kind == "vectors" and (name or self.choice.vectors):
            return 0
        try:
            weights = self._language_model(name) if kind == "lm" else self._encoder_weights(name * (kind == "encoder"))
        except MissingResource:
            return 0
        return files.parameters(weights.folder, "word_embeddings" if kind == "vectors" else "")

    def _language_model(self, name: str) -> Weights:
        model = name or self.choice.lm or small_lm.SHOWN
        return small_lm.weights(self._small_lm()) if model == small_lm.SHOWN else self._weights(model, "lm")

    def _encoder_weights(self, name: str) -> Weights:
        """The files of an encoder; of `NAME+CHECKPOINT` with what was trained of it, NAME empty for that of the run."""
        name = f"{self.choice.encoder or files.EMBEDDED}{name}" if name.startswith("+") or not name else name
        base, plus, trained = name.rpartition("+")
        if not plus or (files.is_path(name) and Path(name).expanduser().is_dir()):
            return self._weights(name, "encoder")
        weights = self._weights(base, "encoder")
        return self.once(("tuned", base, trained),
                          lambda: weights.tuned(checkpoint.find(trained, weights.identity, self.home)))

    def _small_lm(self) -> Checkpoint:
        """The language model that was trained here: the user's own, else the one that comes with this package."""
        self.once(("installed",), _check_installed)
        try:
            trained: Checkpoint = self.once(("checkpoint", small_lm.NAME, ""),
                                           lambda: checkpoint.find(small_lm.NAME, "", self.home))
        except MissingResource as error:
            raise MissingResource(f"{error}; or name another language model by --lm (gpt2, microsoft/DialoGPT-small, "
                                  "a folder)") from error
        return trained

    def _weights(self, name: str, kind: str) -> Weights:
        catalogue.check_kind(name, kind)
        self.once(("installed",), _check_installed)
        weights = self.once(("weights", name), lambda: self._found(name))
        if isinstance(weights, str):
            raise MissingResource(weights)
        return weights

    def _found(self, name: str) -> Weights | str:
        """The model, or what is wrong: that is remembered as well, since a network takes its time to fail."""
        try:
            return files.find(name, self.home, download=self.choice.download)
        except MissingResource as error:
            return str(error)

    def _vector_file(self, name: str) -> Resource:
        if card := catalogue.cards().get(name):
            catalogue.check_kind(name, "vectors")
            file, digest = next(iter(card.files.items()))
            path = catalogue.folder(card, self.home) / file
            if not path.is_file():
                raise MissingResource(f"word vectors {name!r} are not here; `harness fetch {name}` brings them "
                                      f"({card.size / 1e6:.0f} MB)")
            noted = self._with_noted_digest(path)
            if noted.digest != digest:
                catalogue.check_digests(card, path.parent, "home")
            return dataclasses.replace(noted, name=name)
        for path in (Path(name).expanduser(), self.home / "vectors" / name):
            if path.is_file():
                return self._with_noted_digest(path)
        raise MissingResource(f"word vectors {name!r}: no such file, neither here nor in {self.home / 'vectors'}: "
                              "put it there")

    def _with_noted_digest(self, path: Path) -> Resource:
        """A file that takes long to digest: its digest is noted in the home, by path, size and time of change."""
        state = path.stat()
        state_digest = hashlib.sha256(f"{path.resolve()} {state.st_size} {state.st_mtime_ns}".encode()).hexdigest()[:16]
        store, key = Store(self.home / "vectors"), f"{state_digest}.sha256"
        digest = store.get(key, bytes.decode)
        if digest is None:
            digest = resources.sha256(path)
            store.put(key, digest.encode())
        return Resource(path.name, path, digest)

    def once(self, key: tuple[Any, ...], load: Callable[[], Loaded]) -> Loaded:
        """What was loaded under a key, loaded now if it was not."""
        if key not in self._loaded:
            with READING.loads():
                self._loaded[key] = load()
        loaded: Loaded = self._loaded[key]
        return loaded


def _check_installed() -> None:
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingResource(f"{package} is not installed; the extra [neural] brings it")
