"""`estimate` and `power`: `harness estimate` and `harness power` from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.results import frame
from harness.api.runs import requested_settings
from harness.run.prepare import prepare
from harness.run.system_means import By, SystemMean, system_means

if TYPE_CHECKING:
    import pandas


def estimate(dataset: Any, metric: str, *, column: str = "", by: By = "system", out: Path | str = "results",
             home: Path | str | None = None, **flags: Any) -> pandas.DataFrame:
    """Return the mean rating of each system on each quality, with its 95 % interval, from ratings and scores.

    The dataset is a name, the path of a table, or a table in memory; items without a rating are used too. A row is a
    `SystemMean`: the estimate from both, that from ratings alone, and the systems with a significantly lower mean.
    """
    requested = requested_settings(metric, dataset, out, home, flags)
    return frame(system_means(*prepare(requested), column, by), SystemMean)
