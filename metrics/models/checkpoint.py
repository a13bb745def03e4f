"""Checkpoints: trained weights, with the encoder they belong to and a card that records how they were made.

A folder holds `model.safetensors`, `config.json` (the network's arguments, and the name and digest of its encoder or
null if it uses none) and `card.json` (corpora, command, seed, steps, device, time, losses, correlations, and the sha256
of the other two). The user's checkpoints are in HOME/checkpoints/NAME/ENCODER, the shipped ones in
metrics/checkpoints/NAME, or in a subfolder for encoders other than the embedded one. An encoder is identified by its
digest, not by its name.

Weights are stored as float16 unless they exceed its range. With `eight_bits`, a large matrix is stored as int8 with a
float16 scale per row, the row's maximum / 127. All are loaded as float32; docs/training.md reports the accuracy lost.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.storage.files import staged
from metrics.errors import MetricError, MissingResource
from metrics.models.resources import sha256

SHIPPED = Path(__file__).parent.parent / "checkpoints"
"""The shipped checkpoints: part of a checkout, elsewhere installed by the package built from weights/."""
WEIGHTS, CONFIG, CARD, CURVE = "model.safetensors", "config.json", "card.json", "curve.svg"
NO_ENCODER = "no-encoder"

SUFFIXES = (
    (r"(lexical|embedding|random)-negatives", r"negatives=\1"),
    (r"(negatives|pooling|window|speakers|likeness)-(\w+)", r"\1=\2"), (r"(adversarial|both)", r"negatives=\1"),
    (r"(\d+)-(\d+)-per-cent", r"negatives=\1.\2%"), (r"(\d+)-per-cent", r"negatives=\1%"),
    (r"(base|large)", r"size=\1"), (r"(neighbours|conceptnet)", r"graph=\1"), ("utterances", "branch=utterances"),
    ("no-khop", "khop=false"), ("unweighted", "weighted=false"), (r"n(\d+)-(\d+)", r"first=\1,second=\2"),
    (r"(\w+)-keywords", r"tagger=\1"), ("vectors", "nodes=FILE"), ("words", "nodes="), ("embeddings", "words="))
"""Suffixes of the names of weights, with the options of the metric that they stand for."""

SCALE = ".scale"
"""Suffix of the name of a matrix's scales."""
MIN_INT8_SIZE = 4_096
"""Minimum number of elements of a matrix that is stored in eight bits; smaller ones save too little."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation during training: the mean training loss since the previous evaluation, and the validation loss."""

    step: int
    loss: float
    held_out: float


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Trained weights on this machine."""

    name: str
    folder: Path
    digest: str
    config: Mapping[str, Any]
    card: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """NAME@DIGEST, as in a signature."""
        return f"{self.name}@{self.digest[:12]}"

    @property
    def encoder(self) -> str:
        """The name of the encoder that the weights belong to; empty if they use none."""
        return str((self.config["encoder"] or {}).get("name", ""))

    def weights(self) -> dict[str, Any]:
        from safetensors.torch import load_file

        return decompressed(load_file(self.folder / WEIGHTS))

    @property
    def licence_limits(self) -> str:
        """The limits that the licences of its corpora set on its use; empty if there are none."""
        licences = {corpus["licence"] for corpus in self.card.get("corpora", ())}
        limits = {"non-commercial": any(re.search("NC|non-commercial", licence) for licence in licences),
                  "not stated": any(not licence or "not stated" in licence for licence in licences)}
        return " or ".join(limit for limit, applies in limits.items() if applies)

    @property
    def size(self) -> int:
        return sum((self.folder / file).stat().st_size for file in (WEIGHTS, CONFIG, CARD))


def compressed(weights: Mapping[str, Any], eight_bits: bool) -> dict[str, Any]:
    import torch

    stored = {}
    for name, tensor in weights.items():
        tensor = tensor.detach().cpu().contiguous()
        largest = tensor.abs().amax(-1, keepdim=True) if tensor.numel() and tensor.is_floating_point() else None
        if largest is None or not float(largest.max()) <= torch.finfo(torch.float16).max:  # integers, overflow or NaN
            stored[name] = tensor.clone()
        elif not eight_bits or tensor.ndim < 2 or tensor.numel() < MIN_INT8_SIZE:
            stored[name] = tensor.to(torch.float16)
        else:
            scale = (largest.float() / 127).clamp(min=1e-7).half()
            steps = (tensor.float() / scale.float()).round().clamp(-127, 127)
            stored |= {name: steps.to(torch.int8), name + SCALE: scale}
    return stored


def decompressed(stored: Mapping[str, Any]) -> dict[str, Any]:
    integers = {name for name, tensor in stored.items() if not tensor.is_floating_point()}
    weights = {name: tensor if name in integers else tensor.float() for name, tensor in stored.items()}
    for name in integers & {name.removesuffix(SCALE) for name in stored if name.endswith(SCALE)}:
        weights[name] = weights[name].float() * weights.pop(name + SCALE)
    return weights


def find(name: str, encoder: str, home: Path) -> Checkpoint:
    """Return the weights for an encoder (its identity), the user's own if any; raise MissingResource if changed."""
    encoders = []
    base, _, digest = encoder.rpartition("@")
    for folder in _folders(name, home):
        try:
            config = _json(name, folder / CONFIG)
        except MissingResource:
            if folder.name in {name, NO_ENCODER, digest}:
                raise
            continue  # broken, but for another encoder
        identity = _encoder_of(name, folder, config)
        if identity is None or identity.rpartition("@")[2] == digest:
            return read(name, folder)
        encoders.append(identity)
    if not encoders and not SHIPPED.is_dir():  # the same words for every metric, so that they are printed once
        raise MissingResource("the project's trained weights are not installed: from a checkout, run `pip install "
                              "./weights` (terms: docs/licences.md), or `pip install -e .` to use the checkout itself")
    if not encoders:
        raise MissingResource(f"weights {name} are not on this machine: train them with `{command(name)}`; "
                              "for a metric of your own, give its path instead of its name")
    tuned_encoder = next((other.rpartition("@")[0] for other in encoders if base and other.startswith(f"{base}+")), "")
    raise MissingResource(f"weights {name} belong to encoder {', '.join(dict.fromkeys(encoders))}, but the run uses "
                          f"{encoder or 'none'}: " + (f"give `--encoder {tuned_encoder}`, or " if tuned_encoder else "")
                          + f"train your own with `{command(name)} --encoder {base or 'ENCODER'}`")


