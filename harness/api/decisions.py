"""`estimate` and `power`: `harness estimate` and `harness power` from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.formats import records
from harness.api.results import Results, check, frame
from harness.api.runs import as_written, requested_settings
from harness.commands.report import targets
from harness.errors import BadConfig
from harness.results.pooled import Pool
from harness.results.power import Between, Power, checked_targets
from harness.results.power import power as power_of
from harness.run.prepare import prepare
from harness.run.system_means import By, SystemMean, system_means

if TYPE_CHECKING:
    import pandas


def estimate(dataset: Any, metric: str, *, column: str = "", by: By = "system", out: Path | str = "results",
             home: Path | str | None = None, **flags: Any) -> pandas.DataFrame:
    """Return the mean rating of each system on each quality, with its 95 % interval, from ratings and scores.

    The dataset is a name, the path of a table, or a table in memory; items without a rating are used too. A row is a
    `SystemMean`: the estimates from both and from ratings alone, and the systems with a significantly lower mean.

    >>> import pandas
    >>> replies = pandas.DataFrame([
    ...     {"prompt": f"Question {number}?", "answer": "Yes. " * (1 + number % 5), "system": "AB"[number % 2],
    ...      "fun": 1 + number % 5 if number < 20 else None} for number in range(60)])
    >>> estimate({"replies": replies}, "length", out="replies")[["system", "items", "rated", "mean"]].round(2)
      system  items  rated  mean
    0      A     30     10   3.0
    1      B     30     10   3.0
    """
    with records.refused_as(BadConfig):
        records.value_of(By, by, "by")
    requested = requested_settings(metric, dataset, out, home, flags)
    return frame(system_means(*prepare(requested), column, by), SystemMean)


def power(results: Results, dataset: str, quality: str = "", *, between: Between = "columns", pair: Sequence[str] = (),
          contexts: Sequence[int] = (), raters: Sequence[float] = ()) -> pandas.DataFrame:
    """Return the smallest difference detectable on a dataset of the results, and the contexts that a pair needs.

    A row is a `Power`: one per quality, number of raters and number of contexts, starting with the data's own. `pair`
    names two columns or systems, by default the leader and the runner-up.

    >>> from harness.api import load
    >>> power(load("results"), "fed-turn", "Interesting", contexts=[50, 100])["contexts"].unique().tolist()
    [9, 50, 100]
    """
    with records.refused_as(BadConfig):
        records.value_of(Between, between, "between")
        pair, contexts, raters = (
            records.value_of(kind, as_written(value, listed=True), name) for name, kind, value in (
                ("pair", tuple[str, ...], pair), ("contexts", tuple[int, ...], contexts),
                ("raters", tuple[float, ...], raters)))
    check("results", results, Results)
    check("dataset", dataset, str)
    check("quality", quality, str)
    pool, requested = Pool.of(results.rows), targets(results.rows, [dataset], [quality] if quality else [], results.out)
    return frame([row for target in checked_targets(pool, requested, pair, contexts, raters) for row in power_of(
        results.rows, target, between, pair, contexts, raters, pool)], Power)
