"""Sites in a real browser: drawn once, served on the loopback and opened as files, with every complaint collected.

A test fails where a page asks for anything that is not its own site, writes an error to the console or breaks its
Content-Security-Policy.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright import sync_api

from harness.results.rows import Results
from leaderboard.site import site as draw
from tests.leaderboard import hostile, large

ELSEWHERE = re.compile(r"^(?!http://127\.0\.0\.1:|file:|data:|blob:)")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage")
NONE = f"no Chromium: HARNESS_CHROMIUM names none, and none of {', '.join(BROWSERS)} is on the PATH"

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WATCH = """addEventListener('securitypolicyviolation', event =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""


def executable() -> str | None:
    """The browser that HARNESS_CHROMIUM names, or the first on the PATH; None where there is none."""
    return os.environ.get("HARNESS_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A drawn site: what it is of, its files, its folder and where it is served."""

    results: Results
    files: dict[str, bytes]
    folder: Path
    served: str

    @property
    def pages(self) -> list[str]:
        """The paths of its pages."""
        return sorted(path for path in self.files if path.endswith(".html"))

    @property
    def kinds(self) -> list[str]:
        """One page of each kind: those at the root, and the first of each folder."""
        first = {path.rpartition("/")[0] or path: path for path in reversed(self.pages)}
        return sorted(first.values())

    def at(self, path: str) -> str:
        """Where a page is served."""
        return f"{self.served}/{path}"


@dataclass
class Complaints:
    """What a browser had to say: errors of the console and of scripts, and requests elsewhere."""

    said: list[str] = field(default_factory=list)

    def watch(self, context: sync_api.BrowserContext) -> None:
        """Collect everything from the pages of a context, and let nothing out."""
        context.add_init_script(WATCH)
        context.route(ELSEWHERE, self._refuse)
        context.on("console", lambda message: self._note(message.type, message.text))
        context.on("weberror", lambda error: self.said.append(f"script: {error.error}"))
        context.on("requestfailed", lambda request: self._failed(request))
        context.on("response", lambda response: self._answered(response))

    def _refuse(self, route: sync_api.Route) -> None:
        self.said.append(f"asked for {route.request.url}")
        route.abort()

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.said.append(f"{kind}: {text}")

    def _failed(self, request: sync_api.Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # what a test left before it was there, or saved as a file
            self.said.append(f"{request.url}: {request.failure}")

    def _answered(self, response: sync_api.Response) -> None:
        if response.status >= 400:
            self.said.append(f"{response.url}: {response.status}")


Open = Callable[..., sync_api.Page]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of the loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def published(results: Results, folder: Path) -> Iterator[Site]:
    """Draw a report into a folder and serve it."""
    files = draw(results)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    with serving(folder) as served:
        yield Site(results, files, folder, served)


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    """Chromium, started once."""
    path = executable()
    if path is None:
        pytest.skip(NONE)
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def site(browser: sync_api.Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site of every kind of page: five datasets, twelve metrics, nothing hostile."""
    with published(large.make(5, 12, (60, 120)), tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(scope="session")
def hostile_pages(browser: sync_api.Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site of the report with the names that nobody should choose."""
    with published(hostile.make(), tmp_path_factory.mktemp("hostile")) as found:
        yield found


@pytest.fixture(scope="session")
def large_site(browser: sync_api.Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site of a report with the boards of a large run, on few items and without comparisons of its columns."""
    with published(large.make(items=(30, 60), comparisons=False), tmp_path_factory.mktemp("large")) as found:
        yield found


@pytest.fixture
def complaints() -> Complaints:
    """What the pages of this test complain about."""
    return Complaints()


@pytest.fixture
def visit(browser: sync_api.Browser, complaints: Complaints) -> Iterator[Open]:
    """Open a page in a context of its own; when the test is over nothing may have been complained about."""
    contexts: list[sync_api.BrowserContext] = []

    def opened(url: str, **options: object) -> sync_api.Page:
        context = browser.new_context(**{"viewport": DESK, **options})
        contexts.append(context)
        context.set_default_timeout(10_000)
        complaints.watch(context)
        page = context.new_page()
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints.said == []
