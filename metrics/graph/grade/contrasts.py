"""Training pairs of GRADE: a context with its reply, and the same context with a false reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from metrics.errors import MetricError
from metrics.models.tokens import Pair
from metrics.training import examples
from metrics.training.examples import MAX_CONTEXT
from metrics.training.recipe import Dialogues, TrainingData

Kind: TypeAlias = Literal["both", "lexical", "embedding", "random"]


def true_and_false(data: TrainingData, dialogues: Dialogues, kind: Kind, limit: int | None) -> list[tuple[Pair, Pair]]:
    """Return each exchange with its true and with a false reply, for up to `limit` random exchanges.

    With `both`, half of the false replies are similar in words and half in meaning; with the recipe's `each`, every
    exchange gets one of each.
    """
    settings, rng = data.recipe.examples, data.rng
    pool = [exchange for exchange in examples.exchanges(dialogues) if len(exchange[1]) >= settings["turns"]]
    pool = [pool[row] for row in (range(len(pool)) if limit is None else rng.permutation(len(pool))[:limit])]
    groups = np.array([dialogue for dialogue, *_ in pool], dtype=np.int64)
    if len(np.unique(groups)) < 2:
        raise MetricError("fewer than two of the training or held-out dialogues have a reply to at least "
                          f"{settings['turns']} utterances; use larger corpora")
    contexts, replies = [tuple(context[-MAX_CONTEXT:]) for _, context, _ in pool], [text for *_, text in pool]
    kinds = ("lexical", "embedding") if kind == "both" else (kind,)
    rows = np.arange(len(replies))
    subsets = [rows] * len(kinds) if settings["each"] else np.array_split(rows, len(kinds))
    ranks = {int(count): rank for count, rank in settings["ranks"].items()}
    sampling: dict[str, Callable[[Any], Any]] = {
        "lexical": lambda subset: examples.lexical_others(subset, examples.Index(replies), groups, rng, ranks),
        "embedding": lambda subset: examples.nearest_others(subset, data.means(replies), groups, rng),
        "random": lambda subset: examples.random_others(subset, groups, rng)}
    false_rows = np.concatenate([sampling[method](subset) for method, subset in zip(kinds, subsets, strict=True)])
    return [(Pair(contexts[row], replies[row]), Pair(contexts[row], replies[other]))
            for row, other in zip(np.concatenate(subsets).tolist(), false_rows.tolist(), strict=True)]