def command(name: str) -> str:
    """Return the command that trains weights named METRIC[-RECIPE][-PART][-OPTION...]."""
    base = re.sub(r"-(vup|nup|dr-c|dr-f|regression|coherence|likability|topic-depth)$", "", name)
    named, recipe, after = re.split(r"-(paper|original|pretrain|finetune)\b|$", base, maxsplit=1)
    metric, options = re.match(r"(deb|dynaeval|grade|mme-tcm|ruber|s-dicoh)(?=-|$)", named), []
    rest = named[metric.end():] + after if metric else ""
    for pattern, option in SUFFIXES:
        while found := re.search(f"-{pattern}(?=-|$)", rest):
            options.append(found.expand(option))
            rest = rest.replace(found[0], "", 1)
    request = f'"{metric[0]}[{",".join(options)}]"' if metric and options else named
    return f"harness train {request}" + (f" --recipe {recipe}" if recipe else "")


def read(name: str, folder: Path) -> Checkpoint:
    """Return the checkpoint in a folder after checking that its files match its card."""
    config, card = _json(name, folder / CONFIG), _json(name, folder / CARD)
    _encoder_of(name, folder, config)
    for path, content, key in ((CONFIG, config, "network"), (CARD, card, "sha256")):
        if not isinstance(content.get(key), dict):
            raise _damaged(name, folder / path, f"has no object {key!r}")
    digests = ""
    for file in (WEIGHTS, CONFIG):
        if not (folder / file).is_file():
            raise _damaged(name, folder / file, "is missing")
        digest, recorded = sha256(folder / file), str(card["sha256"].get(file))
        if digest != recorded:
            raise _damaged(name, folder / file, f"was truncated or changed: its sha256 begins with {digest[:12]}, but "
                                                f"its card says {recorded[:12]}")
        digests += digest
    return Checkpoint(name, folder, hashlib.sha256(digests.encode()).hexdigest(), config, card)


