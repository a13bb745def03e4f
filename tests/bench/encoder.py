"""How fast an encoder reads texts on this machine, end to end and in its forward passes alone.

    python tests/bench/encoder.py [--encoder MODEL] [--device DEVICE] [--precision fp32|bf16|fp16] [--json]

`--encoder bert-base-shape` has BERT-base's sizes and random weights. A text of n tokens, padding not counted, costs

    FLOP(n) = 2·P·n + 4·L·H·n²,     P = L·(4·H² + 2·H·I),

for L layers of width H with I inside. The share is FLOP/s over those of a product of two square matrices. The texts
are all utterances and references of dstc7 and humod, of the real data where it is, else of the sample.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from transformers import BertConfig, BertModel

from benchmarks import registry
from benchmarks.formats import official
from harness.run.settings import home_folder
from metrics.models import weights
from metrics.models.batches import Batches, cut
from metrics.models.device import Machine
from metrics.models.encoder import Encoder, padded
from metrics.models.memory import Memory
from metrics.models.networks import workers
from metrics.models.service import Choice, Models
from tests.bench.processes import DATA, Rows, show

SIDES = {"cpu": (1_024, 2_048), "mps": (2_048, 4_096), "cuda": (4_096, 8_192)}
MOST = {"cpu": 2.5e11, "mps": 1e13}
"""FLOP in one pass: on slower devices a part of the texts stands for all of them."""
SIDE = {"dstc7": "dstc7-partial.json", "humod": "humod_text.json"}
ROUNDS = 3


def main() -> None:
    """Print a row for each set of texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows: Rows = []
    with tempfile.TemporaryDirectory() as folder:
        name = str(bert_base(Path(folder))) if args.encoder == "bert-base-shape" else args.encoder
        choice = Choice(name, device=args.device, precision=args.precision)
        encoder = Models(home_folder(None), choice, Memory(0)).encoder()
        product = max(product_rate(encoder.machine, side) for side in SIDES[encoder.machine.kind])
        for title, texts in text_sets():
            row = {"encoder": encoder.name, "texts of": title, **measure(encoder, texts), "matmul FLOP/s": product}
            rows.append({**row, "share": row["FLOP/s"] / product})
    show(rows if args.json else [{key: f"{value:.3g}" if isinstance(value, float) else value
                                  for key, value in row.items()} for row in rows], args.json)


def measure(encoder: Encoder, texts: Sequence[str]) -> dict[str, float]:
    """Read the texts; the best of a few rounds after a warm-up."""
    machine = encoder.machine
    every = [len(row.ids) for row in encoder.tokenizer.texts(texts)]
    part = max(1, int(len(texts) * min(1.0, MOST.get(machine.kind, float("inf")) / flop(encoder, every))))
    chosen = [texts[place * len(texts) // part] for place in range(part)]
    rows = encoder.tokenizer.texts(chosen)
    lengths = [len(row.ids) for row in rows]
    inputs = [{name: torch.from_numpy(array).to(machine.devices[0])
               for name, array in padded([rows[place] for place in batch], encoder.tokenizer.pad).items()}
              for batch in cut(lengths, machine.tokens, even=machine.kind == "cpu")]
    encoder.states(chosen[:64])
    whole = min(seconds(lambda: encoder.states(chosen), machine) for _ in range(ROUNDS))
    alone = min(seconds(lambda: forward(encoder, inputs), machine) for _ in range(ROUNDS))
    return {"tokens read": sum(lengths), "tokens/s": sum(lengths) / whole, "tokens/s alone": sum(lengths) / alone,
            "FLOP/s": flop(encoder, lengths) / whole, "FLOP/s alone": flop(encoder, lengths) / alone}


def flop(encoder: Encoder, lengths: Sequence[int]) -> int:
    """FLOP of texts with so many tokens each."""
    config = encoder.networks[0].config
    layers, width = int(config.num_hidden_layers), int(config.hidden_size)
    inside = int(getattr(config, "intermediate_size", 0) or 4 * width)
    weighed = layers * (4 * width**2 + 2 * width * inside)
    return sum(2 * weighed * n + 4 * layers * width * n * n for n in lengths)


def forward(encoder: Encoder, inputs: Sequence[dict[str, Any]]) -> None:
    """Send the batches through the network, by as many workers as the encoder has, and keep nothing."""
    def through(network: Any) -> Callable[[Sequence[int]], list[None]]:
        def on(places: Sequence[int]) -> list[None]:
            with torch.inference_mode():
                for place in places:
                    network(**inputs[place])
            return [None] * len(places)
        return on

    forwards = [through(network) for network, _ in workers(encoder.networks, encoder.machine)]
    Batches(1).run([batch["input_ids"].numel() for batch in inputs], forwards)


def product_rate(machine: Machine, side: int) -> float:
    """FLOP/s of the product of two square matrices, 2·n³ each, in the machine's precision."""
    left = torch.randn(side, side, device=machine.devices[0], dtype=machine.dtype())
    right, out = torch.randn_like(left), torch.empty_like(left)
    return 2 * side**3 / min(seconds(lambda: torch.matmul(left, right, out=out), machine) for _ in range(8))


def seconds(work: Callable[[], object], machine: Machine) -> float:
    """How long some work takes, until the device has done all of it."""
    wait = getattr(torch, machine.kind).synchronize if machine.kind != "cpu" else lambda: None
    wait()
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start


def text_sets() -> Iterator[tuple[str, list[str]]]:
    """The distinct texts of each dataset."""
    for name, file in SIDE.items():
        card, path = registry.card(name), DATA / "side" / file
        dataset = official.parse(path, card) if path.is_file() else registry.sample(card)
        texts = [text for item in dataset.items for text in (
            *(turn.text for turn in item.utterances), *(reference.text for reference in item.references))]
        yield name if path.is_file() else f"{name} (sample)", list(dict.fromkeys(texts))


def bert_base(folder: Path) -> Path:
    """BERT-base with random weights, and the tokenizer of the embedded encoder, which has BERT's vocabulary."""
    torch.manual_seed(0)
    BertModel(BertConfig(), add_pooling_layer=False).half().save_pretrained(folder)
    for path in weights.find(weights.EMBEDDED, home_folder(None)).folder.glob("*tok*"):
        shutil.copyfile(path, folder / path.name)
    return folder


if __name__ == "__main__":
    main()
