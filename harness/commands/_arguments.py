"""Flags that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.dataset import SPLITS
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES

if TYPE_CHECKING:
    from metrics.models.service import Choice

MANY = {"action": "append", "metavar": "NAME"}
FLAGS: dict[str, dict[str, Any]] = {
    "metric": {**MANY, "help": "metric: NAME[option=value,...], FILE.py, FOLDER/ or evaluate:|judge:|scores:NAME; "
                               "repeatable"},
    "dataset": {**MANY, "help": "dataset: its name or the path of a card (.toml); repeatable"},
    "quality": {**MANY, "help": "quality or dimension; repeatable"},
    "split": {"choices": SPLITS, "help": "only the datasets of one split"},
    "data": {"choices": ("auto", "real", "sample"),
             "help": "auto: imported or fetched data, else the sample (default)"},
    "statistic": {"choices": (*STATISTIC_NAMES, "kendall-b"),
                  "help": "partial: Spearman with the response length held constant; kendall: kendall-b (default: "
                          "spearman)"},
    "level": {"choices": LEVEL_NAMES, "help": "over all items, within contexts or systems, or over the means of "
                                              "systems (default: items)"},
    "ratings": {"type": Path, "metavar": "FILE", "help": "private ratings (.json or a table)"},
    "seed": {"type": int, "metavar": "N", "help": "random seed (default: 0)"},
    "encoder": {"metavar": "MODEL", "help": "sentence encoder of metrics that name none: hub id, NAME@REVISION or "
                                            "folder (default: the embedded all-MiniLM-L6-v2)"},
    "lm": {"metavar": "MODEL", "help": "causal language model, likewise (default: the small shipped one)"},
    "vectors": {"metavar": "FILE", "help": "word2vec or GloVe vectors, text or binary (default: the encoder's input "
                                           "embeddings)"},
    "device": {"metavar": "DEVICE", "help": "auto, cpu, cuda, cuda:0,cuda:1 or mps (default: auto)"},
    "precision": {"choices": ("auto", "fp32", "bf16", "fp16"),
                  "help": "auto: bf16 on CUDA, else fp32, unless the model's card says otherwise (default)"},
    "batch-tokens": {"type": int, "metavar": "N", "help": "tokens per batch, padding included (default: by device)"},
    "offline": {"action": "store_true", "help": "do not download models"},
    "out": {"type": Path, "metavar": "DIR", "help": "folder for scores, report and site (default: ./results)"}}
RESULTS: dict[str, Any] = {"default": Path("results"), "help": "results of a run (default: ./results)"}
"""Changes to --out in commands that read results."""
MODELS = ("encoder", "lm", "vectors", "device", "precision", "batch-tokens", "offline")


def add(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """Add shared flags, None if absent; `changes` replace parts of their declarations."""
    for name in names:
        parser.add_argument(f"--{name}", **{"default": None, **FLAGS[name], **changes})


def choice(args: argparse.Namespace) -> Choice:
    """Return the choice of models that the flags make."""
    from metrics.models.service import Choice

    fields = ("encoder", "lm", "vectors", "device", "precision", "batch_tokens")
    values = {name: value for name in fields if (value := getattr(args, name, None))}
    return Choice(**values, download=not args.offline)
