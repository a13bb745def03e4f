"""DSTC7 Task 2 (Galley et al. 2019): replies on Reddit, grounded in a web page, three raters each.

The upstream release has ratings and replies without the conversations, so what is taken is the organisers' file.
"""

from __future__ import annotations

from benchmarks.dataset import DatasetCard, Quality
from benchmarks.sources import MIRROR, official

CARDS = (
    DatasetCard(
        name="dstc7", title="Reddit-DSTC7", split="dev", level="turn", size=9900,
        qualities=(Quality("relevance", 1, 5), Quality("informativeness", 1, 5), Quality("overall", 1, 5)),
        sources=(official(), MIRROR),
        licence="O-UDA-1.0 (ratings and replies)",
        citation="Galley, Brockett, Gao, Gao and Dolan (2019). Grounded Response Generation Task at DSTC7. "
                 "AAAI DSTC7 Workshop.",
        homepage="https://github.com/mgalley/DSTC7-End-to-End-Conversation-Modeling",
        notes="9900 rows in the organisers' table and the MME-CRS paper, 9990 in the organisers' paper; "
              "three qualities in the file, one in the table.",
    ),
)
