"""Downloads from a real server on loopback, and fetching of datasets and resources by the command."""

import dataclasses
import errno
import hashlib
import http.server
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks import registry
from benchmarks.dataset import DatasetCard, Source
from benchmarks.errors import BadArchive, ChecksumDiffers, FetchError
from benchmarks.sources import fetch as module
from benchmarks.sources.fetch import Offline, download, fetch, fetch_resource
from benchmarks.storage import download as downloading
from tests.benchmarks.made import archive
from tests.conftest import Invoke, refused

BODY = bytes((number * 2654435761 >> 9) % 256 for number in range(300_000))
SHA256 = hashlib.sha256(BODY).hexdigest()
NOWHERE = "http://no-such-host.invalid/file.json"


class Site(http.server.BaseHTTPRequestHandler):
    """A server with Range and If-Range that can misbehave; it records the Range header of every request."""

    url, location = "", ""
    body, modified, ranges, if_range, length = BODY, "", True, True, True
    tag: str | None = '"one"'
    next_tag: str | None = None
    cut_at, cuts = 0, 0
    status: ClassVar[list[int]] = []
    requested: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        site, wanted = type(self), self.headers.get("Range")
        site.requested.append(wanted)
        start = int(wanted[6:-1]) if wanted and site.ranges else 0
        if site.if_range and self.headers.get("If-Range") not in {None, site.tag, site.modified}:
            start = 0
        if site.status or start >= len(site.body) > 0:
            self.answer(site.status.pop(0) if site.status else 416, Location=site.location, Content_Length="0")
            return
        end = len(site.body)
        self.answer(206 if start else 200, ETag=site.tag, Last_Modified="" if start else site.modified,
                    Content_Range=f"bytes {start}-{end - 1}/{len(site.body)}" if start else "",
                    Content_Length=str(end - start) if site.length else "")
        site.cuts -= 1
        self.wfile.write(site.body[start : start + site.cut_at if site.cuts >= 0 else end])

    def answer(self, status: int, **headers: str | None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Print nothing."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Site]]:
    """Start a server on loopback, without pauses between attempts."""
    monkeypatch.setattr(downloading, "PAUSE", 0.0)
    monkeypatch.setattr(downloading, "ATTEMPTS", 3)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    handler = type("Own", (Site,), {"status": [], "requested": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        handler.url = f"http://127.0.0.1:{server.server_port}/file.bin"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield handler
        server.shutdown()
        thread.join()


def only(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_downloaded_with_progress_lines(site: type[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(downloading, "LOG_INTERVAL", 0.0)
    for site.length in (True, False):
        assert download(site.url, tmp_path / "file.bin", SHA256).read_bytes() == BODY
        assert only(tmp_path) == ["file.bin"]
        total = "300k" if site.length else r"\?"
        assert re.search(rf"file.bin: [\d.]+k? of {total}B, [\d.?]+[kM]?B/s, [\d:?]+ left\n", capsys.readouterr().err)
    site.body = b""
    assert download(site.url, tmp_path / "file.bin", None).read_bytes() == b""


def test_a_download_resumes_after_a_broken_connection(site: type[Site], tmp_path: Path) -> None:
    for tag in ('"one"', 'W/"weak"', None):
        site.tag, site.cut_at, site.cuts, site.requested = tag, 100_000, 2, []
        assert download(site.url, tmp_path / "file.bin", SHA256).read_bytes() == BODY
        assert site.requested == [None, "bytes=100000-", "bytes=200000-"]
        assert only(tmp_path) == ["file.bin"]
    site.modified, site.cuts, site.requested = "Sun, 29 Nov 2026 00:00:00 GMT", 1, []
    assert download(site.url, tmp_path / "file.bin", None).read_bytes() == BODY
    assert site.requested == [None, "bytes=100000-"]
    site.ranges, site.cuts, site.requested = False, 1, []
    assert download(site.url, tmp_path / "file.bin", SHA256).read_bytes() == BODY, "200 is the whole file"
    assert site.requested == [None, "bytes=100000-"]


def test_a_wrong_length_does_not_cause_an_endless_download(site: type[Site], tmp_path: Path) -> None:
    def answer(self: Site) -> None:
        site.requested.append(None)
        self.answer(200 if len(site.requested) < 9 else 404, Content_Length="5", Transfer_Encoding="chunked")
        self.wfile.write(text + b"0\r\n\r\n")

    site.do_GET = answer  # type: ignore[method-assign]
    for text in (b"3\r\nabc\r\n", b"7\r\nabcdefg\r\n"):
        site.requested = []
        with pytest.raises(FetchError, match=f"{len(text) - 5} of 5 bytes"):
            download(site.url, tmp_path / "file.bin", None)


def test_a_later_run_resumes(site: type[Site], tmp_path: Path) -> None:
    site.cut_at, site.cuts = 10_000, 3
    with pytest.raises(FetchError, match="3 attempts"):
        download(site.url, tmp_path / "file.bin", SHA256)
    assert only(tmp_path) == [".file.bin.part"]
    assert download(site.url, tmp_path / "file.bin", SHA256).read_bytes() == BODY
    assert site.requested[-1] == "bytes=30000-"


def test_a_file_that_changes_during_its_download_starts_afresh(site: type[Site], tmp_path: Path) -> None:
    def answer(self: Site) -> None:
        Site.do_GET(self)
        site.body, site.tag = BODY[::-1], site.next_tag

    site.do_GET, site.cut_at = answer, 20_000  # type: ignore[method-assign]
    for site.next_tag, site.if_range, requests in (('"two"', True, 2), (None, True, 2), ('"two"', False, 3)):
        site.body, site.tag, site.cuts, site.requested = BODY, '"one"', 1, []
        assert download(site.url, tmp_path / "file.bin", None).read_bytes() == BODY[::-1]
        assert len(site.requested) == requests


def test_a_later_run_without_a_digest_starts_afresh(site: type[Site], tmp_path: Path) -> None:
    site.cut_at, site.cuts = 1000, 3
    with pytest.raises(FetchError, match=r"gave up after 3 attempts$"):
        download(site.url, tmp_path / "file.bin", None)
    assert only(tmp_path) == []


def test_a_wrong_digest_is_refused_and_the_bytes_removed(site: type[Site], tmp_path: Path) -> None:
    site.body = BODY[:-1] + b"!"
    digest = hashlib.sha256(site.body).hexdigest()
    with refused(ChecksumDiffers, site.url, SHA256, digest):
        download(site.url, tmp_path / "file.bin", SHA256)
    assert only(tmp_path) == []


def test_a_busy_server_is_retried_and_a_missing_file_is_not(site: type[Site], tmp_path: Path) -> None:
    site.status = [503, 429]
    assert download(site.url, tmp_path / "file.bin", SHA256).read_bytes() == BODY
    site.status, site.requested = [404], []
    with pytest.raises(FetchError, match="404"):
        download(site.url, tmp_path / "other.bin", None)
    assert site.requested == [None]


def test_only_http_urls_are_fetched_even_after_redirects(site: type[Site], tmp_path: Path) -> None:
    for url in ("file:///etc/passwd", "ftp://example.org/x", "/etc/passwd", "data:,x"):
        with pytest.raises(FetchError, match="https"):
            download(url, tmp_path / "x", None)
    for location in ("file:///etc/passwd", "ftp://127.0.0.1/x"):
        site.status, site.location = [302], location
        with pytest.raises(FetchError):
            download(site.url, tmp_path / "x", None)
        assert only(tmp_path) == []
    site.status, site.location = [302], site.url
    assert download(site.url + "/old", tmp_path / "x", SHA256).read_bytes() == BODY


def test_a_full_disk_leaves_no_files(site: type[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(answer: object, part: Path, *_: object) -> None:
        part.write_bytes(BODY[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloading, "_copy", full)
    with refused(FetchError, tmp_path / "file.bin", "No space left"):
        download(site.url, tmp_path / "file.bin", SHA256)
    assert only(tmp_path) == []
    (tmp_path / "home").write_text("a file")
    with refused(FetchError, str(tmp_path / "home")):
        fetch_resource("wordnet", tmp_path / "home")


def with_sources(name: str, *sources: Source) -> DatasetCard:
    return dataclasses.replace(registry.card(name), sources=sources)


def fed(votes: list[object]) -> bytes:
    record = {"context": "User: hi", "response": "System: hello", "system": "Meena", "annotations": {"Fluent": votes}}
    return json.dumps([record]).encode()


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(Offline, "no-such-host.invalid", "`harness import"):
        fetch(with_sources("dstc6", Source(NOWHERE, form="dstc6")), tmp_path)
    monkeypatch.setitem(module.RESOURCES, "wordnet", Source(NOWHERE))
    with refused(Offline, "wordnet"):
        fetch_resource("wordnet", tmp_path)
    assert only(tmp_path) == []


def test_the_mirror_is_read_from_its_folder_or_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.errors import EntryNotFoundError

    row = {"dialogue_id": "humod_00000", "context": "hi", "response": "hello", "annotations": {"relevance": [1, 2, 3]}}
    official, member = json.dumps([row]), "DSTC_11_Track_4/metadata/dev/en/humod/humod_eval.json"
    requests = []

    def hub(repository: str, name: str, **options: object) -> str:
        requests.append((repository, name, options["repo_type"], options["local_files_only"]))
        if len(requests) > 1:
            raise EntryNotFoundError("404")
        (tmp_path / "humod_eval.json").write_text(official)
        return str(tmp_path / "humod_eval.json")

    class Hub:
        def open(self, path: str, mode: str) -> io.BytesIO:
            assert path == f"datasets/mario-rc/dstc11.t4@{module.MIRROR_COMMIT}/DSTC_11_Track_4.zip"
            return io.BytesIO(archive({member: official}))

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(Offline, match="HF_HUB_OFFLINE"):
        module.fetch_from_mirror("fed-turn", tmp_path)
    monkeypatch.setattr(module, "check_reachable", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", hub)
    monkeypatch.setattr("huggingface_hub.HfFileSystem", Hub)
    for _ in range(2):
        dataset = fetch(registry.card("humod"), tmp_path / "home")
        assert (dataset.origin, dataset.ratings[0].votes) == ("fetched", (1.0, 2.0, 3.0))
    assert requests[0] == ("mario-rc/dstc11.t4", member, "dataset", False)
    with pytest.raises(FetchError, match=r"persona-see_eval\.json"):
        module.fetch_from_mirror("persona-see", tmp_path)


def test_a_dataset_is_fetched_unpacked_and_converted(site: type[Site], tmp_path: Path) -> None:
    for name, site.body in (("fed_data.json", fed([2, 1, "N/A (no idea)"])),
                            ("fed.zip?dl=1", archive({"deep/fed_data.json": fed([2, 1])}))):
        dataset = fetch(with_sources("fed-turn", Source(site.url.replace("file.bin", name), form="fed")), tmp_path)
        assert dataset.origin == "fetched"
        assert [rating.votes for rating in dataset.ratings] == [(2.0, 1.0)]
        assert only(tmp_path) == []


def test_the_next_source_is_tried(site: type[Site], tmp_path: Path) -> None:
    site.body = b"<html>moved</html>"
    bad, by_hand = Source(site.url, form="fed"), Source("https://example.org", by_hand=True)
    with refused(FetchError, "JSON", "no-such-host"):
        fetch(with_sources("fed-turn", by_hand, bad, Source(NOWHERE, form="fed")), tmp_path)
    site.status, site.body = [404], fed([1])
    assert fetch(with_sources("fed-turn", bad, Source(site.url, form="fed")), tmp_path).ratings[0].votes == (1.0,)


def test_wordnet_is_stored_as_nltk_stores_it(site: type[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = archive({"wordnet/data.noun": "  1 This is WordNet\n"})
    deflated = archive({"wordnet/data.noun": "1 2 3 4 5 6 7 8 9 " * 99}, "zip", zipfile.ZIP_DEFLATED)
    deflated = deflated.replace(deflated[47:56], b"\xff" * 9)
    monkeypatch.setitem(module.RESOURCES, "wordnet", Source(site.url))
    for site.body in (b"<html>", archive({"other/data.noun": "x"}), good[:-30], good.replace(b"This", b"That"),
                      deflated):
        with refused(BadArchive, site.url):
            fetch_resource("wordnet", tmp_path)
        assert only(tmp_path) == []
    site.body = good
    path = fetch_resource("wordnet", tmp_path)
    assert path == tmp_path / "resources" / "nltk_data" / "corpora" / "wordnet.zip"
    assert path.read_bytes() == good
    assert only(tmp_path) == ["resources"]
    with pytest.raises(FetchError, match="'wordnet'"):
        fetch_resource("wordnett", tmp_path)


def test_all_continues_past_a_failure(site: type[Site], home: Path, monkeypatch: pytest.MonkeyPatch,
                                      invoke: Invoke) -> None:
    """Stored datasets are fetched again only by name."""
    cards = {"fed-turn": with_sources("fed-turn", Source(site.url, form="fed")),
             "dstc6": with_sources("dstc6", Source(NOWHERE, form="dstc6")), "esl": registry.card("esl")}
    monkeypatch.setattr(registry, "cards", lambda: cards)
    monkeypatch.setitem(module.RESOURCES, "wordnet", Source(NOWHERE))
    site.body = fed([2, 1])
    out, err = invoke("fetch", "--all", status=2)
    assert re.search(r"^fed-turn +1 items +1 ratings", out, re.MULTILINE)
    assert "dstc6, wordnet" in out
    assert "https://chateval.org/dstc10: esl" in out
    assert "dstc6: " in err
    assert registry.load("fed-turn", home).origin == "fetched"
    site.requested.clear()
    invoke("fetch", "--all", status=2)
    assert site.requested == []
    invoke("fetch", "fed-turn")
    assert site.requested == [None]


def test_the_command_takes_names_or_all(home: Path, invoke: Invoke) -> None:
    for names in ((), ("esl", "--all"), ("esl",)):
        invoke("fetch", *names, status=2)
    with refused(FetchError, "https://chateval.org", "harness import"):
        fetch(registry.card("esl"), home)
    assert "'esl'" in invoke("fetch", "esll", status=2).err
