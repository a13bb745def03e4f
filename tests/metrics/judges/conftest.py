"""Judges with short waits."""

import openai._base_client
import pytest


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait briefly between attempts, without the environment's endpoint and key."""
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.01)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
