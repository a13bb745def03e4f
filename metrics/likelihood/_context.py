"""Mean log-likelihoods of responses with or without their contexts, and their scaling within a dataset.

`separator` puts the model's end-of-text token (`end`, as DialoGPT was trained) or a space (as scripts for GPT-2 do)
between turns. `turns` is `all` for the whole context, or `last` for its last utterance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.dataset import Item, Utterance
from metrics.metric import Column
from metrics.models.causal import Before, LanguageModel
from metrics.text.words import reply

Separator: TypeAlias = Literal["end", "space"]
Turns: TypeAlias = Literal["all", "last"]

LONGEST = 1024
"""Default limit on context tokens; contexts in the challenge's public datasets are shorter."""


def with_separators(turns: Iterable[Utterance], separator_text: str) -> tuple[str, ...]:
    """Return the texts of the turns, all but the last followed by the separator; empty if all are blank."""
    texts = [turn.text.strip() for turn in turns]
    return (*(text + separator_text for text in texts[:-1]), texts[-1]) if any(texts) else ()


def prefixes(item: Item) -> dict[str, str]:
    """Return the prefix of each speaker of an item: `A:` for the first to speak, `B:` for the second, and so on."""
    names = dict.fromkeys(turn.speaker for turn in item.utterances)
    return {name: f"{chr(ord('A') + min(25, order))}:" for order, name in enumerate(names)}


def unconditional(items: Sequence[Item], model: LanguageModel) -> Column:
    """Return the mean log p per token of each response without its context; −∞ without a token."""
    return _means(model, [("", reply(item).strip()) for item in items])


def conditional(items: Sequence[Item], model: LanguageModel, turns: Turns, separator: Separator,
                longest: int = LONGEST) -> Column:
    """Return the mean log p per token of each response after its context; −∞ without a token, NaN without a context."""
    separator_text = model.end if separator == "end" else " "
    contexts = [with_separators(item.context[-1:] if turns == "last" else item.context, separator_text)
                for item in items]
    rows = [row for row, texts in enumerate(contexts) if texts]
    column = np.full(len(items), np.nan)
    pairs = [_pair(contexts[row], separator_text, reply(items[row]).strip()) for row in rows]
    column[rows] = _means(model, pairs, longest)
    return column


def scaled(means: Column) -> Column:
    """Return 1 − max(low, m) / low, with `low` the 5th percentile of the finite means: 0 to 1.

    −∞ becomes 0 and NaN stays. If `low` is 0, every finite mean becomes 1.
    """
    finite = means[np.isfinite(means)]
    low = np.percentile(finite, 5) if finite.size else np.nan
    if low == 0:
        return np.where(np.isnan(means), np.nan, np.where(np.isfinite(means), 1.0, 0.0))
    return np.asarray(1 - np.maximum(means, low) / low)


def _means(model: LanguageModel, pairs: Sequence[tuple[Before, str]], longest: int = LONGEST) -> Column:
    by_token = model.log_likelihoods(pairs, longest)
    return np.array([row.mean(dtype=np.float64) if row.size else -np.inf for row in by_token], dtype=np.float64)


def _pair(context: tuple[str, ...], separator_text: str, response: str) -> tuple[Before, str]:
    """Put a separating space at the start of the response, as tokenizers do, but an end token after the context."""
    if separator_text == " ":
        return context, response and separator_text + response
    return (*context[:-1], context[-1] + separator_text), response
