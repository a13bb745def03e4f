"""The parts of the hub that pushing and fetching a repository need; the name of a model says how it fails."""

import base64
import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HERE = {"tiny", "toy", "pickled", "breaking-off"}  # the repositories, all with the same files


class Hub(BaseHTTPRequestHandler):
    """Creates a repository; announces, commits (as text), lists and sends files."""

    protocol_version = "HTTP/1.1"
    files: ClassVar[dict[str, bytes]] = {}
    well: ClassVar[bool] = False
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        address = f"http://{self.headers['Host']}"
        if self.headers["Authorization"] != "Bearer hf_mine":
            self.answer({"error": "Invalid username or password."}, 401)
        elif self.path == "/api/repos/create":
            wanted = json.loads(content)
            self.answer({"url": f"{address}/{wanted['organization']}/{wanted['name']}"})
        elif self.path.endswith("/toy/preupload/main"):
            self.answer({"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                                   for file in json.loads(content)["files"]]})
        elif self.path.endswith("/toy/commit/main"):
            lines = [json.loads(line) for line in content.splitlines()]
            self.files.update((line["value"]["path"], base64.b64decode(line["value"]["content"]))
                              for line in lines if line["key"] == "file")
            place = self.path.removeprefix("/api").removeprefix("/models").removesuffix("/main")
            self.answer({"commitOid": COMMIT, "commitUrl": f"{address}{place}/{COMMIT}"})
        else:
            self.answer({})

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.asked.append(path)
        name, _, revision = path.partition("me/")[2].partition("/")
        revision = revision.rpartition("revision/")[2] or "main"
        file = path.rpartition("/resolve/")[2].partition("/")[2]
        if name == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
        elif name == "gated":
            self.send(403, X_Error_Code="GatedRepo")
        elif name not in HERE:
            self.send(404, X_Error_Code="RepoNotFound")
        elif "/tree/" in path:
            self.answer([{"type": "file", "path": file, "size": len(content), "oid": blob(content)}
                         for file, content in self.files.items()])
        elif "/resolve/" in path and file not in self.files:
            self.send(404, X_Error_Code="EntryNotFound")
        elif "/resolve/" in path:
            content = self.files[file]
            broken = name == "breaking-off" and not self.well and path.endswith(".safetensors")
            part = len(content) // 2 if broken else None
            self.send(200, content, part, ETag=f'"{blob(content)}"', X_Repo_Commit=COMMIT)
        elif revision not in {"main", "v1", COMMIT}:
            self.send(404, X_Error_Code="RevisionNotFound")
        else:
            files = [file.replace(".safetensors", ".bin") if name == "pickled" else file for file in self.files]
            self.answer({"id": f"me/{name}", "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]})

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Do not log requests."""

    def answer(self, content: object, status: int = 200) -> None:
        self.send(status, json.dumps(content).encode(), Content_Type="application/json")

    def send(self, status: int, content: bytes = b"{}", part: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # one answer per connection, so that answers are not mixed up
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:part])
        self.close_connection = True


def blob(content: bytes) -> str:
    return sha1(content).hexdigest()  # noqa: S324  (as git names a file)


@contextlib.contextmanager
def serving(files: Mapping[str, bytes] | None = None) -> Iterator[tuple[str, type[Hub]]]:
    """Yield the address of a local hub whose repositories have these files, and its record of requests."""
    hub = type("Own", (Hub,), {"files": dict(files or {}), "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), hub) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", hub
        server.shutdown()
