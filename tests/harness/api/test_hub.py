"""A dataset for the library datasets and the hub: nothing is lost, and nothing is passed on that may not be."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.storage.store import save_own
from harness.api import hub, load, score, to_datasets
from harness.cli import main
from tests.conftest import make_dataset
from tests.suite_run import SuiteRun

datasets = pytest.importorskip("datasets")


@pytest.mark.parametrize("name", ["persona-usr", "fed-dial"])
def test_items_and_votes_are_those_of_the_dataset(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    dataset, parts = registry.sample(registry.card(name)), to_datasets(name)
    assert parts["items"].info.license == dataset.card.licence
    assert parts["items"].info.citation == dataset.card.citation
    assert "simulated raters" in parts["votes"].info.description
    assert [(row["item"], row["quality"], row["vote"]) for row in parts["votes"]] == [
        (rating.item, rating.quality, vote) for rating in dataset.ratings for vote in rating.votes]
    scored = score("length", parts["items"])["length"]
    if name == "fed-dial":
        assert parts["items"][0]["dialogue"][0]["text"] == dataset.items[0].context[0].text
    else:
        np.testing.assert_array_equal(scored, score("length", dataset)["length"])
        assert parts["items"][0]["references"] == [
            {"text": one.text, "weight": one.weight} for one in dataset.items[0].references]
    assert main(["export", name, "--out", str(tmp_path / "out")]) == 0
    assert f"{len(dataset.items)} items" in capsys.readouterr().out
    for part, table in parts.items():
        read = datasets.load_dataset(str(tmp_path / "out"), part, split="train")
        assert read.features == table.features
        assert read.to_list() == table.to_list()


class Hub(BaseHTTPRequestHandler):
    """What of the hub an upload needs: a repository is made, files are announced, then committed as text."""

    files: ClassVar[dict[str, bytes]] = {}

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        url, answer, status = f"http://{self.headers['Host']}/datasets/me/toy", dict[str, Any](), 200
        if self.headers["Authorization"] != "Bearer hf_mine":
            status, answer = 401, {"error": "Invalid username or password."}
        elif self.path == "/api/repos/create":
            answer = {"url": url}
        elif self.path == "/api/datasets/me/toy/preupload/main":
            answer = {"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                                for file in json.loads(content)["files"]]}
        elif self.path == "/api/datasets/me/toy/commit/main":
            lines = [json.loads(line) for line in content.splitlines()]
            self.files.update((line["value"]["path"], base64.b64decode(line["value"]["content"]))
                              for line in lines if line["key"] == "file")
            answer = {"commitOid": "0" * 40, "commitUrl": f"{url}/commit/{'0' * 40}"}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


def test_only_what_its_licence_lets_is_passed_on(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    """To a server on loopback, by the client of the hub, in a process that finds that address in its environment."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", "fed-turn", "--push", "me/fed"]) == 2
    assert "simulated" in capsys.readouterr().err
    own = make_dataset(["a", "b", "c"], [(1.0,), (2.0,), (3.0,)], split="own", sources=())
    for licence, reason in (("not stated", "no licence"), ("Apache-2.0 (code)", "is not of all"),
                            ("CC BY-ND 4.0", "not known to let"), ("CC BY 4.0", ""), ("MIT", ""), ("CC0-1.0", ""),
                            ("Apache-2.0", ""), ("all rights reserved", "not known to let"), ("CC BY-NC-SA 4.0", "")):
        card = dataclasses.replace(own.card, licence=licence)
        assert reason in hub.forbidden(dataclasses.replace(own, card=card))
        assert bool(reason) is bool(hub.forbidden(dataclasses.replace(own, card=card)))
    save_own(dataclasses.replace(own, card=dataclasses.replace(own.card, licence="CC BY 4.0")), home)
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        for token, status, message in (("hf_other", 2, "the hub does not take it"), ("hf_mine", 0, f"{address}/datas")):
            command = [sys.executable, "-m", "harness", "export", "toy", "--push", "me/toy"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "HF_ENDPOINT": address, "HF_TOKEN": token})
            assert (done.returncode, message in done.stdout + done.stderr) == (status, True), done.stderr
        server.shutdown()
    assert Hub.files == {path.name: path.read_bytes() for path in Path("toy").iterdir()}
    assert 'license: "cc-by-4.0"' in Hub.files["README.md"].decode()
    Path("other").mkdir()
    Path("other/file").touch()
    assert main(["export", "toy", "--out", "other"]) == 2


def test_results_are_tables_of_the_library(suite_run: SuiteRun) -> None:
    tables = load(suite_run.out).to_datasets()
    assert tables["correlations"].num_rows == len(suite_run.results.correlations)
    assert set(tables) == {"correlations", "comparisons", "rankings", "reliability"}
