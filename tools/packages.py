"""Compare the speed of metrics with packages that compute the same values: `python -m tools.packages [CASE ...]`.

lexical      sacreBLEU, rouge-score and NLTK, called item by item on DSTC7
bert-score   the bert-score package on DSTC7
encoding     SentenceTransformer.encode on the utterances of the turn-level datasets, and on the distinct ones
likelihood   the loss of transformers, pair by pair: responses after contexts, and follow-ups of FED

Packages are imported and models loaded before the timer starts. The two sides run in alternating order with empty
caches; the fastest run of each counts. The exit status is 1 if values differ. Without real data, the lexical metrics
and BERTScore are measured on the bundled sample.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import Item, Reference, Utterance
from benchmarks.formats import official
from benchmarks.registry import card
from metrics.errors import MissingResource
from metrics.lexical import bleu, meteor
from metrics.likelihood.fed import UTTERANCES
from metrics.models.causal import LanguageModel
from metrics.models.hub import quiet
from metrics.models.service import Choice, Models
from metrics.registry import choose
from metrics.text.similarity import unit
from metrics.text.words import stem
from tools import DATA, ROOT, print_table

os.environ.setdefault("NLTK_DATA", str(DATA / "resources" / "nltk_data"))
HOME = Path(os.environ.get("HARNESS_HOME") or DATA / "no-home")
LEXICAL = ("bleu", "chrf", "delta-bleu", "distinct", "meteor", "rouge-l")

Rows = Iterator[dict[str, Any]]
Prepare = Callable[[], Callable[[], Any]]  # prepare a run, and return the function to be timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--items", type=int, help="limit the items or texts of every case")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side")
    parser.add_argument("--lm", default="", help="language model of the case `likelihood` (default: bundled)")
    arguments = parser.parse_args()
    rows = [row for case in arguments.cases for row in CASES[case](arguments)]
    print_table(rows)
    if any(row["largest difference"] > (0 if row["case"] in LEXICAL else 1e-4) for row in rows):
        sys.exit("values differ")


def race(repeat: int, **sides: Prepare) -> tuple[dict[str, float], dict[str, Any]]:
    seconds, values = dict.fromkeys(sides, float("inf")), {}
    for turn in range(repeat):
        for side in list(sides)[::-1 if turn % 2 else 1]:
            run = sides[side]()
            gc.collect()
            start = time.perf_counter()
            values[side] = run()
            seconds[side] = min(seconds[side], time.perf_counter() - start)
    return seconds, values


def row(case: str, count: int, package: float, ours: float, difference: float = 0.0) -> dict[str, Any]:
    return {"case": case, "count": count, "package s": round(package, 3), "ours s": round(ours, 3),
            "ratio": round(package / ours, 1), "largest difference": difference}


def compared(case: str, count: int, repeat: int, package: Prepare, ours: Prepare) -> dict[str, Any]:
    seconds, values = race(repeat, package=package, ours=ours)
    difference = float(np.abs(np.subtract(values["package"], values["ours"])).max())
    return row(case, count, seconds["package"], seconds["ours"], difference)


def dstc7(limit: int | None) -> list[Item]:
    real = DATA / "side" / "dstc7-partial.json"
    path = real if real.is_file() else ROOT / "benchmarks" / "sample" / "data" / "dstc7_eval.json"
    items = []
    for record in json.loads(path.read_text(encoding="utf-8")):
        texts = record.get("reference") or []
        references = tuple(Reference(text) for text in ([texts] if isinstance(texts, str) else texts) if text.strip())
        if references and record["response"]:
            items.append(Item(record["dialogue_id"], (), Utterance("system", record["response"]), references))
    return items[:limit]


def lexical(arguments: argparse.Namespace) -> Rows:
    items, models = dstc7(arguments.items), Models(HOME)
    available = [choose(name).metric for name in LEXICAL]
    try:
        models.resource("wordnet")
    except MissingResource as error:
        print(f"without METEOR: {error}", file=sys.stderr)
        available = [metric for metric in available if metric.card.name != "meteor"]

    def prepared(score: Callable[[Sequence[Item]], Any]) -> Prepare:
        score(items[:1])  # trigger lazy loading

        def prepare() -> Callable[[], Any]:
            clear_caches(models)
            return lambda: score(items)

        return prepare

    def package(function: Callable[[str, list[str]], float]) -> Prepare:
        return prepared(lambda items: [function(item.response.text, [reference.text for reference in item.references])
                                       for item in items if item.response])

    total = 0.0
    for name, function in lexical_packages(models if len(available) == len(LEXICAL) else None):
        metric = choose(name).metric
        ours = prepared(lambda items, metric=metric: metric.score(items, models)[metric.card.columns[-1]])
        result = compared(metric.card.name, len(items), arguments.repeat, package(function), ours)
        total += result["package s"]
        yield result
    seconds, _ = race(1, ours=prepared(lambda items: [metric.score(items, models) for metric in available]))
    yield row(f"all {len(available)} lexical metrics", len(items), total, seconds["ours"])


def lexical_packages(models: Models | None) -> Iterator[tuple[str, Callable[[str, list[str]], float]]]:
    """Yield each metric with its package's function for one response; METEOR only with models for its WordNet."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    sentence_bleu, chrf, rouge = BLEU(effective_order=True), CHRF(), RougeScorer(["rougeL"])
    yield "bleu", lambda response, texts: sentence_bleu.sentence_score(response, texts).score
    yield "chrf", lambda response, texts: chrf.sentence_score(response, texts).score
    yield "rouge-l[references=max]", lambda response, texts: rouge.score_multi(texts, response)["rougeL"].fmeasure
    if models:
        import nltk.data
        from nltk.corpus import wordnet
        from nltk.translate.meteor_score import meteor_score
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        nltk.data.path.append(str(models.resource("wordnet").path.parents[1]))
        wordnet.ensure_loaded()
        split = Tokenizer13a()
        yield "meteor", lambda response, texts: meteor_score([split(text).split() for text in texts],
                                                             split(response).split())


