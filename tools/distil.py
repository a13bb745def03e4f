"""Label replies by the panel, and measure how much ridge regressions learn from the labels (docs/judges.md).

    python -m tools.distil label LABELS --home H                 appends the scores of the panel's inputs for eight
                                                                 replies per context
    python -m tools.distil fit LABELS --home H --datasets D      learns the scores from vectors of an encoder, and
                                                                 compares the predictions with people
    python -m tools.distil corpus LABELS --home H                writes the judge's answers into the home, as the
                                                                 corpus of the metric `distilled`

The replies are the true one, intact and corrupted, another from the same dialogue, a random and a similar (or an
adversarial) one from other dialogues, two by SmolLM2 and one by dialogue-lm. LABELS has a line per context: its
dialogue, the generated replies, and the scores of all replies. An interrupted `label` can be resumed. Home H has the
corpora and the models of the panel, but no datasets, since dialogues that share contexts with them are left out; home
D has the datasets up to 2021.
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
from metrics.models.service import Models
from metrics.models.tokens import non_blank
from metrics.training.examples import Index, dropped, exchanges, labelled_contexts, pick, reordered, repeated

SOURCES = ("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia", "dailydialog_pp",
           "self_dialogue")
CONTEXTS = 1_400
TURNS, WORDS = 6, 120  # maximum utterances and words of a context
SAMPLED = {"do_sample": True, "temperature": 0.9, "top_k": 50, "max_new_tokens": 32}
PROMPT_TURNS = 3  # number of utterances in the prompt of SmolLM2
BATCH = 40  # number of contexts that are labelled at a time
RANDOM_POSITION = 2  # position of the random reply, which is too easy to learn from
PENALTY = 30.0  # penalty of the ridge regression
JUDGE_POSITION = 1  # position of the judge among the panel's inputs
NUMBER_COUNT = 5  # number of inputs that are not vectors
SIZES, DRAWS, FOLD = (125, 250, 500, 1_000, CONTEXTS), 3, 8
"""Numbers of contexts to learn from, draws of each number; one context in FOLD is held out."""
Row = dict[str, Any]
Array = npt.NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("label", "fit", "corpus"))
    parser.add_argument("labels", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--datasets", type=Path)
    parser.add_argument("--encoder", default="", help="encoder whose vectors `fit` uses (default: embedded)")
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
    """Append the scores of every reply by each input of the panel."""
    members = [row.chosen.requested for row in Panel().made_of()]
    with tempfile.TemporaryDirectory() as folder:
        small_lm.expand(Models(home).checkpoint(small_lm.NAME), Path(folder))
        writers = [Writer(small_lm.DISPLAY_NAME, folder, lambda turns: small_lm.END.join([*turns, ""]), 1),
                   Writer("smollm2", str(home / "models" / "smollm2-135m"), script, 2)]
    for start in range(done, len(rows), BATCH):
        start_time = time.monotonic()
        part = rows[start:start + BATCH]
        written = [[text for texts in replies for text in texts]
                   for replies in zip(*(writer.write(part, start) for writer in writers), strict=True)]
        items = [{"context": row["context"], "response": text} for row, generated in zip(part, written, strict=True)
                 for text in (*row["replies"], *generated)]
        scores = {name: next(iter(score(name, items, home=home, offline=True).values())) for name in members}
        table = iter(np.round(np.array([*scores.values()], dtype=float).T, 4).tolist())
        with file.open("a") as output:
            output.writelines(json.dumps({
                "dialogue": row["dialogue"], "written": generated,
                "scores": [next(table) for _ in (*row["replies"], *generated)],
            }) + "\n" for row, generated in zip(part, written, strict=True))
        print(f"{start + len(part)} of {len(rows)} contexts, {time.monotonic() - start_time:.0f} s", flush=True)


def fit(rows: Sequence[Row], labels: Sequence[Row], datasets: Path, encoder: Encoder) -> None:
    """Print correlations of ridge regressions with the panel's inputs on held-out contexts, and with people."""
    labelled_replies = labelled(rows, labels)
    numbers = np.array([number for number, *_ in labelled_replies])
    inputs = features([(context, text) for _, context, text, _ in labelled_replies], encoder)
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    scale[:-NUMBER_COUNT] *= np.sqrt(len(scale) - NUMBER_COUNT)  # all vectors weigh as much as a number
    inputs = (inputs - centre) / scale
    targets = norm.ppf((rankdata([scores for *_, scores in labelled_replies], axis=0) - 0.5) / len(labelled_replies))
    rated = {name: rated_items(name, datasets) for name in registry.names("dev")
             if registry.card(name).level == "turn" and registry.load(name, datasets).origin != "sample"}
    rated_features = {name: (features(pairs, encoder) - centre) / scale for name, (pairs, _) in rated.items()}
    print("replies, draw: correlations of predictions with DEB, judge, PMI and cosine on held-out contexts; "
          "of their mean, and of the predicted judge, with people")
    for size in SIZES:
        for draw in range(DRAWS if size < len(labels) else 1):
            chosen = np.isin(numbers, np.random.default_rng(draw).permutation(len(labels))[:size])
            held_out, weights = numbers % FOLD == 0, ridge(inputs[chosen], targets[chosen])
            held_out_weights = ridge(inputs[chosen & ~held_out], targets[chosen & ~held_out])
            held_out_r = [spearmanr(inputs[held_out] @ held_out_weights[:, member], targets[held_out, member])[0]
                          for member in range(4)]
            people = [np.mean([np.nanmean([where_known(ratings, summarise(rated_features[name] @ weights)[None])
                                           for ratings in qualities]) for name, (_, qualities) in rated.items()])
                      for summarise in (lambda table: table.mean(axis=1), lambda table: table[:, JUDGE_POSITION])]
            print(f"{chosen.sum()}, {draw}:", *(f"{value:.2f}" for value in held_out_r), ";",
                  *(f"{value:.3f}" for value in people), flush=True)
        if size >= len(labels):
            break


