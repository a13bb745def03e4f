"""Speed and agreement of real models on a machine with a GPU: `python -m tools.gpu --minutes 20 --out results/gpu`.

Measures the speed of models as a share of the device's matrix rate, training runs, and metrics on the real datasets, in
a fixed order until the time is up. Each step appends a line to OUT/steps.jsonl, and each metric writes its scores to
OUT/scores. Finished steps are skipped, so running the same command again resumes. Neither `datasets` nor `evaluate` is
needed. Without a GPU, the CPU does the same, more slowly.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from benchmarks import registry as datasets
from benchmarks.corpora import corpora
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from benchmarks.formats import official
from harness.learning import train
from harness.run.correlate import judged
from harness.statistics.coefficients import where_known
from metrics import registry
from metrics.errors import MetricError
from metrics.models import weights
from metrics.models.counters import COUNTERS
from metrics.models.service import Choice, Models
from metrics.training import trainables
from tools import DATA

SIZES = {"cuda": 8192, "cpu": 2048}
TRAINED = (("deb", "pretrain"), ("grade[nodes=,tagger=lists]", "paper"), ("mme-rm", "paper"))
"""Metrics or their parts, each with a recipe that trains from tokens."""
VALIDATE_EVERY = 20  # number of steps between validations


@dataclass
class Work:
    """Settings, models and datasets of all steps, and the results so far."""

    options: argparse.Namespace
    models: Models
    sets: list[Dataset]
    done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def seconds(self, function: Callable[[], Any]) -> float:
        import torch

        start = time.perf_counter()
        function()
        if self.models.machine.kind == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("results/gpu"))
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("HARNESS_HOME", "~/.cache/harness")))
    parser.add_argument("--data", type=Path, default=DATA / "human_evaluation_data")
    parser.add_argument("--encoder", default="all-mpnet-base-v2")
    parser.add_argument("--lm", default="smollm2-135m")
    parser.add_argument("--judge", default="qwen2.5-coder-1.5b")
    parser.add_argument("--limit", type=int, help="only the first N items of each dataset")
    parser.add_argument("--train-seconds", type=float, default=20.0,
                        help="time after which each training run stops, once it has validated")
    options = parser.parse_args(argv)
    end = time.monotonic() + 60 * options.minutes
    sets = [official.parse(path, datasets.card(path.name.removesuffix("_eval.json")))
            for path in sorted(options.data.glob("*_eval.json"))]
    work = Work(options, Models(options.home.expanduser(), Choice(encoder=options.encoder, lm=options.lm)), sets)
    (options.out / "scores").mkdir(parents=True, exist_ok=True)
    file = options.out / "steps.jsonl"
    if file.is_file():
        work.done = {line["step"]: line for line in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    failed = False
    for name, step in steps(work):
        if name in work.done:
            continue
        if time.monotonic() > end:
            print_line(f"time is up before {name}; run the same command again to resume")
            break
        start = time.monotonic()
        try:
            figures = step()
        except (BenchmarkError, MetricError, RuntimeError, MemoryError) as error:
            print_line(f"{name}: {type(error).__name__}: {error}")
            failed = True
            continue
        work.done[name] = {"step": name, "device": device(work), "seconds": round(time.monotonic() - start, 2),
                           **figures}
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(work.done[name]) + "\n")
        print_line(json.dumps(work.done[name]))
    return int(failed)


def print_line(line: str) -> None:
    print(line, flush=True)


def device(work: Work) -> str:
    import torch

    name = torch.cuda.get_device_name() if work.models.machine.kind == "cuda" else "CPU"
    return f"{name}, {work.models.machine.precision}"


def steps(work: Work) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    options = work.options
    yield "matrix rate", partial(matrix_rate, work)
    yield f"encoder {options.encoder}", partial(encoder, work)
    yield f"causal {options.lm}", partial(causal, work)
    for metric, recipe in TRAINED:
        yield f"training {metric} {recipe}, {options.encoder}", partial(training, work, metric, recipe)
    for metric in (f"cosine[encoder={options.encoder}]", f"pmi[lm={options.lm}]", f"judge:relevance[lm={options.lm}]",
                   f"fed[lm={options.lm}]", f"judge:relevance[lm={options.judge}]"):
        for dataset in work.sets:
            if dataset.card.level in registry.choose(metric).metric.card.levels:
                yield f"{metric} on {dataset.card.name}", partial(score, work, metric, dataset)


def matrix_rate(work: Work) -> dict[str, Any]:
    """Multiply square matrices in the run's precision for two seconds."""
    import torch

    machine = work.models.machine
    size = SIZES.get(machine.kind, 2048)
    a, b = (torch.randn(size, size, device=machine.devices[0], dtype=machine.dtype()) for _ in range(2))
    work.seconds(lambda: a @ b)
    spent, count = 0.0, 0
    while spent < 2:
        spent += work.seconds(lambda: a @ b)
        count += 1
    return {"tflops": 2 * size**3 * count / spent / 1e12}


