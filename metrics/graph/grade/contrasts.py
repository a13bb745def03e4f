"""True replies, each with a false one that is similar in words, similar in meaning, or random."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from metrics.errors import MetricError
from metrics.models.readings import Pair
from metrics.training import negatives
from metrics.training.examples import MAX_CONTEXT, exchanges
from metrics.training.recipe import Dialogues, TrainingData

Kind: TypeAlias = Literal["both", "lexical", "embedding", "random"]


def true_and_false(data: TrainingData, dialogues: Dialogues, kind: Kind, limit: int | None) -> list[tuple[Pair, Pair]]:
    """Return pairs with the true and with a false reply, for up to `limit` random exchanges.

    With `both`, half of the false replies are similar in words and half in meaning; with the recipe's `each`, every
    exchange gets one of each.
    """
    settings, rng = data.recipe.examples, data.rng
    chosen = [exchange for exchange in exchanges(dialogues) if len(exchange[1]) >= settings["turns"]]
    chosen = [chosen[row] for row in (range(len(chosen)) if limit is None else rng.permutation(len(chosen))[:limit])]
    groups = np.array([number for number, *_ in chosen], dtype=np.int64)
    if len(np.unique(groups)) < 2:
        raise MetricError("the training or held-out dialogues have fewer than two with replies to at least "
                          f"{settings['turns']} utterances; use larger corpora")
    contexts, replies = [tuple(before[-MAX_CONTEXT:]) for _, before, _ in chosen], [text for *_, text in chosen]
    kinds = ("lexical", "embedding") if kind == "both" else (kind,)
    rows = np.arange(len(replies))
    parts = [rows] * len(kinds) if settings["each"] else np.array_split(rows, len(kinds))
    ranks = {int(count): rank for count, rank in settings["ranks"].items()}
    false_rows: list[Any] = []
    for method, part in zip(kinds, parts, strict=True):
        if method == "lexical":
            false_rows.append(negatives.lexical_others(part, negatives.Index(replies), groups, rng, ranks=ranks))
        elif method == "embedding":
            vectors = data.vectors(replies)
            false_rows.append(negatives.nearest_others(part, vectors[:, : vectors.shape[1] // 2], groups, rng))
        else:
            false_rows.append(negatives.random_others(part, groups, rng))
    return [(Pair(contexts[row], replies[row]), Pair(contexts[row], replies[other]))
            for row, other in zip(np.concatenate(parts).tolist(), np.concatenate(false_rows).tolist(), strict=True)]
