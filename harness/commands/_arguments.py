"""Flags that several commands share. The types of flags of `harness run` are those of its settings."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from harness.run.settings import Settings
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES

FLAGS = {
    "all": "all metrics on all datasets",
    "metric NAME": "metric: NAME[option=value,...], FILE.py, FOLDER/ or evaluate:|judge:|scores:NAME; several "
                   "separated by commas, or repeated",
    "with NAME": "additional metric, as for --metric; repeatable",
    "dataset NAME": "dataset: its name, or the path of a table of ratings or a card (.toml); several separated "
                    "by commas, or repeated",
    "columns ROLE=COLUMN": "column of a table of ratings, such as response=answer or ignore=notes; repeatable",
    "scale LABELS": "order of labels in a table of ratings, such as 'No < To some extent < Yes'; repeatable",
    "quality NAME": "quality or dimension; repeatable",
    "split": "only datasets of one split",
    "language CODE": "only datasets in this language; all: include every translation; repeatable",
    "data": "auto: imported or fetched data, else the sample (default)",
    "aggregate": "how to combine the scores of a dialogue's turns; repeatable (default: mean)",
    "limit N": "only the first N items of each dataset",
    "sample N": "at most N items of each dataset, drawn with the seed as whole contexts with the replies of all "
                "systems",
    "ratings FILE": "private ratings (.json or a table)",
    "seed N": "random seed (default: 0)",
    "draws N": "number of resamples for rank intervals (default: 1000; 0: none)",
    "permutations N": "draws of PERM-BOTH (default: 1000)",
    "epsilon SHARE": "share of items by which a metric may lose to the rater that it replaces: 0.1 for crowd workers "
                     "(default), 0.15 for skilled raters, 0.2 for experts",
    "statistic": "partial: Spearman with the response length held constant; kendall: kendall-b (default: spearman)",
    "level": "over all items, within contexts or systems, or over the means of systems (default: items)",
    "examples N": "number of items per dataset, with texts, on which people and metrics disagree most (default: 6; "
                  "0: no texts in results and pages)",
    "encoder MODEL": "sentence encoder for metrics that name none: hub id, NAME@REVISION or folder (default: the "
                     "embedded all-MiniLM-L6-v2)",
    "lm MODEL": "causal language model: hub id, NAME@REVISION or folder (default: the small shipped model)",
    "vectors FILE": "word2vec or GloVe vectors, text or binary (default: the encoder's input embeddings)",
    "device DEVICE": "auto, cpu, cuda, cuda:0,cuda:1 or mps (default: auto)",
    "precision": "auto: bf16 on CUDA, else fp32, unless the model's card says otherwise (default)",
    "batch-tokens N": "tokens per batch, including padding (default: depends on the device)",
    "offline": "do not download models",
    "executor WHERE": "local: this process; ray or ray:N: N workers of a Ray cluster, by default one per CPU "
                      "(default: local)",
    "address ADDRESS": "address of a Ray cluster (default: start one on this machine)",
    "gpus SHARE": "GPUs per worker of a Ray cluster, such as 1 or 0.25 (default: none)",
    "timeout SECONDS": "time limit of one part, for --executor ray (default: none)",
    "memory SIZE": "memory limit of one worker, such as 4GiB or 800MiB, for --executor ray (default: none)",
    "price IN,OUT": "price of a million tokens of a judge's prompts and answers, such as 0.15,0.6 (default: unknown)",
    "max-cost AMOUNT": "stop before judges cost more than this, at --price (default: no limit)",
    "max-requests N": "stop before judges have sent more requests than this (default: no limit)",
    "store URL": "where to store scores: a folder or s3://... (default: OUT/scores)",
    "out DIR": "folder for scores, report and site (default: ./results)",
    "dry-run": "print the plan and exit",
    "rescore": "ignore stored scores",
    "reuse BUNDLE": "add the metrics of a bundle from `harness submit`, and use its scores for the same items",
    "json": "print one JSON object per correlation"}
"""Help by flag and placeholder of its value."""


class Once(argparse.Action):
    """Store the value of a flag that must not be repeated."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any,
                 option: str | None = None) -> None:
        if getattr(namespace, self.dest) != self.default:
            parser.error(f"{option} takes one value")
        setattr(namespace, self.dest, value)


