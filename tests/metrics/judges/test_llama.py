"""A judge behind a real server: the one of llama-cpp-python, as docs/judges.md starts it, named by HARNESS_LLAMA."""

import os
from pathlib import Path

import numpy as np
import pytest

from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import make_item

SERVER = os.environ.get("HARNESS_LLAMA", "")


@pytest.mark.slow
@pytest.mark.skipif(not SERVER, reason="HARNESS_LLAMA names no server")
def test_a_real_server_gives_probabilities_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [make_item(name, name, context=("What do you like?",)) for name in ("I like green tea.", "seven of the")]
    for expected in ("2 requests", "0 requests"):
        judge = choose(f"judge:relevance[model=any,url={SERVER},concurrency=1,timeout=600]").metric
        assert np.isfinite(judge.score(items, Models(home))["relevance"]).all()
        assert expected in capsys.readouterr().err