def corpus(rows: Sequence[Row], labels: Sequence[Row], home: Path) -> None:
    """Write a dialogue per context, with the rank of the judge's answer to each reply, scaled to 1 to 5."""
    labelled_replies = labelled(rows, labels)
    ranks = (rankdata([scores[JUDGE_POSITION] for *_, scores in labelled_replies]) - 0.5) / len(labelled_replies)
    rated: dict[int, list[tuple[str, float]]] = {}
    for (number, _, text, _), rank in zip(labelled_replies, ranks, strict=True):
        rated.setdefault(number, []).append((text, round(1 + 4 * float(rank), 4)))
    files.write(files.corpus_path("panel_answers", home), ({
        "dialogue_id": rows[number]["dialogue"], "split": "train", "positive_responses": rows[number]["replies"][:1],
        "utterances": [{"speaker": "AB"[turn % 2], "text": text} for turn, text in enumerate(rows[number]["context"])],
        "rated_responses": replies} for number, replies in rated.items()))


def labelled(rows: Sequence[Row], labels: Sequence[Row]) -> list[tuple[int, Sequence[str], str, list[float]]]:
    """Return context number, context, reply and scores of each labelled reply, without random and undecoded ones."""
    return [(number, row["context"], text, scores)
            for number, (row, label) in enumerate(zip(rows, labels, strict=False))
            for position, (text, scores) in enumerate(zip((*row["replies"], *label["written"]), label["scores"],
                                                       strict=True))
            if position != RANDOM_POSITION and not text.startswith(small_lm.SPACE)]


def features(pairs: Sequence[tuple[Sequence[str], str]], encoder: Encoder) -> Array:
    """Return vectors of the last utterances and the reply with their products, then NUMBER_COUNT numbers.

    The numbers are cosines, the length of the reply and the share of its distinct words.
    """
    texts = list(dict.fromkeys(text for context, reply in pairs
                               for text in (*context[-2:], " ".join(context[-3:]), reply)))
    vectors = dict(zip(texts, encoder.sentences(texts), strict=True))
    table = []
    for context, reply in pairs:
        reply_vector, words = vectors[reply], reply.lower().split()
        last, joined = vectors[context[-1]], vectors[" ".join(context[-3:])]
        previous = vectors[context[-2]] if len(context) > 1 else np.zeros_like(last)
        products = [part * reply_vector for part in (last, previous, joined)]
        table.append(np.concatenate([last, previous, joined, reply_vector, *products, abs(last - reply_vector), [
            *(part.sum() for part in products), np.log1p(len(words)), len({*words}) / max(1, len(words))]]))
    return np.array(table)


def ridge(inputs: Array, targets: Array) -> Array:
    return np.asarray(np.linalg.solve(inputs.T @ inputs + PENALTY * np.eye(inputs.shape[1]), inputs.T @ targets))


def rated_items(name: str, home: Path) -> tuple[list[tuple[Sequence[str], str]], list[Array]]:
    """Return the contexts and replies of a dataset, and their mean ratings by quality."""
    dataset = registry.load(name, home)
    pairs = [(non_blank(turn.text for turn in item.context) or ("",), item.response.text if item.response else "")
             for item in dataset.items]
    return pairs, [rated.means for rated in judged(dataset, dataset.card.qualities)]


def of_corpus(name: str, home: Path, count: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yield contexts of a corpus with the replies that are made without a model."""
    dialogues = corpora.load(name, home).dialogues
    hard_by_context = {row.turns: row.hard for row in labelled_contexts(dialogues) if row.hard}
    candidates = [(number, context[-TURNS:], reply) for number, context, reply in exchanges(dialogues)
                  if len(" ".join(context[-TURNS:]).split()) <= WORDS and 2 < len(reply.split()) <= 50]
    chosen = [candidates[index] for index in rng.permutation(len(candidates))[:count]]
    neighbours, _ = Index([reply for _, _, reply in candidates]).search([" ".join(row[1][-2:]) for row in chosen], 10)
    for (number, context, reply), hits in zip(chosen, neighbours, strict=True):
        other = candidates[int(rng.integers(len(candidates)))][2]
        similar = [candidates[hit][2] for hit in hits if hit >= 0 and candidates[hit][0] != number] or [other]
        hard_replies = hard_by_context.get(tuple(context), similar)
        other_turns = [turn.text for turn in dialogues[number].utterances
                       if turn.text not in (*context[-1:], reply)] or [other]
        corrupt = pick((reordered, dropped, repeated, truncated), rng)
        yield {"dialogue": dialogues[number].id, "context": context,
               "replies": (reply, pick(other_turns, rng), other, pick(hard_replies, rng), corrupt(reply, rng))}


def truncated(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    return " ".join(words[: max(1, int(rng.integers(len(words) // 4, 1 + 3 * len(words) // 4)))])


def script(turns: Sequence[str]) -> str:
    lines = [f"{'AB'[index % 2]}: {text}" for index, text in enumerate(reversed(turns[-PROMPT_TURNS:]), 1)]
    return "\n".join([*reversed(lines), "A:"])


class Writer:
    """A language model that generates `replies_per_context` replies per context."""

    def __init__(self, name: str, folder: str, prompt: Callable[[Sequence[str]], str],
                 replies_per_context: int) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.name, self.prompt, self.each = name, prompt, replies_per_context
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
        return [replies[start:start + self.each] for start in range(0, len(replies), self.each)]


if __name__ == "__main__":
    main()
