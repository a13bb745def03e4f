"""Training examples: contexts with good and false responses, and the ways to make false ones.

Words are separated by spaces. Papers: MME-CRS (Zhang et al. 2022), GRADE (Huang et al. 2020), RUBER (Tao et al. 2018).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.tokens import Pair, non_blank
from metrics.text.keywords import STOP_WORDS
from metrics.text.similarity import unit
from metrics.text.words import terms

Rows = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.floating]
Value = TypeVar("Value")
MAX_CONTEXT = 20
"""Maximum number of utterances in a context."""
GOOD, ADVERSARIAL, RATED = "positive_responses", "adversarial_negative_responses", "rated_responses"
"""Labels of a dialogue: good responses, false responses that share words with it, and [[text, 1 to 5], ...]."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
K, B = 1.2, 0.75
"""Lucene's parameters of BM25."""
BLOCK_QUERIES = 256
"""Number of queries that share one draw of candidates, so that a block is one matrix product."""


class Contrast(NamedTuple):
    """A right and a wrong input for the network's `output`; a `wrong` of None takes another example's response."""

    right: Any
    wrong: Any = None
    output: int = 0


@dataclass(frozen=True, slots=True)
class LabelledContext:
    """A context with its good, hard false and rated responses."""

    turns: tuple[str, ...]
    good: tuple[str, ...]
    hard: tuple[str, ...] = ()
    rated: tuple[tuple[str, float], ...] = ()


def exchanges(dialogues: Iterable[Dialogue]) -> Iterator[tuple[int, list[str], str]]:
    """Yield the dialogue's index, the context and the response for every utterance but the first; skip blank texts."""
    for index, dialogue in enumerate(dialogues):
        texts = list(non_blank(turn.text for turn in dialogue.utterances))
        yield from ((index, texts[:row], texts[row]) for row in range(1, len(texts)))


def response_contrasts(dialogues: Iterable[Dialogue], turns: int = MAX_CONTEXT) -> list[Contrast]:
    """Return every utterance as a response to up to `turns` utterances before it."""
    return [Contrast(Pair(tuple(context[-turns:]), text)) for _, context, text in exchanges(dialogues)]


def labelled_contexts(dialogues: Iterable[Dialogue], turns: int = MAX_CONTEXT) -> list[LabelledContext]:
    """Return the dialogues that are labelled with good responses to their last utterance."""
    rows = []
    for dialogue in dialogues:
        context = non_blank(turn.text for turn in dialogue.utterances)
        good, hard = (tuple(dict.fromkeys(non_blank(dialogue.labels.get(label, ())))) for label in (GOOD, ADVERSARIAL))
        if good and context:
            rated = tuple((text, float(rating)) for text, rating in dialogue.labels.get(RATED, ()))
            rows.append(LabelledContext(context[-turns:], good, hard, rated))
    return rows


def with_alternatives(dialogues: Iterable[Dialogue], turns: int = MAX_CONTEXT) -> list[LabelledContext]:
    """Return the dialogues with at least two good responses; raise MetricError if there are fewer than two of them."""
    rows = [row for row in labelled_contexts(dialogues, turns) if len(row.good) > 1]
    if len(rows) < 2:
        raise MetricError("the corpora have fewer than two contexts with several good responses (a list of strings "
                          f"named {GOOD}); add dailydialog_pp")
    return rows


def intact_or_corrupted(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator,
                        share: float) -> list[tuple[str, float]]:
    """Return up to `count` replies with label 1, a `share` without stop words, and corrupted copies with 0."""
    texts = sample_replies(dialogues, count, rng)
    corrupted = [pick((reordered, dropped, repeated), rng)(text, rng) for text in texts]
    intact = [without_stop_words(text, rng) if rng.random() < share else text for text in texts]
    return [*((text, 1.0) for text in intact),
            *((changed, 0.0) for changed, text in zip(corrupted, texts, strict=True) if changed != text)]


