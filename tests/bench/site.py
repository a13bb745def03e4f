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
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

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


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure beside what it may be at most, where there is a limit."""

    what: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def holds(self) -> bool:
        """Tell whether it is within its limit."""
        return self.limit is None or self.value <= self.limit


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


def peak() -> float:
    """The most memory that this process has had so far, in MiB; ru_maxrss would count that of the process before it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def figures(folder: Path) -> list[Figure]:
    """Measure everything."""
    from harness.results import files
    from tests.leaderboard import large

    report, site = folder / "report", folder / "site"
    report.mkdir()
    files.write(large.make(), report)
    command = [sys.executable, __file__, "--draw", str(report), str(site)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout)
    pages = {path.relative_to(site).as_posix(): path.stat().st_size for path in site.rglob("*.html")}
    front = gzip.compress((site / "index.html").read_bytes(), mtime=0)
    largest = max(pages, key=lambda path: pages[path])
    whole = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    return [
        Figure("reading the report", found["read"], "s"),
        Figure("drawing the site", found["seconds"][0], "s", 10),
        Figure("drawing it again", found["seconds"][1], "s"),
        Figure("processor time of drawing", found["busy"][0], "s"),
        *(Figure(f"processor time of the view {name}", value, "s") for name, value in found["views"].items()),
        Figure("peak memory after reading", found["before"], "MiB"),
        Figure("peak memory after drawing", found["peak"], "MiB", 600),
        Figure(" ".join(["files that differ between two drawings", *found["different"][:9]]),
               len(found["different"]), "", 0),
        Figure("front page, gzipped", len(front) / 1e3, "KB", 500),
        Figure(f"largest page, {largest}", pages[largest] / 1e6, "MB", 2),
        Figure(f"whole site, {len(pages)} pages", whole / 1e6, "MB"),
        *loading(site),
    ]


def loading(site: Path) -> list[Figure]:
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
    return [Figure(f"front page ready, median of {LOADS} loads", statistics.median(times), "s", 1),
            Figure(f"another statistic drawn, median of {len(choices)} times", statistics.median(choices), "s", 0.2)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--draw", nargs=2, type=Path, metavar=("REPORT", "SITE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.draw:
        draw(*given.draw)
        return
    with TemporaryDirectory() as folder:
        found = figures(Path(folder))
    if given.json:
        print(json.dumps([{"what": one.what, "value": one.value, "unit": one.unit, "limit": one.limit}
                          for one in found], indent=2))
    else:
        print("| what | | at most | |\n| --- | ---: | ---: | --- |")
        for one in found:
            limit = "" if one.limit is None else f"{one.limit:g} {one.unit}"
            print(f"| {one.what} | {one.value:.2f} {one.unit} | {limit} | {'' if one.holds else 'too much'} |")
    sys.exit(not all(one.holds for one in found))


if __name__ == "__main__":
    main()
