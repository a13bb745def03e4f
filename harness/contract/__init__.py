"""The contract of every metric, checked point by point.

    tried(name, Trial(metric, models))  -> Finding      ok, BROKEN, or a note
    demand(metric)                                      for a test: BrokenContract with every broken line

`harness check` tries the checks in a process of their own (process.py), so that a metric may crash or hang.
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
from metrics.models.memory import Memory
from metrics.models.service import Models


class BrokenContract(HarnessError):
    """Raised for a metric that breaks the contract."""


def demand(metric: Metric, models: Models | None = None) -> None:
    """Raise BrokenContract with every failed check, or MissingResource if the metric needs something missing."""
    trial = Trial(metric, forgetful(models or Models(home_folder(None))))
    findings = [tried(name, trial) for name in CHECKS]
    if broken := [f"{finding.check}: {finding.text}" for finding in findings if finding.state == "BROKEN"]:
        raise BrokenContract(f"{metric.card.name} breaks the contract: " + "; ".join(broken))


def tried(name: str, trial: Trial, check: Callable[[Trial], str] | None = None) -> Finding:
    """Run a check, by default the one of this name; MissingResource passes through."""
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
    except BaseException as error:  # SystemExit as well; a metric is foreign code
        state, text = "BROKEN", f"raises {in_one_line(error)}"
    return Finding(name, state, " ".join(text.split()))


def forgetful(models: Models) -> Models:
    """Return the models in single precision and without memory, which would hide how texts are read."""
    choice = dataclasses.replace(models.choice, precision="fp32")
    return Models(models.home, choice, Memory(0))
