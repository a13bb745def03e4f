"""A judge run to the end against a server that misbehaves: how often each item was answered, and how long it took.

    python tests/bench/judge.py [--items N] [--concurrency C] [--json]

The server is on loopback. To each item it first does three of fourteen kinds of mischief (429, 500, 503, garbage, cut
and silent connections, wrong lengths, slow and dripping answers, scores off the scale, prose) and then answers. The
judge runs a second time, from what was kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  (the repository is put on the path first)

from benchmarks.dataset import Item, Utterance  # noqa: E402
from metrics.models.service import Models  # noqa: E402
from metrics.registry import choose  # noqa: E402
from tests.judge_server import mischief, serving  # noqa: E402


def main() -> None:
    """Judge made-up items twice, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    context = (Utterance("user", "What did you do today?"),)
    items = [Item(f"made-up_{n}", context, Utterance("system", f"I read {n} pages.")) for n in range(args.items)]
    with serving(mischief()) as server, tempfile.TemporaryDirectory() as home:
        judge = choose(f"judge:llm-eval[model=toy,url={server.url},timeout=1,concurrency={args.concurrency}]").metric
        seconds, columns = [], []
        for _ in range(2):
            start = time.perf_counter()
            with contextlib.redirect_stderr(io.StringIO()):
                columns.append(judge.score(items, Models(Path(home)))["llm-eval"])
            seconds.append(round(time.perf_counter() - start, 2))
        told = {
            "items": len(items), "scored": int(np.isfinite(columns[0]).sum()), "requests": len(server.bodies),
            "misbehaved": sum(server.behaved.values()) - sum(server.answered.values()),
            "answered more than once": sum(times > 1 for times in server.answered.values()),
            "the same again": bool(np.array_equal(*columns)), "seconds": seconds[0], "seconds again": seconds[1],
        }
    print(json.dumps(told) if args.json else "\n".join(f"{name:<24} {value}" for name, value in told.items()))


if __name__ == "__main__":
    main()
