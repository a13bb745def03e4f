"""A server of chat completions on loopback that misbehaves on request.

A request is answered by the first behaviour of `script(times)` that the server has for it, where `times` is how often
the same messages came before; "well" is an answer in the format that the prompt asks for. The score of a reply is a
function of its text, so that tests know it in any order.
"""

import contextlib
import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[int], str]


def well(_times: int) -> str:
    return "well"


def expected(user: str, quality: str, low: float = 0, high: float = 5) -> float:
    """Return the answer to a prompt, an integer on the scale."""
    drawn = hashlib.sha256(f"{quality} {user}".encode()).digest()[0]
    return low + drawn % int(high - low + 1)


class Server(ThreadingHTTPServer):
    """A server that records requests, the most concurrent requests, and good answers."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: Script = well, delay: float = 0.0, echo: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.delay, self.echo = script, delay, echo
        self.lock = threading.Lock()
        self.times: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.behaved: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.arrivals: list[float] = []
        self.now = self.peak = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect, as some tests make them do."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Do not log requests."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = json.dumps(body["messages"])
        server = self.server
        with server.lock:
            times = server.times[asked]
            server.times[asked] += 1
            server.bodies.append(body)
            server.headers.append({**{name.title(): value for name, value in self.headers.items()}, "path": self.path})
            server.arrivals.append(time.monotonic())
            server.now += 1
            server.peak = max(server.peak, server.now)
        try:
            time.sleep(server.delay)
            self._behave(server.script(times), body, asked)
        finally:
            with server.lock:
                server.now -= 1

    def _behave(self, how: str, body: dict[str, Any], asked: str) -> None:
        with self.server.lock:
            self.server.behaved[how] += 1
        if how in {"well", "chatty"}:
            with self.server.lock:
                self.server.answered[asked] += 1
        getattr(self, f"_{how.partition(' ')[0]}")(body, *how.split()[1:])

    def _send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(content)), **headers}.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def _json(self, text: str | None, tokens: list[dict[str, Any]] | None = None, finish: str = "stop") -> bytes:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        if tokens is not None:
            choice["logprobs"] = {"content": tokens}
        return json.dumps({"model": "toy-0613", "choices": [choice],
                           "usage": {"prompt_tokens": 100, "completion_tokens": 10}}).encode()

    def _scores(self, body: dict[str, Any]) -> dict[str, float]:
        system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
        named = re.findall(r'"([a-z-]+)": <number', system)
        return {name: expected(user, name) for name in named}

    def _well(self, body: dict[str, Any]) -> None:
        scores = self._scores(body)
        text = json.dumps(scores) if scores else f"{expected(body['messages'][-1]['content'], '', 1, 5):g}"
        if self.server.echo:
            text += " " + json.dumps(dict(self.headers))
        self._send(self._json(text))

    def _first(self, body: dict[str, Any]) -> None:
        user = body["messages"][-1]["content"]
        self._send(self._json("1" if "two replies" in user else f"{expected(user, '', 1, 5):g}"))

    def _chatty(self, body: dict[str, Any]) -> None:
        found = json.dumps({name: f"{value:g}/5" for name, value in self._scores(body).items()})
        self._send(self._json(f"Sure! Here you are:\n```json\n{found}\n```\nTell me if I can help with 2 more."))

    def _picky(self, body: dict[str, Any], *fields: str) -> None:
        """Refuse fields by name, and max_tokens if another name is required."""
        unknown = [name for name in body if name in fields[:1] or name == "max_tokens"]
        if unknown:
            words = f"Unsupported: {' '.join(unknown)}; known: {' '.join(name for name in fields if name not in body)}"
            self._send(json.dumps({"error": {"message": words}}).encode(), 400)
        else:
            self._well(body)

    def _beyond(self, body: dict[str, Any]) -> None:
        self._send(self._json(json.dumps(dict.fromkeys(self._scores(body), 9)) if self._scores(body) else "9"))

    def _partial(self, body: dict[str, Any]) -> None:
        """Answer about all qualities except grammar."""
        self._send(self._json(json.dumps(self._scores(body) | {"grammar": None})))

    def _prose(self, body: dict[str, Any]) -> None:
        self._send(self._json("As a language model I would rather not say.", finish="length"))

    def _status(self, body: dict[str, Any], status: str, *after: str) -> None:
        headers = {"Retry_After": after[0]} if after else {}
        words = json.dumps({"error": {"message": f"no {self.headers.get('Authorization')} {status}"}})
        self._send(words.encode(), int(status), **headers)

    def _hidden(self, body: dict[str, Any], status: str, form: str) -> None:
        """Answer with an error that repeats the key, also with JSON escapes."""
        words = f"no {self.headers['Authorization'].removeprefix('Bearer ')}!"
        error: Any = {"object": {"error": {"message": words}}, "list": [{"error": words}], "name": {words: 1}}.get(form)
        escaped = '{"error": "' + "".join(f"\\u{ord(sign):04x}" for sign in words) + '"}'
        self._send((json.dumps(error) if error else escaped if form == "escaped" else words).encode(), int(status))

    def _redirect(self, body: dict[str, Any], where: str) -> None:
        self._send(b"", 307, Location=where)

    def _slow(self, body: dict[str, Any], seconds: str) -> None:
        time.sleep(float(seconds))
        self._well(body)

    def _drip(self, body: dict[str, Any]) -> None:
        self._send(b"", 200, Content_Length="5000")
        for _ in range(100):
            self.wfile.write(b" ")
            time.sleep(0.05)

    def _garbage(self, body: dict[str, Any]) -> None:
        self._send(b'{"choices": [{"mess')

    def _silent(self, body: dict[str, Any]) -> None:
        self.close_connection = True

    def _endless(self, body: dict[str, Any]) -> None:
        self._send(b"", 200, Transfer_Encoding="chunked", Content_Length="")
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")

    def _yes(self, body: dict[str, Any]) -> None:
        self._send(self._json("Yes"))

    def _odds(self, body: dict[str, Any]) -> None:
        """Answer Yes with its log probability and that of No."""
        top = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.4}]
        self._send(self._json("Yes", [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]))

    def _surrogate(self, body: dict[str, Any]) -> None:
        """Return half of an emoji in the text and as an alternative."""
        top = [{"token": "4", "logprob": -0.1}, {"token": "\ud83d", "logprob": -3.0}]
        self._send(self._json("4 \ud83d", [{"token": "4", "logprob": -0.1, "top_logprobs": top}]))

    def _logprobs(self, body: dict[str, Any]) -> None:
        """Return log probabilities of a 4 that could have been a 5, a 3 or not a number."""
        others = [("4", 0.5), (" 5", 0.2), ("5", 0.1), ("3", 0.1), ("good", 0.1)]
        from math import log

        top = [{"token": token, "logprob": log(p)} for token, p in others]
        self._send(self._json("4", [{"token": "4", "logprob": log(0.5), "top_logprobs": top}]))


@contextlib.contextmanager
def serving(script: Script = well, delay: float = 0.0, echo: bool = False) -> Iterator[Server]:
    server = Server(script, delay, echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