def clear_caches(models: Models) -> None:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    for cached in (Tokenizer13a.__call__, TokenizerRegexp.__call__, stem, bleu.geometric_means):
        cached.cache_clear()
    if meteor.cached_wordnet.cache_info().currsize:
        wordnet = models.resource("wordnet")
        meteor.cached_wordnet(wordnet.path, wordnet.digest).synonyms.cache_clear()


def fresh_models() -> Models:  # with empty caches, and the bundled encoder warmed up
    models = Models(DATA / "no-home")
    models.encoder().sentences(["warm"])
    return models


def bert_score(arguments: argparse.Namespace) -> Rows:
    from bert_score import BERTScorer

    items, metric, encoder = dstc7(arguments.items or 1_000), choose("bert-score").metric, fresh_models().encoder()
    scorer = BERTScorer(model_type=str(encoder.weights.folder), num_layers=6, device="cpu")
    tokenizer = scorer._tokenizer
    tokenizer.model_max_length = encoder.tokenizer.limit
    tokenizer.build_inputs_with_special_tokens = lambda ids: tokenizer.encode("")  # transformers 5 removed this method

    def package(items: list[Item]) -> Any:
        return scorer.score([item.response.text for item in items if item.response],
                            [[reference.text for reference in item.references] for item in items])[2].numpy()

    def ours() -> Callable[[], Any]:
        models = fresh_models()
        return lambda: metric.score(items, models)["bert-score-f"]

    seconds, values = race(arguments.repeat, package=lambda: lambda: package(items), ours=ours)
    differs = np.flatnonzero(np.abs(values["package"] - values["ours"]) > 1e-4)
    if differs.size:  # the package treats the longest texts of a batch differently: rerun them with a longer one
        longer = Item("longer", (), Utterance("system", "a " * 300), (Reference("a " * 300),))
        values["package"][differs] = package([*(items[index] for index in differs), longer])[:-1]
    yield row("bert-score", len(items), seconds["package"], seconds["ours"],
              float(np.abs(values["package"] - values["ours"]).max()))


def encoding(arguments: argparse.Namespace) -> Rows:
    from sentence_transformers import SentenceTransformer

    package = SentenceTransformer(str(fresh_models().encoder().weights.folder), device="cpu")
    utterances = list(turn_level_utterances())[: arguments.items]
    for case, texts in {"utterances": utterances, "distinct utterances": list(dict.fromkeys(utterances))}.items():

        def ours(texts: list[str] = texts) -> Callable[[], Any]:
            encoder = fresh_models().encoder()
            return lambda: unit(encoder.sentences(texts))

        yield compared(case, len(texts), arguments.repeat,
                       lambda texts=texts: lambda: package.encode(texts, show_progress_bar=False), ours)


def turn_level_utterances() -> Iterator[str]:
    for path in sorted((DATA / "human_evaluation_data").glob("*_eval.json")):
        for record in json.loads(path.read_text(encoding="utf-8")):
            if "context" in record:
                yield from (*record["context"].split("\n"), record["response"])
                if isinstance(record.get("reference"), str):
                    yield record["reference"]


def likelihood(arguments: argparse.Namespace) -> Rows:
    items = [item for name in ("convai2-grade", "dailydialog-grade")
             for item in official.parse(DATA / "human_evaluation_data" / f"{name}_eval.json", card(name)).items]
    pairs = [("\n".join(turn.text for turn in item.context) + "\n", item.response.text)
             for item in items[: arguments.items or 100] if item.response]
    contexts = [before + after for before, after in pairs[:3]]
    model = language_model(arguments.lm)

    def responses() -> Callable[[], Any]:
        model = language_model(arguments.lm)
        return lambda: [float(values.mean()) for values in model.log_likelihoods(pairs)]

    def follow_ups() -> Callable[[], Any]:
        model = language_model(arguments.lm)
        return lambda: model.after_each(contexts, UTTERANCES).ravel().tolist()

    context_pairs = [(before, text) for before in contexts for text in UTTERANCES]
    for case, texts, ours in (("responses", pairs, responses), ("follow-ups", context_pairs, follow_ups)):
        tokens = sum(map(len, model.tokenizer.plain([text for pair in texts for text in pair])))
        yield compared(f"{case}, {model.name}", tokens, arguments.repeat, losses(arguments.lm, texts), ours)


def language_model(name: str) -> LanguageModel:
    """Return a warmed-up language model with empty caches."""
    model = Models(HOME, Choice(lm=name)).lm()
    model.log_likelihoods([("a", "b")])
    return model


def losses(name: str, pairs: list[tuple[str, str]]) -> Prepare:
    """Compute likelihoods as users of transformers do: the loss of one pair at a time."""

    def prepare() -> Callable[[], Any]:
        import torch
        import transformers

        model, load = language_model(name), transformers.AutoModelForCausalLM.from_pretrained
        with quiet():
            network = load(model.weights.folder, dtype=torch.float32).eval() if name else model.networks[0]
        ids = [model.tokenizer.plain(pair) for pair in pairs]

        def run() -> list[float]:
            with torch.inference_mode():
                return [-float(network(input_ids=torch.tensor([before + after]),
                                       labels=torch.tensor([[-100] * len(before) + after])).loss)
                        for before, after in ids]

        return run

    return prepare


CASES: dict[str, Callable[[argparse.Namespace], Rows]] = {
    "lexical": lexical, "bert-score": bert_score, "encoding": encoding, "likelihood": likelihood}

if __name__ == "__main__":
    main()
