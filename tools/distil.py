"""Label replies by the panel, and measure how much small networks learn from them (docs/judges.md).

    python -m tools.distil label LABELS --home H                 appends the scores of the panel's inputs for eight
                                                                 replies per context
    python -m tools.distil fit LABELS --home H --datasets D      learns them from vectors of an encoder, and compares
                                                                 the predictions with people
    python -m tools.distil corpus LABELS --home H                writes the judge's answers into the home, as the
                                                                 corpus of the metric `distilled`

The replies are the true one, intact and corrupted, another from the same dialogue, a random and a similar (or an
adversarial) one from other dialogues, two by SmolLM2 and one by dialogue-lm. LABELS has a line per context: its
dialogue, the generated replies, and the scores of all replies. An interrupted `label` can be resumed. Home H has the
corpora and the models of the panel, but no datasets, since dialogues that share contexts with them are left out; home
D has the datasets until 2021.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, rankdata, spearmanr

from benchmarks import registry
from benchmarks.corpora import corpora, files
from harness.api.scores import score
from harness.run.correlate import judged
from harness.statistics.coefficients import where_known
from metrics.composite.panel import Panel
from metrics.models import small_lm
from metrics.models.encoder import Encoder
from metrics.models.readings import spoken
from metrics.models.service import Models
from metrics.training.examples import Index, dropped, exchanges, labelled_contexts, pick, reordered, repeated

SOURCES = ("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia", "dailydialog_pp",
           "self_dialogue")
CONTEXTS = 1_400
TURNS, WORDS = 6, 120  # maximum utterances and words of a context
SAMPLED = {"do_sample": True, "temperature": 0.9, "top_k": 50, "max_new_tokens": 32}
PROMPT_TURNS = 3  # number of utterances in the prompt of SmolLM2
BATCH = 40  # number of contexts that are labelled at a time
RANDOM = 2  # position of the random reply, which is too easy to learn from
PENALTY = 30.0  # penalty of the ridge regression
JUDGE = 1  # position of the judge among the panel's inputs
NUMBERS = 5  # number of inputs that are not vectors
SIZES, DRAWS, FOLD = (125, 250, 500, 1_000, CONTEXTS), 3, 8
"""Numbers of contexts to learn from, draws of each, and the share of the contexts held out: one in FOLD."""
Row = dict[str, Any]
Array = npt.NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("label", "fit", "corpus"))
    parser.add_argument("labels", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--datasets", type=Path)
    parser.add_argument("--encoder", default="", help="encoder whose vectors `fit` uses (default: the embedded one)")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = [row for name in SOURCES for row in of_corpus(name, options.home, CONTEXTS // len(SOURCES), rng)]
    rows = [rows[index] for index in rng.permutation(len(rows))]
    labels = list(map(json.loads, options.labels.open())) if options.labels.exists() else []
    if any(label["dialogue"] != row["dialogue"] for label, row in zip(labels, rows, strict=False)):
        raise SystemExit(f"{options.labels}: its contexts differ from those of the corpora in {options.home}")
    if options.stage == "label":
        label(rows, len(labels), options.labels, options.home)
    elif options.stage == "corpus":
        corpus(rows, labels, options.home)
    else:
        fit(rows, labels, options.datasets, Models(options.home).encoder(options.encoder))


def label(rows: Sequence[Row], done: int, file: Path, home: Path) -> None:
    """Append the scores of every reply under each input of the panel."""
    members = [row.chosen.requested for row in Panel().made_of()]
    with tempfile.TemporaryDirectory() as folder:
        small_lm.expand(Models(home).checkpoint(small_lm.NAME), Path(folder))
        writers = [Writer(small_lm.DISPLAY_NAME, folder, lambda turns: small_lm.END.join([*turns, ""]), 1),
                   Writer("smollm2", str(home / "models" / "smollm2-135m"), script, 2)]
    for start in range(done, len(rows), BATCH):
        began = time.monotonic()
        part = rows[start:start + BATCH]
        written = [[text for texts in replies for text in texts]
                   for replies in zip(*(writer.write(part, start) for writer in writers), strict=True)]
        items = [{"context": row["context"], "response": text} for row, more in zip(part, written, strict=True)
                 for text in (*row["replies"], *more)]
        scores = {name: next(iter(score(name, items, home=home, offline=True).values())) for name in members}
        table = iter(np.round(np.array([*scores.values()], dtype=float).T, 4).tolist())
        with file.open("a") as output:
            output.writelines(json.dumps({
                "dialogue": row["dialogue"], "written": more, "scores": [next(table) for _ in (*row["replies"], *more)],
            }) + "\n" for row, more in zip(part, written, strict=True))
        print(f"{start + len(part)} of {len(rows)} contexts, {time.monotonic() - began:.0f} s", flush=True)


def fit(rows: Sequence[Row], labels: Sequence[Row], datasets: Path, encoder: Encoder) -> None:
    """Print correlations of ridge regressions with the panel's inputs on held-out contexts, and with people."""
    kept = labelled(rows, labels)
    numbers = np.array([number for number, *_ in kept])
    inputs = features([(context, text) for _, context, text, _ in kept], encoder)
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    scale[:-NUMBERS] *= np.sqrt(len(scale) - NUMBERS)  # so that the vectors together weigh as much as each number
    inputs = (inputs - centre) / scale
    targets = norm.ppf((rankdata([scores for *_, scores in kept], axis=0) - 0.5) / len(kept))
    rated = {name: rated_items(name, datasets) for name in registry.names("dev")
             if registry.card(name).level == "turn" and registry.load(name, datasets).origin != "sample"}
    seen = {name: (features(pairs, encoder) - centre) / scale for name, (pairs, _) in rated.items()}
    print("replies, draw: with DEB, judge, PMI and cosine on held-out contexts; their mean, and the judge, with people")
    for size in SIZES:
        for draw in range(DRAWS if size < len(labels) else 1):
            chosen = np.isin(numbers, np.random.default_rng(draw).permutation(len(labels))[:size])
            held_out, learned = numbers % FOLD == 0, ridge(inputs[chosen], targets[chosen])
            apart = ridge(inputs[chosen & ~held_out], targets[chosen & ~held_out])
            held = [spearmanr(inputs[held_out] @ apart[:, part], targets[held_out, part])[0] for part in range(4)]
            people = [np.mean([np.nanmean([where_known(ratings, of(seen[name] @ learned)[None])
                                           for ratings in qualities]) for name, (_, qualities) in rated.items()])
                      for of in (lambda table: table.mean(axis=1), lambda table: table[:, JUDGE])]
            print(f"{chosen.sum()}, {draw}:", *(f"{value:.2f}" for value in held), ";",
                  *(f"{value:.3f}" for value in people), flush=True)
        if size >= len(labels):
            break


