"""My metric keeps the contract that `harness check` tries, beside a service that counts characters."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from my_metric import ADDRESS, MyMetric

from benchmarks.dataset import Item, Utterance
from harness.contract import demand
from metrics.errors import CannotScore, MissingResource
from metrics.models.service import Models

ITEMS = [Item("one", (), Utterance("system", "hello")), Item("none", (), Utterance("system", ""))]


class Service(BaseHTTPRequestHandler):
    """Gives each response its number of characters, and an empty one no score."""

    def do_POST(self) -> None:
        """Answer a batch."""
        items = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["items"]
        answer = json.dumps({"scores": [len(item["response"]) or None for item in items]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A service on this machine, whose address is in the environment."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv(ADDRESS, f"http://127.0.0.1:{server.server_address[1]}/")
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("service")
def test_the_contract() -> None:
    """Columns as promised, finite or NaN, whatever the items, their order and their number."""
    demand(MyMetric())


@pytest.mark.usefixtures("service")
def test_what_has_no_score_is_missing(tmp_path: Path) -> None:
    """A null of the service is NaN."""
    np.testing.assert_array_equal(MyMetric().score(ITEMS, Models(tmp_path))["my-metric"], [5, np.nan])


def test_a_service_that_is_gone_scores_nothing(service: ThreadingHTTPServer, tmp_path: Path) -> None:
    """The dataset is skipped with the reason, and tried again by the next run."""
    service.shutdown()
    service.server_close()
    with pytest.raises(CannotScore, match="fails"):
        MyMetric().score(ITEMS, Models(tmp_path))


def test_without_an_address_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As every metric whose resource is not here."""
    monkeypatch.delenv(ADDRESS, raising=False)
    with pytest.raises(MissingResource, match=ADDRESS):
        MyMetric().score(ITEMS, Models(tmp_path))
