"""The settings of a run: flags override the config file, which overrides the defaults."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs

from benchmarks.dataset import Split
from benchmarks.errors import nearest
from benchmarks.formats import records
from benchmarks.formats.records import Rule
from harness.errors import BadConfig
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES
from metrics import paths

Count = Annotated[int, Rule("0 or more", lambda count: count >= 0)]
PositiveCount = Annotated[int, Rule("1 or more", lambda count: count >= 1)]
Amount = Annotated[float, Rule("0 or more", lambda amount: 0 <= amount < math.inf)]
Share = Annotated[float, Rule("0 or more and below 1", lambda share: 0 <= share < 1)]
Executor = Annotated[str, Rule("local, ray, or ray:N for N workers, at most 1024", re.compile(
    r"local|ray(:([1-9]\d{0,2}|10[01]\d|102[0-4]))?").fullmatch)]
Size = Annotated[str, Rule("a size with a unit, such as 4GiB or 800MiB", lambda size: not size or bytes_of(size))]
UNITS = {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def bytes_of(size: str) -> int:
    """Parse a size such as 4GiB; return 0 if it is empty or invalid."""
    matched = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([A-Za-z]+)", size.strip())
    return int(float(matched[1]) * UNITS.get(matched[2].upper(), 0)) if matched else 0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `harness run`, named like its flags; `with_` is --with.

    The rules hold for flags, config files and arguments in Python.
    """

    all: bool = False
    metric: tuple[str, ...] = ()
    with_: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    scale: tuple[str, ...] = ()
    quality: tuple[str, ...] = ()
    split: Split | None = None
    language: tuple[str, ...] = ()
    data: Literal["auto", "real", "sample"] = "auto"
    aggregate: tuple[Literal["mean", "sum", "max", "product"], ...] = ("mean",)
    limit: PositiveCount | None = None
    sample: PositiveCount | None = None
    ratings: Path | None = None
    rescore: bool = False
    reuse: Path | None = None
    seed: Count = 0
    draws: Count = 1000
    permutations: PositiveCount = 1000
    epsilon: Share = 0.1
    statistic: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    examples: Count = 6
    device: str = "auto"
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    batch_tokens: Count | None = None
    encoder: str = ""
    lm: str = ""
    vectors: str = ""
    offline: bool = False
    executor: Executor = "local"
    address: str = ""
    gpus: Amount = 0.0
    store: str = ""
    timeout: Amount = 0.0
    price: str = ""
    max_cost: Amount = 0.0
    max_requests: Count = 0
    memory: Size = ""
    out: Path = Path("results")
    dry_run: bool = False
    json: bool = False
    home: Path | None = None


def settings(args: argparse.Namespace) -> Settings:
    """Merge the flags with the config file, apply its titles of metrics, and sort every list."""
    values, titles = _from_file(args.config) if getattr(args, "config", None) else ({}, {})
    for field in dataclasses.fields(Settings):
        value = getattr(args, field.name, None)
        if value is not None:
            values[field.name] = tuple(value) if isinstance(value, list) else value
    titled = {metric: f"{title}={metric}" for title, metric in titles.items()}
    titled |= {title: titled[metric] for title, metric in titles.items()}
    for name, value in values.items():
        if name in ("metric", "with_"):
            value = tuple(titled.get(metric, metric) for metric in value)
        values[name] = tuple(sorted(set(value))) if isinstance(value, tuple) else value
    return Settings(**values)


def additional_statistics(statistics: Sequence[str], levels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return every named statistic at every named level, except the statistics that every run computes."""
    for names, available in ((statistics, (*STATISTIC_NAMES, "kendall-b")), (levels, LEVEL_NAMES)):
        if unknown := next((name for name in names if name not in available), None):
            raise BadConfig(f"unknown statistic or level {unknown!r}; {nearest(unknown, available)}")
    plain_names = dict.fromkeys(map(plain_name, statistics or (["spearman"] if levels else [])))
    return tuple((statistic, level) for statistic in plain_names for level in levels or ("items",)
                 if level != "items" or statistic not in ("spearman", "pearson", "kendall"))


def plain_name(statistic: str) -> str:
    """Return the name of a statistic in the results."""
    return statistic.removesuffix("-b")


def expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise BadConfig(f"{path}: {error}") from error


def home_folder(home: Path | None) -> Path:
    """Return the requested home, else HARNESS_HOME, else the platform's folder for user data."""
    if requested := home or os.environ.get("HARNESS_HOME"):
        if (path := expanded(Path(requested))).is_file():
            raise BadConfig(f"{path} is a file; name a folder for the home")
        return path
    return platformdirs.user_data_path("dialogue-harness", appauthor=False)


def _from_file(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings in the table [run] of a config file and the metrics by title in its table [names].

    Paths, also within names of metrics and models, are relative to the file; a list with one entry may be a string.
    """
    with records.refused_as(BadConfig):
        table = records.toml(str(path), path.read_bytes())
        if table.keys() - {"run", "names"}:
            raise BadConfig(f"{path}: settings must be in the table [run], titles of metrics in [names]")
        titles = records.value_of(dict[str, str], table.get("names", {}), f"{path}: [names]")
        run = records.mapping(f"{path}: [run]", table.get("run", {}))
        values = {"with_" if name == "with" else name.replace("-", "_"): value for name, value in run.items()}
        lists = {field.name for field in dataclasses.fields(Settings) if isinstance(field.default, tuple)}
        values |= {name: [values[name]] for name in lists & values.keys() if isinstance(values[name], str)}
        values = records.fields_of(Settings, values, f"{path}: [run]")
    if path.parent == Path():
        return {name: expanded(value) if isinstance(value, Path) else value for name, value in values.items()}, titles
    folder = path.parent.absolute()
    return ({name: _resolved(value, name, folder) for name, value in values.items()},
            {title: _resolved(metric, "metric", folder) for title, metric in titles.items()})


def _resolved(value: Any, name: str, folder: Path) -> Any:
    """Resolve the paths in the value of a setting against a folder."""
    from harness.cards import is_table
    from harness.own import is_path
    from metrics import registry

    def resolve(path: str) -> str:
        return str(folder / expanded(Path(path)))

    if isinstance(value, tuple):
        return tuple(_resolved(entry, name, folder) for entry in value)
    if isinstance(value, Path):
        return folder / expanded(value)
    if name in ("metric", "with_"):
        return registry.with_paths(value, resolve)
    if name in ("encoder", "lm", "vectors"):
        return paths.PATH.sub(lambda match: resolve(match[0]), value)
    is_local = (name == "dataset" and (is_path(value) or is_table(value))) or (name == "store" and ":/" not in value)
    return resolve(value) if is_local and value else value


def command_line(*words: str, flags: Mapping[str, object]) -> str:
    """Build a command line that can be repeated on another machine: paths are reduced to their last part."""
    line = ["harness", *words]
    for flag, value in flags.items():
        for entry in value if isinstance(value, list | tuple) else (value,):
            portable = entry.name if isinstance(entry, Path) else paths.bare(str(entry), paths.HERE)
            line += [f"--{flag}"] if entry is True else [f"--{flag}", portable]
    return shlex.join(line)
