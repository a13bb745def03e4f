"""`harness bench models`: what encoder passes reach on this machine, beside its plain matrix product."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.errors import BadConfig

if TYPE_CHECKING:
    from harness.bench.passes import Measured
    from metrics.models.device import Machine
    from metrics.models.encoder import Encoder

NAME = "bench"
HELP = "measure what encoders reach on this machine"
EVERY = {"cpu": ("fp32", "bf16", "int8"), "cuda": ("fp32", "bf16", "fp16"), "mps": ("fp32", "fp16")}
"""What `--precision all` measures."""

COLUMNS = {"type": 4, "texts of": 13, "texts": 6, "distinct": 8, "tokens": 7, "read": 7, "tokens/s": 9, "(alone)": 9,
           "FLOP/s": 6, "matmul": 6, "share": 5, "(alone) ": 7}
NAMED = 2
"""How many columns hold names; the others hold numbers."""

WIDTH = 110


def configure(parser: argparse.ArgumentParser) -> None:
    """What to measure."""
    parser.add_argument("bench", metavar="NAME", choices=("models",), help="which bench: models")
    parser.add_argument("--encoder", default="", metavar="MODEL",
                        help="a hub id, a folder, or bert-base-shape: random weights in BERT's shape (default: the "
                             "embedded all-MiniLM-L6-v2)")
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="auto, cpu, cuda, cuda:N or mps")
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16", "fp16", "int8", "all"),
                        help="auto: bf16 on CUDA, else fp32 (default); all: rows for each that the device has")
    parser.add_argument("--json", action="store_true", help="print one JSON object a row in place of the table")


def run(args: argparse.Namespace) -> int:
    """Print each row as soon as it is measured."""
    from harness.bench import shape

    _check(args)
    with shape.encoder(args.encoder, args.home) as name:
        for encoder, row in _rows(args, name):
            if args.json:
                told = {"encoder": encoder.name, "device": encoder.machine.devices[0], **dataclasses.asdict(row),
                        "share": row.share, "forward_share": row.forward_share}
                print(json.dumps(told, ensure_ascii=False), flush=True)
            else:
                print(_line(row), flush=True)
    return 0


def _check(args: argparse.Namespace) -> None:
    from metrics.errors import MissingResource

    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingResource(f"{package} is not installed; the extra [neural] brings it")
    if "," in args.device:
        raise BadConfig(f"--device: a bench is of one device, not of {args.device}")


def _rows(args: argparse.Namespace, name: str) -> Iterator[tuple[Encoder, Measured]]:
    """Each set of texts in each precision, with the encoder that read it."""
    from harness.bench import matmul, passes, texts
    from metrics.models.device import machine
    from metrics.models.memory import Memory
    from metrics.models.service import Choice, Models

    sets = list(texts.text_sets())
    every = EVERY[machine(args.device).kind] if args.precision == "all" else (args.precision,)
    for place, precision in enumerate(every):
        encoder = Models(args.home, Choice(name, device=args.device, precision=precision), Memory(0)).encoder()
        rate = matmul.rate(encoder.machine)
        if not (place or args.json):
            _explain(encoder)
        for one in sets:
            yield encoder, passes.measured(encoder, one, rate)


def _explain(encoder: Encoder) -> None:
    """Say what is measured, and head the table."""
    from harness.bench.passes import MOST, cost

    costs, machine = cost(encoder), encoder.machine
    most = f", as many as {MOST[machine.kind] / 1e12:g} TFLOP take" if machine.kind in MOST else ""
    told = (f"{encoder.name} on {_device(machine)}, {machine.tokens:,} tokens in a batch.\n"
            f"FLOP of a text of n tokens: 2·P·n + 4·L·H·n², P = L·(4·H² + 2·H·I) = {costs.weights:,}, with L = "
            f"{costs.layers} layers of width H = {costs.width:,} and I = {costs.inside:,} inside.\n"
            f"tokens: of all distinct texts; read: of those that were read, evenly chosen{most}. tokens/s, FLOP/s and "
            "share (of the matrix product's FLOP/s) are end to end: tokenise, batch, forward, states back in memory; "
            "(alone) is the forward passes alone.\n")
    for line in told.split("\n"):
        print(textwrap.fill(line, WIDTH))
    print(_spread(tuple(COLUMNS)))
    print("-" * len(_spread(tuple(COLUMNS))))


def _line(row: Measured) -> str:
    return _spread((
        row.precision, row.name, f"{row.texts:,}", f"{row.distinct:,}", f"{row.tokens:,}", f"{row.read:,}",
        f"{row.read / row.seconds:,.0f}", f"{row.read / row.forward:,.0f}", _flops(row.flop / row.seconds),
        _flops(row.matmul), f"{row.share:.0%}", f"{row.forward_share:.0%}"))


def _spread(cells: tuple[str, ...]) -> str:
    sizes = enumerate(COLUMNS.values())
    return "  ".join(cell.strip().ljust(size) if place < NAMED else cell.strip().rjust(size)
                     for cell, (place, size) in zip(cells, sizes, strict=True)).rstrip()


def _flops(value: float) -> str:
    """FLOP/s with three digits: 84.2 G, 352 T."""
    unit, size = next(((unit, size) for unit, size in (("T", 1e12), ("G", 1e9)) if value >= size), ("M", 1e6))
    return f"{value / size:#.3g}".rstrip(".") + f" {unit}"


def _device(machine: Machine) -> str:
    import torch

    if machine.kind == "cuda":
        return f"{machine.devices[0]} ({torch.cuda.get_device_name(machine.devices[0])})"
    return f"{machine.kind}, {torch.get_num_threads()} threads" if machine.kind == "cpu" else machine.kind
