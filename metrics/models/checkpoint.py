"""Checkpoints: trained weights with the encoder they belong to and a card of how they were made.

A folder holds `model.safetensors`, `config.json` (the network's arguments, and name and digest of the encoder it reads,
or null where it reads none) and `card.json` (corpora, command, seed, steps, device, time, losses, correlations, and the
sha256 of the other two). metrics/models/storage.py packs the weights.

The user's own lie in HOME/checkpoints/NAME/ENCODER, the shipped ones in metrics/checkpoints/NAME, those for another
encoder than the embedded one in a folder below it. An encoder is identified by its digest: the same files under
another name are the same encoder.
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
from metrics.models import storage

SHIPPED = Path(__file__).parent.parent / "checkpoints"
PACKAGE = "dialogue-harness-weights"
"""What carries the shipped ones to where no checkout is; built from weights/."""
WEIGHTS, CONFIG, CARD, CURVE = "model.safetensors", "config.json", "card.json", "curve.svg"
NO_ENCODER = "no-encoder"


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
        """NAME@DIGEST, as it stands in a signature."""
        return f"{self.name}@{self.digest[:12]}"

    @property
    def encoder(self) -> str:
        """The name of the encoder it belongs to; empty where it reads none."""
        return str((self.config["encoder"] or {}).get("name", ""))

    def weights(self) -> dict[str, Any]:
        """The weights by name, as they are read."""
        from safetensors.torch import load_file

        return storage.unpacked(load_file(self.folder / WEIGHTS))

    @property
    def terms(self) -> str:
        """How the terms of the corpora limit its use; empty where all let anybody use them for anything."""
        licences = {corpus["licence"] for corpus in self.card.get("corpora", ())}
        limits = {"non-commercial": any(re.search("NC|non-commercial", licence) for licence in licences),
                  "not stated": any(licence in ("", "not stated") for licence in licences)}
        return " or ".join(limit for limit, there in limits.items() if there)

    @property
    def size(self) -> int:
        """How many bytes its files hold."""
        return sum((self.folder / file).stat().st_size for file in (WEIGHTS, CONFIG, CARD))


def find(name: str, encoder: str, home: Path) -> Checkpoint:
    """Give the weights of that name for that encoder (its identity): the user's own in the home, else the shipped ones.

    MissingResource where there are none, where they belong to another encoder, or where a file was changed.
    """
    encoders = []
    for folder in _folders(name, home):
        try:
            config = _json(name, folder / CONFIG)
        except MissingResource:
            if folder.name in {name, NO_ENCODER, _short(encoder)}:
                raise
            continue  # those of another encoder
        belongs = _belongs(name, folder, config)
        if belongs is None or _short(belongs) == _short(encoder):
            return read(name, folder)
        encoders.append(belongs)
    if not encoders:
        raise MissingResource(f"weights {name} are not on this machine: `pip install {PACKAGE}` brings those of the "
                              f"project (docs/licences.md says on whose terms), `{command(name)}` trains your own")
    named = encoder.rpartition("@")[0] or "ENCODER"
    known = ", ".join(dict.fromkeys(encoders))
    raise MissingResource(f"weights {name} belong to encoder {known}, the run has {encoder or 'none'}: train your own "
                          f"with `{command(name)} --encoder {named}`")


def command(name: str) -> str:
    """Return what trains weights of that name: METRIC, METRIC-RECIPE, METRIC-PART or METRIC-RECIPE-PART."""
    whole = re.sub(r"-(vup|nup|dr-c|dr-f|regression|coherence|likability|topic-depth)$", "", name)
    metric, recipe, _ = re.split(r"-(paper|original|pretrain|finetune)\b|$", whole, maxsplit=1)
    return f"harness train {metric}" + (f" --recipe {recipe}" if recipe else "")


def read(name: str, folder: Path) -> Checkpoint:
    """The checkpoint in a folder, once its files are seen to be whole."""
    config, card = _json(name, folder / CONFIG), _json(name, folder / CARD)
    _belongs(name, folder, config)
    for path, content, key in ((CONFIG, config, "network"), (CARD, card, "sha256")):
        if not isinstance(content.get(key), dict):
            raise _damaged(name, folder / path, f"does not hold {key!r}, an object")
    digests = [_checked(name, folder / file, card["sha256"].get(file)) for file in (WEIGHTS, CONFIG)]
    return Checkpoint(name, folder, hashlib.sha256("".join(digests).encode()).hexdigest(), config, card)


def save(folder: Path, weights: Mapping[str, Any], config: Mapping[str, Any], card: Mapping[str, Any],
         eight_bits: bool = False) -> Checkpoint:
    """Write a checkpoint, all of it or nothing, in the place of the one that is there."""
    from safetensors.torch import save_file

    check_place(folder)
    with staged(folder) as beside:
        save_file(storage.packed(weights, eight_bits), beside / WEIGHTS)
        (beside / WEIGHTS).chmod(0o644)
        (beside / CONFIG).write_bytes(_text(config))
        digests = {file: hashlib.sha256((beside / file).read_bytes()).hexdigest() for file in (WEIGHTS, CONFIG)}
        (beside / CARD).write_bytes(_text({**card, "sha256": digests}))
    return read(str(card.get("name", folder.name)), folder)


def keep(source: Path, home: Path) -> Checkpoint:
    """Take the weights in a folder, such as one that the hub sent, into the home; none by a name that is none."""
    name = str(_json(source.name, source / CARD).get("name", ""))
    if not re.fullmatch("[a-z0-9-]+", name):
        raise _damaged(source.name, source / CARD, "holds no name")
    weights = read(name, source)
    folder = place(name, _belongs(name, source, weights.config) or "", home)
    check_place(folder)
    with staged(folder) as beside:
        for file in (WEIGHTS, CONFIG, CARD):
            shutil.copyfile(source / file, beside / file)
    return read(name, folder)


def learned(network: Any) -> dict[str, Any]:
    """What of a network is learned, by name: its parameters that require a gradient, each once, and its buffers."""
    parameters = {name for name, _ in network.named_parameters(remove_duplicate=False)}
    trained = {name: parameter.detach() for name, parameter in network.named_parameters() if parameter.requires_grad}
    return trained | {name: held for name, held in network.state_dict().items() if name not in parameters}


def check_place(folder: Path) -> None:
    """Refuse a folder that holds anything but a checkpoint: it would be gone with the next one."""
    if folder.exists() and not folder.is_dir():
        raise MetricError(f"{folder}: is a file; a checkpoint is a folder")
    held = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if foreign := sorted(held - {WEIGHTS, CONFIG, CARD, CURVE}):
        raise MetricError(f"{folder}: holds {foreign[0]}, which is no part of a checkpoint; choose another folder")


def place(name: str, encoder: str, home: Path) -> Path:
    """Where the user's own weights of that name for an encoder lie; the encoder's identity is empty for none."""
    return home / "checkpoints" / name / (_short(encoder) or NO_ENCODER)


def _short(encoder: str) -> str:
    """What tells an encoder from others whatever it is called: the digests behind its name."""
    return encoder.rpartition("@")[2]


def _folders(name: str, home: Path) -> Iterator[Path]:
    """Where weights of a name can be, the user's own first."""
    for root in (home / "checkpoints" / name, SHIPPED / name):
        if any((root / file).exists() for file in (WEIGHTS, CONFIG, CARD)):
            yield root
        if root.is_dir():
            yield from sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _belongs(name: str, folder: Path, config: Mapping[str, Any]) -> str | None:
    """The identity of the encoder that weights belong to, or None."""
    encoder = config.get("encoder", "")
    if encoder is None:
        return None
    if not isinstance(encoder, dict) or not isinstance(encoder.get("identity"), str):
        raise _damaged(name, folder / CONFIG, "does not say which encoder they belong to")
    return str(encoder["identity"])


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise _damaged(name, path, "is missing") from error
    except OSError as error:
        raise _damaged(name, path, f"cannot be read ({error.strerror})") from error


def _json(name: str, path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(name, path))
    except ValueError as error:
        raise _damaged(name, path, "is not JSON") from error
    if not isinstance(content, dict):
        raise _damaged(name, path, "is not a JSON object")
    return content


def _checked(name: str, path: Path, noted: object) -> str:
    """The sha256 of a file, which must be what the card says."""
    digest = hashlib.sha256(_read(name, path)).hexdigest()
    if digest != noted:
        raise _damaged(name, path, f"was cut or changed: its sha256 begins with {digest[:12]}, "
                                   f"its card says {str(noted)[:12]}")
    return digest


def _damaged(name: str, path: Path, problem: str) -> MissingResource:
    return MissingResource(f"weights {name}: {path} {problem}; train them anew with `{command(name)} --fresh`, or "
                           "install again what brought them")


def _text(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
