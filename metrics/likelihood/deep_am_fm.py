"""Deep AM-FM (Zhang et al., 2020) without references, the baseline of the organisers of DSTC10 Track 5.

Adequacy (AM) is the cosine of the response and the last utterance before it. Fluency (FM) is the coherence of Pang et
al. (2020): the response's mean log-likelihood after that utterance, scaled to 0..1 by the dataset's 5th percentile.

Departures besides those in the card: the baseline replaces an empty response by "no response"; here AM and FM are 0.
It also scales AM, which is unbounded where the 5th percentile is near 0; here the column `am` has the plain cosines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.likelihood._context import Separator, Turns, conditional, scaled
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.similarity import cosines
from metrics.text.words import reply


@dataclass(frozen=True, slots=True)
class DeepAmFm:
    """½ · max(0, AM) + ½ · FM,  AM = cos(S(r), S(u)),  FM = 1 − max(low, m) / low,  m = mean log p(r | u).

    r is the response, u the utterance before it, S a text's vector, low the 5th percentile of m within the dataset.
    """

    card: ClassVar[MetricCard] = MetricCard(
        name="deep-am-fm", title="Deep AM-FM", columns=("deep-am-fm", "am", "fm"), family="likelihood",
        needs=("context",), models=("encoder", "lm"), scope="dataset", paper="https://arxiv.org/abs/2111.02110",
        notes="The organisers' baseline: similarity with the last utterance, and likelihood after it.",
        system="same method, smaller model",
        departures=(
            ("Unlike the organisers' BERT and GPT-2, encoder and language model are not adapted to dialogue; "
             "a text's vector is the mean over its tokens."),
            "AM is not scaled by its 5th percentile; a negative cosine counts as 0.",
        ),
    )
    encoder: str = ""
    lm: str = ""
    turns: Turns = "last"
    separator: Separator = "space"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return AM from −1 to 1, FM and their mean from 0 to 1; NaN without a context."""
        fm = scaled(conditional(items, models.lm(self.lm), self.turns, self.separator))
        encoder = models.encoder(self.encoder)
        last_turns = ["".join(turn.text.strip() for turn in item.context[-1:]) for item in items]
        similarities = cosines(encoder.sentences([reply(item) for item in items]), encoder.sentences(last_turns))
        am = np.where([bool(text) for text in last_turns], similarities, np.nan)
        return {"deep-am-fm": (np.maximum(am, 0) + fm) / 2, "am": am, "fm": fm}

    def depends(self, models: Models) -> Mapping[str, str]:
        """Mark scores after contexts of several turns, which an earlier version truncated differently."""
        return {"cut": "turns"} if self.turns == "all" else {}