def save(folder: Path, weights: Mapping[str, Any], config: Mapping[str, Any], card: Mapping[str, Any],
         eight_bits: bool = False) -> Checkpoint:
    """Write a checkpoint atomically, replacing any in the folder."""
    from safetensors.torch import save_file

    check_replaceable(folder)
    with staged(folder) as new:
        save_file(compressed(weights, eight_bits), new / WEIGHTS)
        (new / WEIGHTS).chmod(0o644)
        _write_json(new / CONFIG, config)
        _write_json(new / CARD, {**card, "sha256": {file: sha256(new / file) for file in (WEIGHTS, CONFIG)}})
    return read(str(card.get("name", folder.name)), folder)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def install(source: Path, home: Path) -> Checkpoint:
    """Copy a checkpoint, such as a downloaded one, into the home."""
    name = str(_json(source.name, source / CARD).get("name", ""))
    if not re.fullmatch("[a-z0-9-]+", name):
        raise _damaged(source.name, source / CARD, "has no valid name")
    weights = read(name, source)
    folder = user_folder(name, _encoder_of(name, source, weights.config) or "", home)
    check_replaceable(folder)
    with staged(folder) as new:
        for file in (WEIGHTS, CONFIG, CARD):
            shutil.copyfile(source / file, new / file)
    return read(name, folder)


def trained_tensors(network: Any) -> dict[str, Any]:
    """Return the trainable parameters of a network, without duplicates, and its buffers, by name."""
    parameters = {name for name, _ in network.named_parameters(remove_duplicate=False)}
    trained = {name: parameter.detach() for name, parameter in network.named_parameters() if parameter.requires_grad}
    return trained | {name: buffer for name, buffer in network.state_dict().items() if name not in parameters}


def check_replaceable(folder: Path) -> None:
    """Raise MetricError if the folder holds anything but a checkpoint."""
    if folder.exists() and not folder.is_dir():
        raise MetricError(f"{folder} is a file; a checkpoint is a folder")
    files = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if foreign := sorted(files - {WEIGHTS, CONFIG, CARD, CURVE}):
        raise MetricError(f"{folder} contains {foreign[0]}, which is not part of a checkpoint; choose another folder")


def user_folder(name: str, encoder: str, home: Path) -> Path:
    """Return the folder of the user's own weights for an encoder (its identity, empty for none)."""
    return home / "checkpoints" / name / (encoder.rpartition("@")[2] or NO_ENCODER)


def _folders(name: str, home: Path) -> Iterator[Path]:
    for root in (home / "checkpoints" / name, SHIPPED / name):
        if any((root / file).exists() for file in (WEIGHTS, CONFIG, CARD)):
            yield root
        if root.is_dir():
            yield from sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _encoder_of(name: str, folder: Path, config: Mapping[str, Any]) -> str | None:
    encoder = config.get("encoder", "")
    if encoder is None:
        return None
    if not isinstance(encoder, dict) or not isinstance(encoder.get("identity"), str):
        raise _damaged(name, folder / CONFIG, "does not say which encoder the weights belong to")
    return str(encoder["identity"])


def _json(name: str, path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise _damaged(name, path, "is missing") from error
    except ValueError as error:
        raise _damaged(name, path, "is not JSON") from error
    if not isinstance(content, dict):
        raise _damaged(name, path, "is not a JSON object")
    return content


def _damaged(name: str, path: Path, problem: str) -> MissingResource:
    return MissingResource(f"weights {name}: {path} {problem}; retrain with `{command(name)} --fresh`, or reinstall "
                           "the package they came from")
