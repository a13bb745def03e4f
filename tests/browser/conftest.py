"""Sites in Chromium, drawn once and served on the loopback interface.

A test fails if a page requests anything outside its site, logs an error or breaks its Content-Security-Policy.
"""

import functools
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright import sync_api

from harness.commands._output import write_site
from harness.results.rows import Results
from leaderboard.site import site as draw
from tests.leaderboard import hostile
from tests.leaderboard.large import enlarged
from tests.suite_run import SuiteRun

ELSEWHERE = re.compile(r"^(?!http://127\.0\.0\.1:|file:|data:|blob:)")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage")
NONE = f"no Chromium: HARNESS_CHROMIUM names none, and none of {', '.join(BROWSERS)} is on the PATH"

DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
WATCH = """addEventListener('securitypolicyviolation', event =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""
ROWS = """() => [...document.querySelectorAll('table.ranked tbody tr')]
  .filter(row => row.querySelector('[data-row]'))
  .map(row => {
    const rank = row.querySelector('td.rank');
    return {label: row.querySelector('[data-row] a').innerText, hidden: row.hidden,
            rank: rank.firstChild ? rank.firstChild.textContent.trim() : ''};
  })"""

Open = Callable[..., sync_api.Page]


def executable() -> str | None:
    """Return the browser named by HARNESS_CHROMIUM, or the first on the PATH."""
    return os.environ.get("HARNESS_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site with its results, files, folder and address, and the CPU seconds that drawing it took."""

    results: Results
    files: dict[str, bytes]
    folder: Path
    served: str
    seconds: float

    @property
    def pages(self) -> list[str]:
        return sorted(path for path in self.files if path.endswith(".html"))

    @property
    def kinds(self) -> list[str]:
        """Return the pages at the root and the first page of each folder."""
        first = {path.rpartition("/")[0] or path: path for path in reversed(self.pages)}
        return sorted(first.values())

    def at(self, path: str) -> str:
        return f"{self.served}/{path}"


def rows(page: sync_api.Page) -> list[dict[str, str]]:
    """Return the rows of the board: label, rank and whether it is hidden."""
    shown: list[dict[str, str]] = page.evaluate(ROWS)
    return shown


def choose(page: sync_api.Page, **options: str | int) -> None:
    """Select an option, given by its value or its position, in the control of each name."""
    for name, option in options.items():
        control = page.locator(f"select[name={name}]")
        if isinstance(option, int):
            control.select_option(index=option)
        else:
            control.select_option(option)


def watch(context: sync_api.BrowserContext, errors: list[str]) -> None:
    """Collect errors of the pages of a context and block foreign requests."""
    def refuse(route: sync_api.Route) -> None:
        errors.append(f"requested {route.request.url}")
        route.abort()

    def note(message: str, matters: bool) -> None:
        if matters:
            errors.append(message)

    context.add_init_script(WATCH)
    context.route(ELSEWHERE, refuse)
    context.on("console", lambda line: note(f"{line.type}: {line.text}", line.type in ("error", "warning")))
    context.on("weberror", lambda error: errors.append(f"script: {error.error}"))
    context.on("requestfailed", lambda request: note(  # aborted: the page was left before it loaded, or saved
        f"{request.url}: {request.failure}", request.failure != "net::ERR_ABORTED"))
    context.on("response", lambda response: note(f"{response.url}: {response.status}", response.status >= 400))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
        """Do not log requests."""


@contextmanager
def published(results: Results, folder: Path) -> Iterator[Site]:
    """Draw results and serve the site on a free local port."""
    start = time.process_time()
    files = draw(results)
    seconds = time.process_time() - start
    write_site(files, folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(results, files, folder, f"http://127.0.0.1:{server.server_port}", seconds)
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    path = executable()
    if path is None:
        pytest.skip(NONE)
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def site(browser: sync_api.Browser, suite_run: SuiteRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a site with every kind of page, as large as that of a real run."""
    with published(enlarged(suite_run.results, 3, 6, 14), tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture(scope="session")
def hostile_pages(suite_run: SuiteRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with published(hostile.make(enlarged(suite_run.results)), tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.fixture
def visit(browser: sync_api.Browser) -> Iterator[Open]:
    """Open pages in new contexts; fail if one had errors."""
    contexts: list[sync_api.BrowserContext] = []
    errors: list[str] = []

    def opened(url: str, **options: object) -> sync_api.Page:
        context = browser.new_context(**{"viewport": DESK, **options})
        contexts.append(context)
        context.set_default_timeout(10_000)
        watch(context, errors)
        page = context.new_page()
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
