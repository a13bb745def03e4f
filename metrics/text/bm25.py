"""BM25 over many short texts, and lexical negatives with it (GRADE, Huang et al. 2020).

    score(q, d) = sum over t in q of  idf(t) · tf(t, d) · (k + 1) / (tf(t, d) + k · (1 − b + b · |d| / mean |d|))
    idf(t) = ln(1 + (N − n(t) + 0.5) / (n(t) + 0.5))

with k = 1.2 and b = 0.75, as Lucene, which the paper used; words are lower-cased, stop words left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metrics.training.negatives import BLOCK, STOP_WORDS, Rows, random_others

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


@dataclass
class Index:
    """Texts, ready to be searched."""

    texts: Sequence[str]
    k: float = 1.2
    b: float = 0.75
    _terms: dict[str, int] = field(init=False, repr=False)
    _weights: sparse.csr_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._terms = {}
        counts = self._counts(self.texts, grow=True)
        lengths = counts.sum(axis=1)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        rarity = np.log1p((len(self.texts) - frequency + 0.5) / (frequency + 0.5))
        of = np.repeat(np.arange(len(self.texts)), np.diff(counts.indptr))
        length = self.k * (1 - self.b + self.b * lengths[of] / max(lengths.mean(), 1e-9))
        counts.data = rarity[counts.indices] * counts.data * (self.k + 1) / (counts.data + length)
        self._weights = counts.T.tocsr().astype(np.float32)

    def search(self, queries: Sequence[str], top: int) -> tuple[Rows, npt.NDArray[np.float32]]:
        """The best `top` texts of each query, best first, and their scores; -1 and 0 where fewer share a word."""
        wanted = self._counts(queries)
        top = min(top, len(self.texts))
        rows, scores = np.full((len(queries), top), -1), np.zeros((len(queries), top), dtype=np.float32)
        for number in range(len(queries)):
            row = wanted[[number]] @ self._weights
            least = np.partition(row.data, -top)[-top] if row.nnz > top else 0.0
            best = np.flatnonzero(row.data >= least)  # all that tie for the last place, so that the order decides
            best = best[np.lexsort((row.indices[best], -row.data[best]))][:top]
            rows[number, :len(best)], scores[number, :len(best)] = row.indices[best], row.data[best]
        return rows, scores

    def _counts(self, texts: Sequence[str], grow: bool = False) -> sparse.csr_array:
        terms, columns, ends = self._terms, [], [0]
        for text in texts:
            words = (word for word in WORD.findall(text.casefold()) if word not in STOP_WORDS)
            known = (terms.setdefault(word, len(terms)) if grow else terms.get(word, -1) for word in words)
            columns += [column for column in known if column >= 0]
            ends.append(len(columns))
        made = sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, ends),
                                shape=(len(texts), max(len(terms), 1)))
        made.sum_duplicates()
        return made


def lexical_others(rows: Rows, index: Index, groups: Rows, rng: np.random.Generator, top: int = 10) -> Rows:
    """For each row the middle one of the `top` texts that share most words with it (GRADE, lexical sampling).

    Texts of the same group and those of the very same words do not count. Where nothing shares a word, a random one.
    """
    negatives = random_others(rows, groups, 1, rng)[:, 0]
    same = [" ".join(WORD.findall(text.casefold())) for text in index.texts]
    for start in range(0, len(rows), BLOCK):
        part = rows[start:start + BLOCK]
        hits, _ = index.search([index.texts[row] for row in part], 2 * top)
        for place, (row, near) in enumerate(zip(part.tolist(), hits.tolist(), strict=True), start):
            far = [hit for hit in near if hit >= 0 and groups[hit] != groups[row] and same[hit] != same[row]][:top]
            if far:
                negatives[place] = far[len(far) // 2]
    return negatives
