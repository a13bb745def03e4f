"""Judges with short waits."""

import pytest

from metrics.judges import sampling


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait briefly between attempts, without the environment's endpoint and key."""
    monkeypatch.setattr(sampling, "FIRST_WAIT", 0.01)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