def corpus(rows: Sequence[Row], labels: Sequence[Row], home: Path) -> None:
    """Write a dialogue per context, with the rank of the judge's answer to each reply, scaled to 1 to 5."""
    kept = labelled(rows, labels)
    ranks = (rankdata([scores[JUDGE] for *_, scores in kept]) - 0.5) / len(kept)
    rated: dict[int, list[tuple[str, float]]] = {}
    for (number, _, text, _), rank in zip(kept, ranks, strict=True):
        rated.setdefault(number, []).append((text, round(1 + 4 * float(rank), 4)))
    files.write(files.corpus_path("panel_answers", home), ({
        "dialogue_id": rows[number]["dialogue"], "split": "train", "positive_responses": rows[number]["replies"][:1],
        "utterances": [{"speaker": "AB"[turn % 2], "text": text} for turn, text in enumerate(rows[number]["context"])],
        "rated_responses": replies} for number, replies in rated.items()))


def labelled(rows: Sequence[Row], labels: Sequence[Row]) -> list[tuple[int, Sequence[str], str, list[float]]]:
    """Return context number, context, reply and scores of each labelled reply, without random and raw ones."""
    return [(number, row["context"], text, scores)
            for number, (row, label) in enumerate(zip(rows, labels, strict=False))
            for place, (text, scores) in enumerate(zip((*row["replies"], *label["written"]), label["scores"],
                                                       strict=True))
            if place != RANDOM and not text.startswith(small_lm.SPACE)]


