"""The script that tries the checks of the contract on a metric, one for each question that it reads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.contract import forgetful, tried
from harness.contract.process import ELSEWHERE
from harness.contract.trial import Broken, Finding, Trial
from metrics import registry
from metrics.errors import CannotScore
from metrics.external.isolation.serving import serve
from metrics.external.isolation.wire import columns_record
from metrics.models.service import Models


def main() -> None:
    """Answer until the input is closed."""
    metric, home = sys.argv[1:]
    trials: list[Trial] = []

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        if not trials:
            trials.append(Trial(registry.choose(metric).metric, forgetful(Models(Path(home)))))
        if question["ask"] == "load":
            return {}
        finding = first(trials[0]) if question["ask"] == ELSEWHERE else tried(question["ask"], trials[0])
        return {"state": finding.state, "text": finding.text} if isinstance(finding, Finding) else finding

    serve(answer)


def first(trial: Trial) -> Finding | dict[str, Any]:
    """Score the first dataset of the sample, to be compared with another process."""
    try:
        dataset, scores = trial.first
    except (Broken, CannotScore) as error:
        return Finding(ELSEWHERE, "note", f"not tried: {error}")
    return {"items": [item.id for item in dataset.items], "columns": columns_record(scores)}


if __name__ == "__main__":
    main()
