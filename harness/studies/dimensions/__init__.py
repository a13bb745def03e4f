"""How the qualities that people rate hang together, on every dataset with several: FineD-Eval's choice of its own.

Zhang et al. (2022) correlate the eleven qualities of FED's dialogues with each other, group them (Table 1) and select
three that a metric should have. The same is done here with every dataset of three qualities or more; no metric takes
part. Beside the numbers on fed-dial stand those in print. `relations` says how each step is done.
"""

from __future__ import annotations

from harness.errors import BadConfig
from harness.studies import Findings, StudyRequest
from harness.studies.dimensions.page import findings
from harness.studies.dimensions.relations import FEWEST, relate

TITLE = "How the qualities that people rate hang together"
FLAGS = ("dataset", "quality", "split")


def study(request: StudyRequest) -> Findings:
    """Relate the qualities of each dataset to each other."""
    relations = [relate(dataset, request.selection.qualities, request.seed, request.draws)
                 for dataset in request.datasets()]
    known = [relation for relation in relations if relation is not None]
    if not known:
        raise BadConfig(f"no requested dataset has {FEWEST} qualities or more whose ratings differ; "
                        "fed-dial has eleven")
    return findings(TITLE, known, request.seed, request.draws)