def sample_replies(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator) -> list[str]:
    """Return up to `count` random, distinct replies of at least three words."""
    replies = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.utterances[1:]
                                 if len(turn.text.split()) > 2))
    return [replies[row] for row in rng.permutation(len(replies))[:count]]


def pick(values: Sequence[Value], rng: np.random.Generator) -> Value:
    return values[int(rng.integers(len(values)))]


def reordered(text: str, rng: np.random.Generator) -> str:
    """Return the words in a different order, if any two differ (MME-CRS, fluency)."""
    return " ".join(shuffled(text.split(), rng))


def dropped(text: str, rng: np.random.Generator) -> str:
    """Drop 15 to 50 % of the words, but never all (MME-CRS, fluency)."""
    words = text.split()
    if len(words) < 2:
        return text
    count = min(len(words) - 1, max(1, round(rng.uniform(0.15, 0.5) * len(words))))
    removed = set(rng.choice(len(words), count, replace=False).tolist())
    return " ".join(word for index, word in enumerate(words) if index not in removed)


def repeated(text: str, rng: np.random.Generator) -> str:
    """Repeat one to three spans of one to three words (MME-CRS, fluency)."""
    words = text.split()
    for _ in range(int(rng.integers(1, 4)) if words else 0):
        size = int(rng.integers(1, min(3, len(words)) + 1))
        start = int(rng.integers(len(words) - size + 1))
        words[start:start] = words[start:start + size]
    return " ".join(words)


def without_stop_words(text: str, rng: np.random.Generator) -> str:
    """Drop all stop words, unless no other word would be left (for fluency, MME-CRS drops each with p = 0.5)."""
    words = text.split()
    rng.random(len(words))  # keeps the random stream of the shipped weights, which had one draw per word
    remaining = [word for word in words if word.casefold().strip(".,!?") not in STOP_WORDS]
    return " ".join(remaining) if any(map(str.isalnum, "".join(remaining))) else text


def shuffled(texts: list[str], rng: np.random.Generator) -> list[str]:
    """Return the strings in a different order, if any two differ."""
    order = [texts[index] for index in rng.permutation(len(texts))]
    return order[1:] + order[:1] if order == texts else order


def random_others(rows: Rows, groups: Rows, rng: np.random.Generator) -> Rows:
    """Return for each row a random row of another group (RUBER); `groups` holds the dialogue of every row."""
    if len(groups) == 0 or (groups == groups[0]).all():
        raise ValueError("random negatives need replies from at least two dialogues")
    drawn = rng.integers(len(groups), size=len(rows))
    while (same := groups[drawn] == groups[rows]).any():
        drawn[same] = rng.integers(len(groups), size=int(same.sum()))
    return drawn


def nearest_others(rows: Rows, vectors: Matrix, groups: Rows, rng: np.random.Generator,
                   drawn: int = 1000, best: int = 5) -> Rows:
    """Return for each row one of the `best` nearest of `drawn` random rows, by cosine (GRADE, embedding sampling).

    Rows of the same group or with the same vector are excluded. BLOCK_QUERIES rows share one draw.
    """
    chosen_rows = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), BLOCK_QUERIES):
        block = rows[start:start + BLOCK_QUERIES]
        pool = rng.choice(len(vectors), min(drawn, len(vectors)), replace=False)
        cosine = _unit(vectors[block]) @ _unit(vectors[pool]).T
        cosine[(groups[block][:, None] == groups[pool]) | (cosine > 1 - 1e-5)] = -np.inf
        top = np.argpartition(-cosine, min(best, len(pool)) - 1, axis=1)[:, :best]
        chosen = top[np.arange(len(block)), rng.integers(top.shape[1], size=len(block))]
        excluded = np.isneginf(np.take_along_axis(cosine, chosen[:, None], axis=1)[:, 0])
        chosen_rows[start:start + BLOCK_QUERIES] = pool[chosen]
        if excluded.any():
            chosen_rows[start:start + BLOCK_QUERIES][excluded] = random_others(block[excluded], groups, rng)
    return chosen_rows


