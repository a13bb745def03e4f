"""The lexical metrics against the packages they equal, side by side in one run.

    python tools/lexical.py [--items N] [--repeat R] [--json]

Each package is called once per item, with its objects made once; ours score the same items. Both sides have
imported their packages and read WordNet before the clock starts, and take turns, in an order that alternates.
The caches that either side keeps from one run to the next are emptied before each. Values must be equal.

The data is DSTC7 (the real texts under HARNESS_REAL_DATA or ../shared/data, else the bundled sample).
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.dataset import Item, Reference, Utterance
from metrics.errors import MissingResource
from metrics.lexical import bleu, meteor
from metrics.metric import Metric
from metrics.models.service import Models
from metrics.registry import choose
from metrics.text.words import stem
from tools.processes import DATA, ROOT, Rows, race, show

os.environ.setdefault("NLTK_DATA", str(DATA / "resources" / "nltk_data"))
Scores = Callable[[Sequence[Item]], Any]
ALL = ("bleu", "chrf", "delta-bleu", "distinct", "meteor", "rouge-l")
MODELS = Models(Path(os.environ.get("HARNESS_HOME") or DATA / "no-home"))


def main() -> None:
    """Measure, print, and fail where a value differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, help="score only the first N")
    parser.add_argument("--repeat", type=int, default=3, help="runs of either side; the fastest counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    report = compare(dstc7()[: given.items], given.repeat)
    show(report, given.json)
    if any(row["largest difference"] for row in report):
        sys.exit("values differ")


def dstc7() -> list[Item]:
    """The items of DSTC7 that have a response and references."""
    real = DATA / "side" / "dstc7-partial.json"
    path = real if real.is_file() else ROOT / "benchmarks" / "sample" / "data" / "dstc7_eval.json"
    items = []
    for row in json.loads(path.read_text(encoding="utf-8")):
        given = [row["reference"]] if isinstance(row.get("reference"), str) else row.get("reference") or []
        references = tuple(Reference(text) for text in given if text and text.strip())
        if references and row["response"]:
            items.append(Item(row["dialogue_id"], (), Utterance("system", row["response"]), references))
    return items


def compare(items: Sequence[Item], repeat: int) -> Rows:
    """One row per metric that a package has, and one for all of ours together."""
    def side(score: Scores) -> Callable[[], Callable[[], Any]]:
        score(items[:1])  # what is loaded lazily is loaded now

        def ready() -> Callable[[], Any]:
            forget()
            return lambda: score(items)
        return ready

    report = []
    for name, theirs in packages():
        seconds, values = race({"package": side(theirs), "ours": side(ours(choose(name).metric))}, repeat)
        difference = float(np.max(np.abs(values["package"] - values["ours"])))
        report.append(row(name, len(items), seconds["package"], seconds["ours"], difference))
    together = available()
    seconds, _ = race({"ours": side(lambda some: [metric.score(some, MODELS) for metric in together])}, 1)
    known = sum(entry["package s"] for entry in report)
    return [*report, row(f"all {len(together)} of ours", len(items), known, seconds["ours"], 0.0)]


def row(name: str, items: int, package: float, own: float, difference: float) -> dict[str, Any]:
    """A line of the table."""
    return {"metric": name, "items": items, "package s": round(package, 3), "ours s": round(own, 3),
            "ratio": round(package / own, 1), "largest difference": difference}


def forget() -> None:
    """Empty what either side remembers of texts and words."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    for kind in (Tokenizer13a, TokenizerRegexp):
        kind.__call__.cache_clear()
    stem.cache_clear()
    bleu.geometric_means.cache_clear()
    if meteor.remembered.cache_info().currsize:
        resource_ = MODELS.resource("wordnet")
        meteor.remembered(resource_.path, resource_.digest).synonyms.cache_clear()


def ours(metric: Metric) -> Scores:
    """Our metric as a function of the items: its last column."""
    return lambda items: metric.score(items, MODELS)[metric.card.columns[-1]]


def available() -> list[Metric]:
    """Our lexical metrics, without METEOR where WordNet is not to be had."""
    chosen = []
    for name in ALL:
        metric = choose(name).metric
        try:
            for needed in metric.card.resources:
                MODELS.resource(needed)
        except MissingResource as error:
            print(f"without {name}: {error}", file=sys.stderr)
        else:
            chosen.append(metric)
    return chosen


def packages() -> Iterator[tuple[str, Scores]]:
    """Each metric as its package is used for one item after another."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    blue, characters, rouge = BLEU(effective_order=True), CHRF(), RougeScorer(["rougeL"])
    yield "bleu", per_item(lambda response, texts: blue.sentence_score(response, texts).score)
    yield "chrf", per_item(lambda response, texts: characters.sentence_score(response, texts).score)
    yield "rouge-l[references=max]", per_item(
        lambda response, texts: rouge.score_multi(texts, response)["rougeL"].fmeasure)
    if any(metric.card.name == "meteor" for metric in available()):
        yield "meteor", per_item(nltk_meteor())


def nltk_meteor() -> Callable[[str, list[str]], float]:
    """NLTK's METEOR on 13a tokens, its WordNet loaded."""
    import nltk.data
    from nltk.corpus import wordnet
    from nltk.translate.meteor_score import meteor_score
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    nltk.data.path.append(str(MODELS.resource("wordnet").path.parents[1]))
    wordnet.ensure_loaded()
    split = Tokenizer13a()
    return lambda response, texts: meteor_score([split(text).split() for text in texts], split(response).split())


def per_item(score: Callable[[str, list[str]], float]) -> Scores:
    """A package's function of one response and its references as a function of the items."""
    return lambda items: np.array([score(item.response.text, [reference.text for reference in item.references])
                                   for item in items if item.response])


if __name__ == "__main__":
    main()
