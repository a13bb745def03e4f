"""The contract of every metric, checked point by point.

    run_check(name, Trial(metric, models))  returns a Finding: ok, BROKEN or note
    demand(metric)                          for tests: raises BrokenContract with every failed check

`harness check` runs the checks in a separate process (process.py), which a metric may crash or hang.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from harness.contract.checks import CHECKS
from harness.contract.trial import Broken, Finding, Note, Trial
from harness.errors import HarnessError
from harness.run.settings import home_folder
from metrics.errors import CannotScore, MetricError, MissingResource, in_one_line
from metrics.metric import Metric
from metrics.models.memory import ArrayCache
from metrics.models.service import Models


class BrokenContract(HarnessError):
    """Raised for a metric that breaks the contract."""


def demand(metric: Metric, models: Models | None = None) -> None:
    """Raise BrokenContract with every failed check, or MissingResource if the metric needs something missing."""
    trial = Trial(metric, uncached(models or Models(home_folder(None))))
    findings = [run_check(name, trial) for name in CHECKS]
    if broken := [f"{finding.check}: {finding.text}" for finding in findings if finding.state == "BROKEN"]:
        raise BrokenContract(f"{metric.card.name} breaks the contract: " + "; ".join(broken))


def run_check(name: str, trial: Trial, check: Callable[[Trial], str] | None = None) -> Finding:
    """Run a check, by default the check of this name; MissingResource passes through."""
    try:
        state, text = "ok", (check or CHECKS[name])(trial)
    except (MissingResource, KeyboardInterrupt):
        raise
    except Note as note:
        state, text = "note", str(note)
    except CannotScore as error:
        state, text = "note", f"not tried: {error}"
    except (Broken, MetricError) as error:
        state, text = "BROKEN", str(error)
    except BaseException as error:  # third-party code can raise anything
        state, text = "BROKEN", f"raises {in_one_line(error)}"
    return Finding(name, state, " ".join(text.split()))


def uncached(models: Models) -> Models:
    """Return the models in single precision without a cache, which would hide effects of batches and order."""
    choice = dataclasses.replace(models.choice, precision="fp32")
    return Models(models.home, choice, ArrayCache(0))
