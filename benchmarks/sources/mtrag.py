"""MTRAG (Katsis et al., TACL 2025): replies of two models and of people in retrieval-augmented conversations.

Upstream is one JSON object: `tasks` with the conversation, the passages found and the reference, `documents` with the
passages, `evaluations` with a reply and, by measure, votes by rater or the score of an algorithm or judge (`rl_f`,
`rb_llm`, `rb_agg`). The system `reference` is its own reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.formats.official import load_json
from benchmarks.sources import RatedRow, assemble, published, read_each

AUTHORS = ("system", "composite")
"""Raters that are programs."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Join every reply with its task and passages."""
    file = published(path, card)
    content = load_json(file)
    tasks = {task["task_id"]: task for task in content["tasks"]}
    passages = {document["document_id"]: document["text"] for document in content["documents"]}

    def read(record: Any) -> Iterator[RatedRow]:
        task = tasks[record["task_id"]]
        yield RatedRow(
            [Utterance(USER if turn["speaker"] == "user" else SYSTEM, turn["text"]) for turn in task["input"]],
            record["model_response"],
            {quality.name: _votes(record["annotations"][quality.name]) for quality in card.qualities},
            [target["text"] for target in task["targets"]],
            [passages[context["document_id"]] for context in task["contexts"]], record["model_id"],
            {name: float(score["value"]) for name, values in record["annotations"].items()
             for author, score in values.items() if author in AUTHORS})

    return assemble(card, read_each(file, content["evaluations"], read))


def _votes(raters: Mapping[str, Any]) -> dict[Hashable, float]:
    return {rater: float(vote["value"]) for rater, vote in raters.items()}