def integer(text: str, least: int = 0) -> int:
    if (number := int(text)) < least:
        raise ValueError(text)
    return number


def positive_integer(text: str) -> int:
    return integer(text, 1)


def positive(text: str) -> float:
    if not 0 < (number := float(text)) < math.inf:
        raise ValueError(text)
    return number


def minutes(text: str) -> float:
    if not 0 <= (number := float(text)) < math.inf:
        raise ValueError(text)
    return number


TYPES: dict[str, Any] = {"N": integer, "M": minutes, "SECONDS": positive, "DIR": Path, "FILE": Path}
"""Types of values by placeholder; others are strings."""
COUNTED = ("limit", "sample", "steps", "raters")
"""Flags whose value is 1 or more."""
CHOICES = {"statistic": (*STATISTIC_NAMES, "kendall-b"), "level": LEVEL_NAMES}
RESULTS = "out: results of a run (default: ./results)"
"""The flag --out of commands that read results."""
SEPARATED = ("metric", "with", "dataset")
"""Flags whose value may list several names, separated by commas."""
MODELS = ("encoder", "lm", "vectors", "device", "precision", "batch-tokens", "offline")
LIMITS = ("price", "max-cost", "max-requests")
WORKERS = ("executor", "address", "gpus", "timeout", "memory")


def add(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Add flags; `changes` replace parts of their declarations.

    A shared flag is given by its name, with the default of its setting; "NAME: help" replaces its help. Any other flag
    is declared as "NAME METAVAR: help".
    """
    types, defaults = get_type_hints(Settings), {field.name: field.default for field in dataclasses.fields(Settings)}
    heads = {head.partition(" ")[0]: head for head in FLAGS}
    for declared in names:
        head, _, text = declared.partition(": ")
        name, _, metavar = heads.get(head, head).partition(" ")
        field = f"{name}_" if name == "with" else name.replace("-", "_")
        parts: dict[str, Any] = {"dest": field, "help": text or FLAGS[heads[name]]}
        if head in heads:
            parts |= {"default": [] if defaults[field] == () else defaults[field], **_of_type(types[field])}
            parts |= {"choices": CHOICES[name]} if name in CHOICES else {}
            parts |= {"action": "extend", "type": separated} if name in SEPARATED else {}
        else:
            parts |= _of_metavar(metavar, text, changes)
        parts |= {"type": positive_integer} if name in COUNTED else {}
        parts |= {"action": Once} if name == "split" else {}
        parser.add_argument(f"--{name}", **{**parts, **({"metavar": metavar} if metavar else {}), **changes})


def separated(names: str) -> list[str]:
    """Split names at the commas outside brackets, unless they are the path of a file."""
    with contextlib.suppress(OSError):  # a list may be too long for a file name
        if Path(names).exists():
            return [names]
    ends = [index for index, character in enumerate(names) if character == "," and names[:index].count("[") ==
            names[:index].count("]")]
    return [names[start + 1:end].strip() for start, end in itertools.pairwise([-1, *ends, len(names)])]


def _of_metavar(metavar: str, text: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declaration of a flag with a placeholder: several values if its help says that it is repeatable."""
    if not metavar and "choices" not in changes:
        return {"action": "store_true"}
    kind = TYPES.get(metavar, str)
    if "repeatable" in text:
        return {"action": "append", "type": kind, "default": []}
    return {"type": kind, "default": "" if kind is str and metavar else None}


def _of_type(hint: Any) -> dict[str, Any]:
    """Return the declaration of a flag whose value has a type."""
    if hint is bool:
        return {"action": "store_true"}
    if get_origin(hint) is tuple:
        return {"action": "append", **_of_type(get_args(hint)[0])}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    if isinstance(hint, UnionType) or type(None) in get_args(hint):
        return _of_type(get_args(hint)[0])
    return {} if hint is str else {"type": integer if hint is int else hint}
