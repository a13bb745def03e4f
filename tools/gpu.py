"""What a machine with a GPU reaches: shares of its matrix rate, and agreement with real models on the ten real sets.

    python -m tools.gpu --minutes 20 --out results/gpu [--encoder M] [--lm M] [--judge M] [--limit N]

Steps are done in this order until the minutes are over; each adds its line to OUT/steps.jsonl when it is done, and the
scores of each metric and dataset go to OUT/scores/. What is there already is not done again, so the same command goes
on. Neither `datasets` nor `evaluate` is needed. On a processor it does the same, more slowly.
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
from scipy.stats import spearmanr

from benchmarks import registry as datasets
from benchmarks.corpora import corpora
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from benchmarks.formats import official
from harness.learning import train
from metrics import registry
from metrics.errors import MetricError
from metrics.models import weights
from metrics.models.reading import READING
from metrics.models.service import Choice, Models
from metrics.training import trainables

DATA = Path(os.environ.get("HARNESS_REAL_DATA", "../shared/data"))
SIZES = {"cuda": 8192, "cpu": 2048}
TRAINED = (("deb", "pretrain"), ("grade[nodes=,tagger=lists]", "paper"), ("mme-rm", "paper"))
"""What is trained from its tokens, by which recipe."""
TRAINED_FOR = 20.0
"""Seconds for which each is trained, and then to the next look."""
EVERY = 20
"""Steps between two looks."""


@dataclass
class Work:
    """What is asked, what is loaded, and when to stop."""

    models: Models
    out: Path
    end: float
    encoder: str
    lm: str
    judge: str
    limit: int | None = None
    trained_for: float = TRAINED_FOR
    sets: list[Dataset] = field(default_factory=list)

    @property
    def device(self) -> str:
        """The first device."""
        return self.models.machine.devices[0]

    def synchronise(self) -> None:
        """Wait until the device has done what it was given."""
        import torch

        if self.models.machine.kind == "cuda":
            torch.cuda.synchronize()


def main(argv: list[str] | None = None) -> int:
    """Do what time allows; 1 where a step failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("results/gpu"))
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("HARNESS_HOME", "~/.cache/harness")))
    parser.add_argument("--data", type=Path, default=DATA / "human_evaluation_data")
    parser.add_argument("--encoder", default="all-mpnet-base-v2")
    parser.add_argument("--lm", default="smollm2-135m")
    parser.add_argument("--judge", default="qwen2.5-coder-1.5b")
    parser.add_argument("--limit", type=int, help="only the first N items of each dataset")
    parser.add_argument("--train-seconds", type=float, default=TRAINED_FOR)
    asked = parser.parse_args(argv)
    work = Work(Models(asked.home.expanduser(), Choice(encoder=asked.encoder, lm=asked.lm)), asked.out,
                time.monotonic() + 60 * asked.minutes, asked.encoder, asked.lm, asked.judge, asked.limit,
                asked.train_seconds, list(_sets(asked.data)))
    (asked.out / "scores").mkdir(parents=True, exist_ok=True)
    file = asked.out / "steps.jsonl"
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines() if file.is_file() else ())
    done = {line["step"]: line for line in lines}
    failed = False
    for name, step in _steps(work, done):
        if name in done:
            continue
        if time.monotonic() > work.end:
            _say(f"time is over before {name}; the same command goes on")
            break
        start = time.monotonic()
        try:
            figures = step()
        except (BenchmarkError, MetricError, RuntimeError, MemoryError) as error:
            _say(f"{name}: {type(error).__name__}: {error}")
            failed = True
            continue
        done[name] = {"step": name, "device": _device(work), "seconds": round(time.monotonic() - start, 2), **figures}
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(done[name]) + "\n")
        _say(json.dumps(done[name]))
    return int(failed)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _sets(folder: Path) -> Iterator[Dataset]:
    for path in sorted(folder.glob("*_eval.json")):
        yield official.parse(path, datasets.card(path.name.removesuffix("_eval.json")))


def _device(work: Work) -> str:
    import torch

    name = torch.cuda.get_device_name() if work.models.machine.kind == "cuda" else "processor"
    return f"{name}, {work.models.machine.precision}"


