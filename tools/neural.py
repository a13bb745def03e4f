"""The metrics on encoders against the packages they equal, side by side.

    python tools/neural.py [bert-score] [encoding] [likelihood] [--lm NAME]
                                 [--items N] [--full] [--repeat R] [--json]

bert-score   BERTScore against the bert-score package on DSTC7, 1,000 items unless told otherwise
encoding     sentence vectors against SentenceTransformer.encode: the utterances of the turn-level sets as they come,
             and the distinct ones; then our lower precisions, with the least and the mean cosine to fp32
likelihood   log p of responses after contexts and of FED's follow-ups, against transformers' loss pair by pair; a tenth
             of the items

The embedded encoder is used where none is named. Packages are imported and networks loaded before the clock starts;
sides take turns, in an order that alternates; ours remembers nothing from one turn to the next. The fastest counts.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.dataset import Item, Reference, Utterance
from benchmarks.formats import official
from benchmarks.registry import card
from metrics import registry
from metrics.likelihood.fed import UTTERANCES
from metrics.models.causal import LanguageModel
from metrics.models.hub import quiet
from metrics.models.service import Choice, Models
from metrics.text.similarity import cosines, unit
from tools.lexical import dstc7
from tools.processes import DATA, Rows, race, show

Side = Callable[[], Callable[[], Any]]
MOST_DIFFERENT = 1e-4
PRECISIONS = ("fp32", "bf16")


def main() -> None:
    """Measure, print, and fail where a value differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="; ".join(REPORTS), default=list(REPORTS), metavar="WHAT")
    parser.add_argument("--items", type=int, default=1_000, help="how many items of DSTC7")
    parser.add_argument("--full", action="store_true", help="all items of DSTC7")
    parser.add_argument("--lm", default="", help="the language model of likelihood (default: the one that is shipped)")
    parser.add_argument("--repeat", type=int, default=2, help="turns of either side")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    reports = {what: REPORTS[what](given) for what in given.what}
    for rows in reports.values():
        show(rows, given.json)
    if any(row.get("largest difference", 0) > MOST_DIFFERENT for rows in reports.values() for row in rows):
        sys.exit("values differ")


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
    items = dstc7()[: None if given.full else given.items]
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
    for path in sorted((DATA / "human_evaluation_data").glob("*_eval.json")):
        for record in json.loads(path.read_text(encoding="utf-8")):
            if "context" in record:
                yield from record["context"].split("\n")
                yield record["response"]
                yield from [record["reference"]] if isinstance(record.get("reference"), str) else []


def texts_of(items: list[Item]) -> Iterator[str]:
    """Every text that is read of the items."""
    for item in items:
        yield from (turn.text for turn in item.utterances)
        yield from (reference.text for reference in item.references)


def likelihood(given: argparse.Namespace) -> Rows:
    """Likelihoods of responses after their contexts, and of FED's follow-ups, beside transformers pair by pair."""
    name = given.lm
    items = [item for dataset in ("convai2-grade", "dailydialog-grade")
             for item in official.parse(DATA / "human_evaluation_data" / f"{dataset}_eval.json", card(dataset)).items]
    pairs = [("\n".join(turn.text for turn in item.context) + "\n", item.response.text)
             for item in items[:given.items // 10] if item.response]
    followed = [(before + after, text) for before, after in pairs[:3] for text in UTTERANCES]
    report = []
    for what, texts in {"response after context": pairs, "63 follow-ups after each of three": followed}.items():
        loaded = model(name)
        tokens = sum(map(len, loaded.tokenizer.plain([text for pair in texts for text in pair])))
        seconds, values = race({"package": one_by_one(name, texts), "ours": ours_of(name, texts)}, given.repeat)
        difference = float(np.abs(np.array(values["package"]) - np.array(values["ours"])).max())
        report.append(row(f"{what}, {loaded.name}", tokens, seconds["package"], seconds["ours"],
                          **{"largest difference": difference}))
    return report


def model(name: str) -> LanguageModel:
    """A language model that remembers nothing, warm."""
    home = Path(os.environ.get("HARNESS_HOME", "no-home"))
    loaded = Models(home, Choice(lm=name)).lm()
    loaded.log_likelihoods([("a", "b")])
    return loaded


def ours_of(name: str, pairs: list[tuple[str, str]]) -> Side:
    """Means by our service: the follow-ups of a text at once, as FED asks for them."""

    def side() -> Callable[[], Any]:
        loaded, befores = model(name), list(dict.fromkeys(before for before, _ in pairs))
        afters = list(dict.fromkeys(after for _, after in pairs))
        if len(pairs) == len(befores) * len(afters):
            return lambda: loaded.after_each(befores, afters).ravel().tolist()
        return lambda: [float(values.mean()) for values in loaded.log_likelihoods(pairs)]

    return side


def one_by_one(name: str, pairs: list[tuple[str, str]]) -> Side:
    """The loss by transformers itself of each pair, as its users compute likelihoods."""

    def side() -> Callable[[], Any]:
        import torch
        import transformers

        loaded = model(name)
        plain = transformers.AutoModelForCausalLM.from_pretrained
        with quiet():
            network = plain(loaded.weights.folder, dtype=torch.float32).eval() if name else loaded.networks[0]
        cut = [loaded.tokenizer.plain(pair) for pair in pairs]

        def losses() -> list[float]:
            with torch.inference_mode():
                return [-float(network(input_ids=torch.tensor([before + after]),
                                       labels=torch.tensor([[-100] * len(before) + after])).loss)
                        for before, after in cut]

        return losses

    return side


REPORTS: dict[str, Callable[[argparse.Namespace], Rows]] = {
    "bert-score": bert_score, "encoding": encoding, "likelihood": likelihood}

if __name__ == "__main__":
    main()