def encoder(work: Work) -> dict[str, Any]:
    texts = list(dict.fromkeys(turn.text for dataset in work.sets for item in dataset.items[:work.options.limit]
                               for turn in item.utterances))
    model = work.models.encoder()
    model.sentences(texts[:8])
    tokens = sum(map(len, model.tokenizer.plain(texts)))
    seconds = work.seconds(lambda: model.sentences(texts))
    return {"texts": len(texts), **speed(work, work.options.encoder, tokens, seconds)}


def causal(work: Work) -> dict[str, Any]:
    """Compute the likelihood of every response after its context."""
    model = work.models.lm()
    pairs = [("\n".join(turn.text for turn in item.context) + "\n", item.response.text)
             for dataset in work.sets for item in dataset.items[:work.options.limit] if item.response is not None]
    model.log_likelihoods([("a", "b")])
    tokens = sum(len(ids) for pair in pairs for ids in model.tokenizer.plain(pair))
    seconds = work.seconds(lambda: model.log_likelihoods(pairs))
    return {"texts": len(pairs), **speed(work, work.options.lm, tokens, seconds)}


def training(work: Work, metric: str, recipe: str) -> dict[str, Any]:
    """Train a head and adapters of rank 16 from tokens; the weights stay in OUT/weights."""
    model, home = work.options.encoder, work.models.home
    request = train.Request(encoder=model, settings=("rank=16", f"every={VALIDATE_EVERY}"))
    plan = train.plan(trainables.with_recipe(metric, recipe, model), request, home, partial(corpora.load, home=home),
                      work.options.out / "weights" / metric.partition("[")[0])
    tokens_before = COUNTERS.training_tokens
    saved = train.train(plan, print_line, fresh=True, minutes=work.options.train_seconds / 60)
    tokens, seconds = COUNTERS.training_tokens - tokens_before, saved.card["seconds"]
    return speed(work, model, 2 * tokens, seconds) | {
        "tokens": tokens, "tokens a second": tokens / seconds, "steps": saved.card["steps"],
        "held out": saved.card["held_out"], "bytes": saved.size}


def speed(work: Work, model: str, tokens: int, seconds: float) -> dict[str, Any]:
    """Return tokens per second, and a lower bound of the share of the matrix rate.

    Only products with the weights count, not attention or embeddings; training runs count each token twice.
    """
    parameters = 0
    for path in weights.check_files(model, weights.find(model, work.models.home).folder):
        with safe_open(path, "pt") as stored:
            shapes = {key: stored.get_slice(key).get_shape() for key in stored.keys()}  # noqa: SIM118 - no mapping
        parameters += sum(shape[0] * shape[1] for key, shape in shapes.items()
                          if len(shape) == 2 and "embed" not in key and "lm_head" not in key)
    rate = work.done.get("matrix rate", {}).get("tflops")
    share = 2 * parameters * tokens / seconds / 1e12 / rate if rate else None
    return {"tokens": tokens, "tokens a second": tokens / seconds, "share of the matrix rate": share,
            "busy seconds": seconds}


def score(work: Work, metric: str, dataset: Dataset) -> dict[str, Any]:
    """Write the scores of a metric on a dataset; return its Spearman correlation with each quality."""
    items = dataset.items[:work.options.limit]
    columns = registry.choose(metric).metric.score(items, work.models)
    name = f"{dataset.card.name}-{metric.replace(':', '-').replace('/', '-')}.npz"
    np.savez_compressed(work.options.out / "scores" / name, items=np.array([item.id for item in items]), **columns)
    scores = next(iter(columns.values()))[None]
    values = {rated.quality.name: float(where_known(rated.means[:len(items)], scores)[0])
              for rated in judged(dataset, dataset.card.qualities)}
    return {"items": len(items), "spearman": {
        quality: round(value, 4) if np.isfinite(value) else None for quality, value in values.items()}}


if __name__ == "__main__":
    sys.exit(main())
