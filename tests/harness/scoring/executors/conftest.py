"""What tests of executors share."""

from __future__ import annotations

from pathlib import Path

from harness.run.plan import Selection
from harness.scoring.executors.tasks import Setup
from metrics.models.service import Choice


def setup(home: Path, store: Path, *metrics: str) -> Setup:
    """What a worker needs to score metrics on ESL."""
    return Setup(Selection(metrics=metrics, datasets=("esl",)), home, str(store), Choice(device="cpu"))
