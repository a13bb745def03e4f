"""What the tests of models share: a second kind of tiny encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import tiny


@pytest.fixture(scope="session")
def tiny_bytes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny RoBERTa over bytes."""
    pytest.importorskip("torch")
    return tiny.byte_encoder(tmp_path_factory.mktemp("models") / "tiny-bytes")
