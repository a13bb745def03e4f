"""The contract of every metric, checked point by point.

    trial = Trial(metric, models)
    findings(trial)          -> Finding ...      a line each: ok, BROKEN, or a note
    demand(metric)                               for a test: BrokenContract with every broken line

`harness check` tries the checks in a process of their own (process.py), so that a metric may crash or hang.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

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
    """Raise BrokenContract with every failed check."""
    trial = Trial(metric, forgetful(models or Models(home_folder(None))))
    if broken := [f"{finding.check}: {finding.text}" for finding in findings(trial) if finding.state == "BROKEN"]:
        raise BrokenContract(f"{metric.card.name} breaks the contract: " + "; ".join(broken))


def findings(trial: Trial) -> Iterator[Finding]:
    """Run every check; MissingResource if the metric needs something that is missing."""
    for name in CHECKS:
        yield tried(name, trial)


def tried(name: str, trial: Trial) -> Finding:
    """Run a check; MissingResource passes through."""
    try:
        state, text = "ok", CHECKS[name](trial)
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
