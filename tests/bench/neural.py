"""The metrics on encoders against the packages they equal, and against one reading of the texts, side by side.

    python tests/bench/neural.py [bert-score] [encoding] [family] [--items N] [--full] [--repeat R] [--json]

bert-score   BERTScore against the bert-score package on DSTC7, 1,000 items unless told otherwise
encoding     sentence vectors against SentenceTransformer.encode: the utterances of the turn-level sets as they come,
             and the distinct ones; then our lower precisions, with the least and the mean cosine to fp32
family       every metric of the family embedding on all sets, against one pass of the encoder over their texts;
             each in a process of its own, so that the peak of memory is its own

The embedded encoder is used throughout. Packages are imported and networks loaded before the clock starts; sides take
turns, in an order that alternates; ours remembers nothing from one turn to the next. The fastest turn counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.dataset import Dataset, Item, Reference, Utterance
from benchmarks.formats import official
from benchmarks.registry import card
from harness.scoring.score import score, unmet
from metrics import registry
from metrics.errors import CannotScore, MissingResource
from metrics.models.service import Choice, Models
from metrics.text.similarity import cosines, unit
from tests.bench.lexical import DATA, Rows, as_items, peak, read, table

Side = Callable[[], Callable[[], Any]]
"""Makes ready what is to be timed."""
MOST_DIFFERENT = 1e-4
PRECISIONS = ("fp32", "bf16")


def main() -> None:
    """Measure, print, and fail where a value differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="; ".join(REPORTS), default=list(REPORTS), metavar="WHAT")
    parser.add_argument("--items", type=int, default=1_000, help="how many items of DSTC7")
    parser.add_argument("--full", action="store_true", help="all items of DSTC7")
    parser.add_argument("--repeat", type=int, default=2, help="turns of either side")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--turn", choices=TURNS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.turn:
        print(json.dumps(timed_alone(TURNS[given.turn])))
        return
    reports = {what: REPORTS[what](given) for what in given.what}
    print(json.dumps(reports, indent=1) if given.json else "\n\n".join(map(table, reports.values())))
    if any(row.get("largest difference", 0) > MOST_DIFFERENT for rows in reports.values() for row in rows):
        sys.exit("values differ")