def _steps(work: Work, done: dict[str, Any]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    yield "matrix rate", lambda: _matrix_rate(work)
    yield f"encoder {work.encoder}", lambda: _encoder(work, done)
    yield f"causal {work.lm}", lambda: _causal(work, done)
    for metric, recipe in TRAINED:
        yield f"training {metric} {recipe}, {work.encoder}", partial(_training, work, done, metric, recipe)
    for metric in (f"cosine[encoder={work.encoder}]", f"pmi[lm={work.lm}]", f"judge:relevance[lm={work.lm}]",
                   f"fed[lm={work.lm}]", f"judge:relevance[lm={work.judge}]"):
        for dataset in work.sets:
            if dataset.card.level in registry.choose(metric).metric.card.levels:
                yield f"{metric} on {dataset.card.name}", partial(_score, work, metric, dataset)


def _matrix_rate(work: Work) -> dict[str, Any]:
    """Products of square matrices in the precision of the run."""
    import torch

    size = SIZES.get(work.models.machine.kind, 2048)
    one, other = (torch.randn(size, size, device=work.device, dtype=work.models.machine.dtype()) for _ in range(2))
    one @ other
    work.synchronise()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < 2:
        one @ other
        work.synchronise()
        count += 1
    return {"tflops": 2 * size**3 * count / (time.perf_counter() - start) / 1e12}


def _encoder(work: Work, done: dict[str, Any]) -> dict[str, Any]:
    """Sentence vectors of the distinct utterances of all sets."""
    texts = list(dict.fromkeys(turn.text for dataset in work.sets for item in dataset.items[:work.limit]
                               for turn in item.utterances))
    encoder = work.models.encoder()
    encoder.sentences(texts[:8])
    tokens = sum(len(ids) for ids in encoder.tokenizer.plain(texts))
    start = time.perf_counter()
    encoder.sentences(texts)
    work.synchronise()
    return {"texts": len(texts), **_share(work, done, work.encoder, tokens, time.perf_counter() - start)}


def _causal(work: Work, done: dict[str, Any]) -> dict[str, Any]:
    """Likelihoods of every response after its context."""
    model = work.models.lm()
    pairs = [("\n".join(turn.text for turn in item.context) + "\n", item.response.text)
             for dataset in work.sets for item in dataset.items[:work.limit] if item.response is not None]
    model.log_likelihoods([("a", "b")])
    tokens = sum(len(ids) for pair in pairs for ids in model.tokenizer.plain(pair))
    start = time.perf_counter()
    model.log_likelihoods(pairs)
    work.synchronise()
    return {"texts": len(pairs), **_share(work, done, work.lm, tokens, time.perf_counter() - start)}


def _training(work: Work, done: dict[str, Any], metric: str, recipe: str) -> dict[str, Any]:
    """A recipe from tokens to the head, adapters of rank 16 on the encoder; they are left in OUT/weights."""
    request = train.Request(encoder=work.encoder, settings=("rank=16", f"every={EVERY}"))
    plan = train.plan(trainables.by_recipe(metric, recipe, work.encoder), request, work.models.home,
                      partial(corpora.load, home=work.models.home), work.out / "weights" / metric.partition("[")[0])
    before = READING.trained
    saved = train.train(plan, _say, fresh=True, minutes=work.trained_for / 60)
    tokens, seconds = READING.trained - before, saved.card["seconds"]
    return _share(work, done, work.encoder, 2 * tokens, seconds) | {
        "tokens": tokens, "tokens a second": tokens / seconds, "steps": saved.card["steps"],
        "held out": saved.card["held_out"], "bytes": saved.size}


def _share(work: Work, done: dict[str, Any], model: str, tokens: int, seconds: float) -> dict[str, Any]:
    """Tokens a second, and the share of the matrix rate that products with the weights take.

    Neither attention nor what reads or gives words is counted, so it is a lower bound; a step that trains adapters
    counts twice.
    """
    sizes = 0
    for path in weights.check_files(model, weights.find(model, work.models.home).folder):
        with safe_open(path, "pt") as stored:
            shapes = {key: stored.get_slice(key).get_shape() for key in stored.keys()}  # noqa: SIM118 - no mapping
        sizes += sum(shape[0] * shape[1] for key, shape in shapes.items()
                     if len(shape) == 2 and "embed" not in key and "lm_head" not in key)
    rate = done.get("matrix rate", {}).get("tflops")
    share = 2 * sizes * tokens / seconds / 1e12 / rate if rate else None
    return {"tokens": tokens, "tokens a second": tokens / seconds, "share of the matrix rate": share,
            "busy seconds": seconds}


def _score(work: Work, name: str, dataset: Dataset) -> dict[str, Any]:
    """One metric on one dataset: its scores to a file, its correlations with each quality."""
    items = dataset.items[:work.limit]
    columns = registry.choose(name).metric.score(items, work.models)
    file = work.out / "scores" / f"{dataset.card.name}-{name.replace(':', '-').replace('/', '-')}.npz"
    np.savez_compressed(file, items=np.array([item.id for item in items]), **columns)
    means = {(rating.item, rating.quality): float(np.mean(rating.votes)) for rating in dataset.ratings if rating.votes}
    first = next(iter(columns.values()))
    agreement = {}
    for quality in dataset.card.qualities:
        human = np.array([means.get((item.id, quality.name), np.nan) for item in items])
        both = np.isfinite(human) & np.isfinite(first)
        value = spearmanr(first[both], human[both])[0] if both.sum() > 2 else np.nan
        agreement[quality.name] = round(float(value), 4) if np.isfinite(value) else None
    return {"items": len(items), "spearman": agreement}


if __name__ == "__main__":
    sys.exit(main())
