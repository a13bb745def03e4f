"""The settings of a run: defaults, a config file above them, flags above both."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.dataset import Split
from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES
from metrics import paths


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything `harness run` can be told; the names are those of its flags, with_ being --with."""

    all: bool = False
    metric: tuple[str, ...] = ()
    with_: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    quality: tuple[str, ...] = ()
    split: Split | None = None
    language: tuple[str, ...] = ()
    data: Literal["auto", "real", "sample"] = "auto"
    aggregate: tuple[Literal["mean", "sum", "max", "product"], ...] = ()
    limit: int | None = None
    sample: int | None = None
    ratings: Path | None = None
    rescore: bool = False
    reuse: Path | None = None
    seed: int = 0
    draws: int = 1000
    permutations: int = 0
    statistic: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    examples: int = 6
    device: str = "auto"
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    batch_tokens: int | None = None
    encoder: str = ""
    lm: str = ""
    vectors: str = ""
    offline: bool = False
    executor: str = "local"
    address: str = ""
    gpus: float = 0.0
    store: str = ""
    timeout: float = 0.0
    memory: str = ""
    out: Path = Path("results")
    dry_run: bool = False
    json: bool = False
    home: Path | None = None


def settings(args: argparse.Namespace) -> Settings:
    """Merge the flags that were given with the config file they name; the order of names means nothing."""
    values = _from_file(args.config) if args.config else {}
    for field in dataclasses.fields(Settings):
        given = getattr(args, field.name, None)
        if given is not None:
            values[field.name] = tuple(given) if isinstance(given, list) else given
    for name, value in values.items():
        values[name] = tuple(sorted(set(value))) if isinstance(value, tuple) else value
    return Settings(**values)


def statistics_beside(statistics: Sequence[str], levels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Every named statistic at every named level, but those that every run has."""
    for name, names in ((statistics, (*STATISTIC_NAMES, "kendall-b")), (levels, LEVEL_NAMES)):
        if unknown := next((one for one in name if one not in names), None):
            raise BadConfig(f"no statistic or level {unknown!r}; {nearest(unknown, names)}")
    named = dict.fromkeys(map(plain_name, statistics or (["spearman"] if levels else [])))
    return tuple((statistic, level) for statistic in named for level in levels or ("items",)
                 if level != "items" or statistic not in ("spearman", "pearson", "kendall"))


def plain_name(statistic: str) -> str:
    """A statistic as the results call it."""
    return statistic.removesuffix("-b")


def expanded(path: Path) -> Path:
    """The path with ~ made plain."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise BadConfig(f"{path}: {error}") from error


def home_folder(given: Path | None) -> Path:
    """The home that was given, else HARNESS_HOME, else the platform's folder for a user's data."""
    if given:
        return expanded(given)
    if named := os.environ.get("HARNESS_HOME"):
        return expanded(Path(named))
    import platformdirs

    return platformdirs.user_data_path("dialogue-harness", appauthor=False)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise BadConfig(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: is not TOML: {error}") from error
    run = table.get("run", {})
    if not isinstance(run, dict) or table.keys() - {"run"}:
        raise BadConfig(f"{path}: settings stand in the table [run]")
    hints = typing.get_type_hints(Settings)
    named = {"with_" if name == "with" else name.replace("-", "_"): value for name, value in run.items()}
    return {name: _value(path, name, value, hints) for name, value in named.items()}


def _value(path: Path, name: str, value: Any, hints: dict[str, Any]) -> Any:
    if name not in hints:
        raise BadConfig(f"{path}: run.{name} is no setting; {nearest(name, [hint.rstrip('_') for hint in hints])}")
    for hint in _alternatives(hints[name]):
        if typing.get_origin(hint) is tuple:
            listed, choices = [value] if isinstance(value, str) else value, typing.get_args(typing.get_args(hint)[0])
            if isinstance(listed, list) and all(entry in choices if choices else isinstance(entry, str)
                                                for entry in listed):
                return tuple(listed)
        elif typing.get_origin(hint) is Literal:
            if value in typing.get_args(hint):
                return value
        elif hint is Path and isinstance(value, str):
            return path.parent / expanded(Path(value))
        elif hint is float and type(value) is int:
            return float(value)
        elif hint is not Path and type(value) is hint:
            return value
    raise BadConfig(f"{path}: run.{name} should be {_spelled(hints[name])}, not {value!r:.60}")


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return tuple(one for one in typing.get_args(hint) if one is not types.NoneType)
    return (hint,)


def _spelled(hint: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "a path"}
    one = _alternatives(hint)[0]
    if typing.get_origin(one) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(one)))
    return names.get(one, "a list of texts")


def command_line(*words: str, flags: Mapping[str, object]) -> str:
    """The command line that does something again, without the folders of this machine: of a path its last part."""
    line = ["harness", *words]
    for flag, value in flags.items():
        for entry in value if isinstance(value, list | tuple) else (value,):
            bare = entry.name if isinstance(entry, Path) else paths.bare(str(entry), paths.HERE)
            line += [f"--{flag}"] if entry is True else [f"--{flag}", bare]
    return shlex.join(line)
