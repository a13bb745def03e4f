"""What the site of a report of full size costs: 19 datasets, 54 cells, 60 metrics, 102 columns, every pair compared.

`python tests/bench/site.py [--json]`. The report is made up (tests/leaderboard/large.py) and lies on disk as a run's
does. A process of its own reads it and draws it twice: seconds of each, the peak memory with all that was imported and
read, whether both have the same bytes. Then sizes, and what Chromium takes: until the front page can be used, from the
start of the navigation until its scripts have run, and until another statistic is laid out. Each figure stands beside
what it may be; the exit status says whether all hold. The views are timed once more by themselves, to see where the
time goes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.processes import ROOT, Rows, peak, show

LOADED = """() => {
  const load = performance.getEntriesByType('navigation')[0];
  return Math.max(load.domContentLoadedEventEnd, load.loadEventEnd);
}"""
CHOSEN = """() => ['pearson', 'kendall', '', 'pearson', 'kendall'].map(value => {
  const field = document.querySelector('.panel select');
  field.value = value;
  const start = performance.now();
  field.dispatchEvent(new Event('change'));
  document.body.getBoundingClientRect();
  return performance.now() - start;
})"""
LOADS = 5


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
    views = {}
    for build in page.builders():
        start = time.process_time()
        build(results)
        views[build.__module__.rpartition(".")[2]] = time.process_time() - start
    for path, content in sites[0].items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    different = [path for path in sorted(set(sites[0]) | set(sites[1])) if sites[0].get(path) != sites[1].get(path)]
    print(json.dumps({"read": read, "before": before, "seconds": seconds, "busy": busy, "peak": peaks[0],
                      "different": different, "views": views}))


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
        *(figure(f"processor time of the view {name}", value, "s") for name, value in cost["views"].items()),
        figure("peak memory after reading", cost["before"], "MiB"),
        figure("peak memory after drawing", cost["peak"], "MiB", 600),
        figure(" ".join(["files that differ between two drawings", *cost["different"][:9]]), len(cost["different"]), "",
               0),
        figure("front page, gzipped", len(front) / 1e3, "KB", 500),
        figure(f"largest page, {largest}", pages[largest] / 1e6, "MB", 2),
        figure(f"whole site, {len(pages)} pages", whole / 1e6, "MB"),
        *loading(site),
    ]


def loading(site: Path) -> Rows:
    """How long Chromium takes to open the front page, served on the loopback; nothing where there is no Chromium."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import FLAGS, NONE, executable, serving

    path = executable()
    if path is None:
        print(NONE, file=sys.stderr)
        return []
    times, choices = [], []
    with serving(site) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        for _ in range(LOADS):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(f"{served}/index.html", wait_until="load")
            times.append(page.evaluate(LOADED) / 1e3)
            choices += [taken / 1e3 for taken in page.evaluate(CHOSEN)]
            page.context.close()
        browser.close()
    return [figure(f"front page ready, median of {LOADS} loads", statistics.median(times), "s", 1),
            figure(f"another statistic drawn, median of {len(choices)} times", statistics.median(choices), "s", 0.2)]


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