def race(sides: Mapping[str, Side], repeat: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The fastest turn of each side and its values; who goes first alternates."""
    seconds: dict[str, float] = {}
    values: dict[str, Any] = {}
    for turn in range(repeat):
        for name in list(sides)[:: -1 if turn % 2 else 1]:
            spent, values[name] = timed(sides[name])
            seconds[name] = min(spent, seconds.get(name, spent))
    return seconds, values


def timed(side: Side) -> tuple[float, Any]:
    """The seconds of one turn, and what it gives."""
    work = side()
    gc.collect()
    before = time.perf_counter()
    given = work()
    return time.perf_counter() - before, given


def fresh(precision: str = "fp32") -> Models:
    """Models that remember nothing, with the encoder loaded and warm."""
    models = Models(DATA / "no-home", Choice(precision=precision))
    models.encoder().sentences(["warm"])
    return models


def row(name: str, count: int, package: float, own: float, **more: Any) -> dict[str, Any]:
    """A line of a table."""
    return {"what": name, "count": count, "package s": round(package, 1), "ours s": round(own, 1), "package /s":
            round(count / package), "ours /s": round(count / own), "ratio": round(package / own, 2), **more}


def bert_score(given: argparse.Namespace) -> Rows:
    """The metric against its package, and how much of its time goes into reading."""
    items = as_items(read(None))[: None if given.full else given.items]
    metric = registry.choose("bert-score").metric
    theirs = package()

    def ours() -> Callable[[], Any]:
        models = fresh()
        return lambda: metric.score(items, models)["bert-score-f"]

    def reading() -> Callable[[], Any]:
        encoder, texts = fresh().encoder(), list(dict.fromkeys(texts_of(items)))
        return lambda: [len(encoder.states(texts[start : start + 4096])) for start in range(0, len(texts), 4096)]

    seconds, values = race({"package": lambda: lambda: theirs(items), "ours": ours, "reading": reading}, given.repeat)
    apart = np.flatnonzero(np.abs(values["package"] - values["ours"]) > MOST_DIFFERENT)
    if apart.size:  # the package treats the longest texts of a batch otherwise: once more, beside one that is longer
        longer = Item("longer", (), Utterance("system", "a " * 300), (Reference("a " * 300),))
        values["package"][apart] = theirs([*(items[place] for place in apart), longer])[:-1]
    difference = np.abs(values["package"] - values["ours"]).max()
    more = {"reading s": round(seconds["reading"], 1), "scored twice": int(apart.size)}
    return [row("bert-score", len(items), seconds["package"], seconds["ours"], **more,
                **{"largest difference": float(difference)})]


def package() -> Callable[[list[Item]], Any]:
    """The package's F, its texts cut where ours are; transformers 5 lacks a method that it calls for empty texts."""
    from bert_score import BERTScorer

    encoder = fresh().encoder()
    scorer = BERTScorer(model_type=str(encoder.weights.folder), num_layers=6, device="cpu")
    whole = scorer._tokenizer
    whole.model_max_length = encoder.tokenizer.limit
    whole.build_inputs_with_special_tokens = lambda ids: whole.encode("")
    return lambda items: scorer.score([item.response.text for item in items if item.response],
                                      [[reference.text for reference in item.references] for item in items])[2].numpy()


def encoding(given: argparse.Namespace) -> Rows:
    """Sentence vectors against sentence-transformers, then what lower precision costs and saves."""
    utterances = list(turn_level_utterances())
    report = []
    for name, texts in {"as they come": utterances, "distinct": list(dict.fromkeys(utterances))}.items():
        sides = {precision: vectors(texts, precision) for precision in PRECISIONS}
        seconds, values = race({"package": sentence_transformer(texts), **sides}, given.repeat)
        for precision in PRECISIONS:
            alike = cosines(values["fp32"], values[precision])
            more = {"least cosine": round(float(alike.min()), 5), "mean cosine": round(float(alike.mean()), 5)}
            if precision == "fp32":
                more = {"largest difference": float(np.abs(values["fp32"] - values["package"]).max())}
            report.append(row(f"{name}, {precision}", len(texts), seconds["package"], seconds[precision], **more))
    return report


def vectors(texts: list[str], precision: str) -> Side:
    """Our sentence vectors, of length 1 as the package gives them."""

    def side() -> Callable[[], Any]:
        encoder = fresh(precision).encoder()
        return lambda: unit(encoder.sentences(texts))

    return side


def sentence_transformer(texts: list[str]) -> Side:
    """The package as it is used."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(fresh().encoder().weights.folder), device="cpu")
    return lambda: lambda: model.encode(texts, show_progress_bar=False)


def turn_level_utterances() -> Iterator[str]:
    """Every line of every context, every response, and the references that are a text and no list."""
    for path in files():
        for record in json.loads(path.read_text(encoding="utf-8")):
            if "context" in record:
                yield from record["context"].split("\n")
                yield record["response"]
                yield from [record["reference"]] if isinstance(record.get("reference"), str) else []


def family(given: argparse.Namespace) -> Rows:
    """All metrics of the family against one pass over their texts, each turn in a process of its own."""
    best: dict[str, dict[str, Any]] = {}
    for turn in range(given.repeat):
        for name in list(TURNS)[:: -1 if turn % 2 else 1]:
            told = subprocess.run([sys.executable, __file__, "--turn", name], check=True, stdout=subprocess.PIPE).stdout
            found = json.loads(told)
            best[name] = min(found, best.get(name, found), key=lambda one: one["s"])
    once = best["one pass"]["s"]
    return [{"what": name, **found, "times one pass": round(found["s"] / once, 2)} for name, found in best.items()]


def timed_alone(side: Side) -> dict[str, Any]:
    """The seconds of one turn, those of the processors with loading, and the peak of memory of this process."""
    spent, told = timed(side)
    return {"s": round(spent, 1), "cpu s": round(time.process_time(), 1), "peak MiB": peak(), "of": told}


def one_pass() -> Callable[[], str]:
    """The sentence vectors of the distinct texts of all sets."""
    encoder = fresh().encoder()
    texts = list(dict.fromkeys(text for dataset in datasets() for text in texts_of(dataset.items)))
    return lambda: f"{len(encoder.sentences(texts))} texts"


def all_metrics() -> Callable[[], str]:
    """Every metric of the family that can be scored here, on every set that has what it needs."""
    models, sets = fresh(), datasets()
    models.vectors().of(["warm"])
    chosen = [registry.choose(name).metric for name in registry.names() if registry.card(name).family == "embedding"]

    def work() -> str:
        done = 0
        for dataset in sets:
            for metric in chosen:
                if not unmet(metric, dataset):
                    try:
                        score(metric, dataset, models)
                        done += 1
                    except (CannotScore, MissingResource) as error:
                        print(f"without {metric.card.name} on {dataset.card.name}: {error}", file=sys.stderr)
        return f"{len(chosen)} metrics, {done} cells"

    return work


def datasets() -> list[Dataset]:
    """The real sets."""
    return [official.parse(path, card(path.name.removesuffix("_eval.json"))) for path in files()]


def files() -> list[Path]:
    """The organisers' files that are here."""
    return sorted((DATA / "human_evaluation_data").glob("*_eval.json"))


def texts_of(items: tuple[Item, ...] | list[Item]) -> Iterator[str]:
    """Every text that is read of the items."""
    for item in items:
        yield from (turn.text for turn in item.utterances)
        yield from (reference.text for reference in item.references)


REPORTS: dict[str, Callable[[argparse.Namespace], Rows]] = {
    "bert-score": bert_score, "encoding": encoding, "family": family}
TURNS: dict[str, Side] = {"one pass": one_pass, "all metrics": all_metrics}

if __name__ == "__main__":
    main()
