"""A corpus labelled by the panel, for training a small network that replaces it (docs/judges.md).

    python -m tools.distil label LABELS       appends the scores of the panel's inputs for eight replies per context
    python -m tools.distil join LABELS FILE   writes contexts and replies with their mean ranks

The replies are the true one, intact and corrupted, another from the same dialogue, a random and a similar (or an
adversarial) one from other dialogues, two by SmolLM2 and one by dialogue-lm. LABELS has a line per context: its
dialogue, the generated replies, and the scores of all replies. An interrupted `label` can be resumed. The home needs
the corpora and the models of the panel.
"""

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.corpora import corpora
from harness.api.scores import score
from metrics.composite.panel import Panel
from metrics.models import small_lm
from metrics.models.service import Models
from metrics.training import negatives
from metrics.training.examples import FIVE, answered, exchanges, pick

SOURCES = (*FIVE, "dailydialog_pp", "self_dialogue")
CONTEXTS = 1_400
RANKED = "rated_responses"
"""Key of the ranked replies to a context: [[response, rank from 0 to 1], ...]."""
TURNS, WORDS = 6, 120
"""Maximum utterances and words of a context."""
SAMPLED = {"do_sample": True, "temperature": 0.9, "top_k": 50, "max_new_tokens": 32}
PROMPT_TURNS = 3
"""Number of utterances in the prompt of SmolLM2."""
BATCH = 40
"""Number of contexts that are labelled at a time."""
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("label", "join"))
    parser.add_argument("labels", type=Path)
    parser.add_argument("file", type=Path, nargs="?", default=Path("panel.jsonl.gz"))
    parser.add_argument("--home", type=Path, required=True)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = [row for name in SOURCES for row in of_corpus(name, options.home, CONTEXTS // len(SOURCES), rng)]
    rows = [rows[index] for index in rng.permutation(len(rows))]
    labels = list(map(json.loads, options.labels.open())) if options.labels.exists() else []
    if any(label["dialogue"] != row["dialogue"] for label, row in zip(labels, rows, strict=False)):
        raise SystemExit(f"{options.labels}: its contexts differ from those of the corpora in {options.home}")
    if options.stage == "label":
        label(rows, len(labels), options.labels, options.home)
    else:
        join(rows, labels, options.file)


def label(rows: Sequence[Row], done: int, file: Path, home: Path) -> None:
    """Append the scores of every reply under each input of the panel."""
    members = [row.chosen.requested for row in Panel().made_of()]
    with tempfile.TemporaryDirectory() as folder:
        small_lm.expand(Models(home).checkpoint(small_lm.NAME), Path(folder))
        writers = [Writer(small_lm.DISPLAY_NAME, folder, turns_before, 1),
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


def join(rows: Sequence[Row], labels: Sequence[Row], file: Path) -> None:
    """Write the labelled contexts as a corpus, with each reply's mean rank over the inputs, from 0 to 1."""
    scores = np.array([reply for label in labels for reply in label["scores"]])
    ranks = iter(np.round((rankdata(scores, axis=0).mean(axis=1) - 0.5) / len(scores), 4).tolist())
    with gzip.open(file, "wt") as output:
        for row, label in zip(rows, labels, strict=False):
            output.write(json.dumps({
                "dialogue_id": f"panel-{row['dialogue']}", "split": "train",
                "utterances": [{"speaker": "AB"[turn % 2], "text": text} for turn, text in enumerate(row["context"])],
                RANKED: [[text, next(ranks)] for text in (*row["replies"], *label["written"])],
            }) + "\n")


def of_corpus(name: str, home: Path, count: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yield contexts of a corpus with the replies that are made without a model."""
    dialogues = corpora.load(name, home).dialogues
    judged = {row.turns: row.hard for row in answered(dialogues) if row.hard}
    found = [(number, before[-TURNS:], reply) for number, before, reply in exchanges(dialogues)
             if len(" ".join(before[-TURNS:]).split()) <= WORDS and 2 < len(reply.split()) <= 50]
    chosen = [found[index] for index in rng.permutation(len(found))[:count]]
    near, _ = negatives.Index([reply for _, _, reply in found]).search([" ".join(row[1][-2:]) for row in chosen], 10)
    for (number, before, reply), hits in zip(chosen, near, strict=True):
        other = found[int(rng.integers(len(found)))][2]
        similar = [found[hit][2] for hit in hits if hit >= 0 and found[hit][0] != number] or [other]
        hard = judged.get(tuple(before), similar)
        same = [turn.text for turn in dialogues[number].utterances if turn.text not in (*before[-1:], reply)] or [other]
        corrupt = pick((negatives.reordered, negatives.dropped, negatives.repeated, truncated), rng)
        yield {"dialogue": dialogues[number].id, "context": before,
               "replies": (reply, pick(same, rng), other, pick(hard, rng), corrupt(reply, rng))}


def truncated(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    return " ".join(words[: max(1, int(rng.integers(len(words) // 4, 1 + 3 * len(words) // 4)))])


def script(turns: Sequence[str]) -> str:
    """Return the last turns as a script with speaker labels, ending with the label of the next speaker."""
    lines = [f"{'AB'[index % 2]}: {text}" for index, text in enumerate(reversed(turns[-PROMPT_TURNS:]), 1)]
    return "\n".join([*reversed(lines), "A:"])


def turns_before(turns: Sequence[str]) -> str:
    return small_lm.END.join([*turns, ""])


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
