"""What the site of a report of full size costs: 19 datasets, 54 cells, 60 metrics, 102 columns, every pair compared.

`python tests/bench/site.py [--json]`. The report is made up (tests/leaderboard/large.py) and lies on disk as a run's
does. A process of its own reads it and draws it twice: seconds of each, the peak memory with all that was imported and
read, whether both have the same bytes. Then sizes. Each figure stands beside what it may be; the exit status says
whether all hold. What Chromium takes is seen by tests/browser.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.processes import ROOT, Rows, peak, show


def figure(what: str, value: float, unit: str, limit: float | None = None) -> dict[str, Any]:
    """A figure beside what it may be at most, where there is a limit."""
    return {"what": what, "value": round(value, 3), "unit": unit, "at most": "" if limit is None else limit,
            "": "too much" if limit is not None and value > limit else ""}


def draw(source: Path, target: Path) -> None:
    """Read a report and draw it twice, in this process; write the site, and say what it took."""
    from harness.results import files
    from leaderboard import site as page

    start = time.perf_counter()
    results = files.read(source)
    read, before = time.perf_counter() - start, peak()
    sites, seconds, busy, peaks = [], [], [], []
    for _ in range(2):
        start, at_work = time.perf_counter(), time.process_time()
        sites.append(page.site(results))
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - at_work)
        peaks.append(peak())
    for path, content in sites[0].items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    different = [path for path in sorted(set(sites[0]) | set(sites[1])) if sites[0].get(path) != sites[1].get(path)]
    print(json.dumps({"read": read, "before": before, "seconds": seconds, "busy": busy, "peak": peaks[0],
                      "different": different}))


def figures(folder: Path) -> Rows:
    """Measure everything."""
    from harness.results import files
    from tests.leaderboard import large

    report, site = folder / "report", folder / "site"
    report.mkdir()
    files.write(large.make(), report)
    command = [sys.executable, __file__, "--draw", str(report), str(site)]
    cost = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout)
    pages = {path.relative_to(site).as_posix(): path.stat().st_size for path in site.rglob("*.html")}
    front = gzip.compress((site / "index.html").read_bytes(), mtime=0)
    largest = max(pages, key=lambda path: pages[path])
    whole = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    return [
        figure("reading the report", cost["read"], "s"),
        figure("drawing the site", cost["seconds"][0], "s", 10),
        figure("drawing it again", cost["seconds"][1], "s"),
        figure("processor time of drawing", cost["busy"][0], "s"),
        figure("peak memory after reading", cost["before"], "MiB"),
        figure("peak memory after drawing", cost["peak"], "MiB", 600),
        figure(" ".join(["files that differ between two drawings", *cost["different"][:9]]), len(cost["different"]), "",
               0),
        figure("front page, gzipped", len(front) / 1e3, "KB", 500),
        figure(f"largest page, {largest}", pages[largest] / 1e6, "MB", 2),
        figure(f"whole site, {len(pages)} pages", whole / 1e6, "MB"),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--draw", nargs=2, type=Path, metavar=("REPORT", "SITE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.draw:
        draw(*args.draw)
        return
    with TemporaryDirectory() as folder:
        rows = figures(Path(folder))
    show(rows, args.json)
    sys.exit(any(row[""] for row in rows))


if __name__ == "__main__":
    main()