def features(pairs: Sequence[tuple[Sequence[str], str]], encoder: Encoder) -> Array:
    """Return vectors of the last utterances and of the reply with their products, then NUMBERS numbers: their cosines,
    the length of the reply and the share of its distinct words.
    """
    texts = list(dict.fromkeys(text for context, reply in pairs
                               for text in (*context[-2:], " ".join(context[-3:]), reply)))
    vectors = dict(zip(texts, encoder.sentences(texts), strict=True))
    table = []
    for context, reply in pairs:
        own, words = vectors[reply], reply.lower().split()
        last, joined = vectors[context[-1]], vectors[" ".join(context[-3:])]
        before = vectors[context[-2]] if len(context) > 1 else np.zeros_like(last)
        both = [part * own for part in (last, before, joined)]
        table.append(np.concatenate([last, before, joined, own, *both, abs(last - own), [
            *(part.sum() for part in both), np.log1p(len(words)), len({*words}) / max(1, len(words))]]))
    return np.array(table)


def ridge(inputs: Array, targets: Array) -> Array:
    return np.asarray(np.linalg.solve(inputs.T @ inputs + PENALTY * np.eye(inputs.shape[1]), inputs.T @ targets))


def rated_items(name: str, home: Path) -> tuple[list[tuple[Sequence[str], str]], list[Array]]:
    """Return the contexts and replies of a dataset, and their mean ratings by quality."""
    dataset = registry.load(name, home)
    pairs = [(spoken(turn.text for turn in item.context) or ("",), item.response.text if item.response else "")
             for item in dataset.items]
    return pairs, [rated.means for rated in judged(dataset, dataset.card.qualities)]


def of_corpus(name: str, home: Path, count: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yield contexts of a corpus with the replies that are made without a model."""
    dialogues = corpora.load(name, home).dialogues
    negatives = {row.turns: row.hard for row in labelled_contexts(dialogues) if row.hard}
    found = [(number, before[-TURNS:], reply) for number, before, reply in exchanges(dialogues)
             if len(" ".join(before[-TURNS:]).split()) <= WORDS and 2 < len(reply.split()) <= 50]
    chosen = [found[index] for index in rng.permutation(len(found))[:count]]
    near, _ = Index([reply for _, _, reply in found]).search([" ".join(row[1][-2:]) for row in chosen], 10)
    for (number, before, reply), hits in zip(chosen, near, strict=True):
        other = found[int(rng.integers(len(found)))][2]
        similar = [found[hit][2] for hit in hits if hit >= 0 and found[hit][0] != number] or [other]
        hard = negatives.get(tuple(before), similar)
        same = [turn.text for turn in dialogues[number].utterances if turn.text not in (*before[-1:], reply)] or [other]
        corrupt = pick((reordered, dropped, repeated, truncated), rng)
        yield {"dialogue": dialogues[number].id, "context": before,
               "replies": (reply, pick(same, rng), other, pick(hard, rng), corrupt(reply, rng))}


def truncated(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    return " ".join(words[: max(1, int(rng.integers(len(words) // 4, 1 + 3 * len(words) // 4)))])


def script(turns: Sequence[str]) -> str:
    lines = [f"{'AB'[index % 2]}: {text}" for index, text in enumerate(reversed(turns[-PROMPT_TURNS:]), 1)]
    return "\n".join([*reversed(lines), "A:"])


class Writer:
    """A language model that generates `each` replies per context."""

    def __init__(self, name: str, folder: str, prompt: Callable[[Sequence[str]], str], each: int) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.name, self.prompt, self.each = name, prompt, each
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token
        self.network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)

    def write(self, rows: Sequence[Row], seed: int) -> list[list[str]]:
        """Return replies to each context, truncated at the end of the turn."""
        import torch

        torch.manual_seed(seed)
        inputs = self.tokenizer([self.prompt(row["context"]) for row in rows], return_tensors="pt", padding=True)
        inputs.pop("token_type_ids", None)
        tokens = self.network.generate(**inputs, **SAMPLED, num_return_sequences=self.each,
                                       pad_token_id=self.tokenizer.pad_token_id)
        texts = self.tokenizer.batch_decode(tokens[:, inputs["input_ids"].shape[1]:], skip_special_tokens=False)
        if self.name == small_lm.DISPLAY_NAME:
            texts = [text.replace(" ", "").replace(small_lm.SPACE, " ") for text in texts]
        replies = [text.split(self.tokenizer.eos_token)[0].strip().split("\n")[0].strip() or "..." for text in texts]
        return [replies[first:first + self.each] for first in range(0, len(replies), self.each)]


if __name__ == "__main__":
    main()