def middle(true: Matrix, candidates: Matrix) -> Rows:
    """Return the index of the candidate (n, k, width) with the median cosine to the true reply (n, width)."""
    cosine = np.einsum("nd,nkd->nk", _unit(true), _unit(candidates))
    return np.argsort(-cosine, axis=1, kind="stable")[:, candidates.shape[1] // 2]


def _unit(vectors: Matrix) -> npt.NDArray[np.float32]:
    return unit(np.asarray(vectors, dtype=np.float32))


class Index:
    """A BM25 index of texts, with Lucene's formula, as in GRADE; words are lower-cased and stop words dropped.

    score(q, d) = Σ over t in q of idf(t) · tf(t, d) · (K + 1) / (tf(t, d) + K · (1 − B + B · |d| / mean |d|)), where
    idf(t) = ln(1 + (N − n(t) + 0.5) / (n(t) + 0.5)).
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._terms: dict[str, int] = {}
        counts = self._counts(texts, grow=True)
        lengths = counts.sum(axis=1)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        rarity = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))
        rows = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
        length = K * (1 - B + B * lengths[rows] / max(lengths.mean(), 1e-9))
        counts.data = rarity[counts.indices] * counts.data * (K + 1) / (counts.data + length)
        self._weights = counts.T.tocsr().astype(np.float32)

    def search(self, queries: Sequence[str], top: int) -> tuple[Rows, npt.NDArray[np.float32]]:
        """Return the `top` best texts for each query and their scores, padded with -1 and 0 if fewer share a word."""
        query_counts = self._counts(queries)
        top = min(top, len(self.texts))
        rows, scores = np.full((len(queries), top), -1), np.zeros((len(queries), top), dtype=np.float32)
        for query in range(len(queries)):
            row = query_counts[[query]] @ self._weights
            lowest = np.partition(row.data, -top)[-top] if row.nnz > top else 0.0
            best = np.flatnonzero(row.data >= lowest)  # with all ties for the last place; the lower index wins
            best = best[np.lexsort((row.indices[best], -row.data[best]))][:top]
            rows[query, :len(best)], scores[query, :len(best)] = row.indices[best], row.data[best]
        return rows, scores

    def _counts(self, texts: Sequence[str], grow: bool = False) -> Any:
        import scipy

        term_ids, columns, ends = self._terms, [], [0]
        for text in texts:
            words = [word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS]
            columns += [term_ids.setdefault(term, len(term_ids)) for word in words
                        for term in ([word] if word.isascii() else terms(word)) if grow or term in term_ids]
            ends.append(len(columns))
        counts = scipy.sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, ends),
                                        shape=(len(texts), max(len(term_ids), 1)))
        counts.sum_duplicates()
        return counts


def lexical_others(rows: Rows, index: Index, groups: Rows, rng: np.random.Generator, ranks: Mapping[int, int]) -> Rows:
    """Return for each row the middle one of its ten best BM25 matches (GRADE, lexical sampling).

    If not empty, `ranks` overrides the middle: it maps n to the rank chosen if there are more than n matches; with
    fewer, the first match is chosen. Texts of the same group or with the same words are excluded. A row without matches
    gets a random text.
    """
    top = max(ranks) + 1 if ranks else 10
    negatives = random_others(rows, groups, rng)
    normalised = [" ".join(_WORD.findall(text.casefold())) for text in index.texts]
    for start in range(0, len(rows), BLOCK_QUERIES):
        hits, _ = index.search([index.texts[row] for row in rows[start:start + BLOCK_QUERIES]], 2 * top)
        for query, query_hits in enumerate(hits.tolist(), start):
            row = rows[query]
            matches = [hit for hit in query_hits
                       if hit >= 0 and groups[hit] != groups[row] and normalised[hit] != normalised[row]][:top]
            if matches:
                rank = max((rank for count, rank in ranks.items() if len(matches) > count), default=1) - 1
                negatives[query] = matches[rank if ranks else len(matches) // 2]
    return negatives
