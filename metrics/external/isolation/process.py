"""A process that answers requests, one line of JSON each.

It leads its own session, so that Ctrl-C in a terminal reaches only the harness, and its descendants can be killed with
it. If it dies, hangs or sends an invalid answer, the request raises WorkerFailed with the end of its standard error,
and the next request starts a new process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from benchmarks.formats.records import Refused
from metrics.errors import BadScores, BrokenPlugin, CannotScore, MissingResource, WorkerFailed
from metrics.external.isolation.serving import MAX_MESSAGE_BYTES, decoded, encoded

EXIT_SECONDS = 2.0
"""Seconds that a process has to exit once its input is closed."""
MAX_QUOTED = 300
"""Characters of standard error quoted in a message."""
ERRORS = {"BadScores": BadScores, "CannotScore": CannotScore, "MissingResource": MissingResource}
"""Errors of the metric that keep their class; any other becomes a WorkerFailed."""
Answer = TypeVar("Answer")


class Process:
    """A command in a folder, started by the first request; messages of errors start with `name`."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.name, self._command, self._folder, self._env = name, command, folder, env
        self._child: subprocess.Popen[bytes] | None = None
        self._requests = 0
        atexit.register(self.close)

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float, parse: Callable[[dict[str, Any]], Answer]) -> Answer:
        """Return the answer parsed by `parse`; raise the error that it reports, if any."""
        if not self.alive:
            self.kill()
            self._start()
        self._requests += 1
        try:
            answer = self._exchange(encoded({**request, "id": self._requests}), seconds)
            if not answer.get("error"):
                return parse(answer)
        except BaseException as error:  # including Ctrl-C
            last_output = self._last_output()
            self.kill()
            if not isinstance(error, Refused | EOFError):
                raise
            invalid = "sent an invalid answer: " if isinstance(error, Refused) else ""
            raise WorkerFailed(f"{self.name}: its process {invalid}{error}{last_output}") from error
        kind, message = str(answer["error"]), " ".join(str(answer.get("message", "")).split())[:1000]
        raise ERRORS[kind](message) if kind in ERRORS else WorkerFailed(f"{self.name}: {kind:.80}: {message}")

    def close(self) -> None:
        if self._child is not None and self.alive:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._stdin.close()
                self._child.wait(EXIT_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill the process and everything that it started."""
        child, self._child = self._child, None
        if child is not None:
            with self._errors, contextlib.suppress(OSError), child:  # an unread request is still in the buffer
                _kill_tree(child.pid)

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._child = subprocess.Popen(  # noqa: S603  (code that the user chose)
                self._command, cwd=self._folder, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.close()
            raise BrokenPlugin(f"{self.name}: {shlex.join(self._command):.200} cannot be started in {self._folder}: "
                               f"{error.strerror}") from error
        self._stdin, self._stdout = cast("tuple[IO[bytes], IO[bytes]]", (self._child.stdin, self._child.stdout))

    def _exchange(self, request: bytes, seconds: float) -> dict[str, Any]:
        """Write a request while reading, since a process may answer before it has read everything."""
        child, end = cast("subprocess.Popen[bytes]", self._child), time.monotonic() + seconds
        threading.Thread(target=self._write, args=(request,), daemon=True).start()
        lines, limit = list[bytes](), MAX_MESSAGE_BYTES + 1
        reader = threading.Thread(target=lambda: lines.append(self._stdout.readline(limit)), daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(0.1)
            if child.poll() is not None or time.monotonic() >= end:
                _kill_tree(child.pid)  # this closes the pipe, so that the reader ends
        [line] = lines
        if len(line) > MAX_MESSAGE_BYTES:
            raise Refused(f"a line of more than {MAX_MESSAGE_BYTES >> 30} GiB")
        if line.endswith(b"\n"):
            answer = decoded(line)
            if answer.get("id") != self._requests:
                raise Refused(f"the answer has the id {answer.get('id')!r:.40}; expected {self._requests}")
            return answer
        if time.monotonic() >= end:
            raise EOFError(f"gave no answer in {seconds:g} s")
        try:
            status = child.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise EOFError("closed its pipes before it answered") from None
        raise EOFError(f"was killed by signal {-status} ({signal.strsignal(-status)})" if status < 0 else
                       f"ended with exit status {status} before it answered")

    def _write(self, request: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # the process ended; its earlier output is still read
            self._stdin.write(request)
            self._stdin.flush()

    def _last_output(self) -> str:
        """Quote the end of standard error, or the start of Python's crash report."""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - (1 << 16)))
        text = " ".join(self._errors.read().decode(errors="replace").split())
        text = "".join(character if character.isprintable() else "?" for character in text)
        crash = text.rfind("Fatal Python error")
        quoted = text[crash:][:MAX_QUOTED] if crash >= 0 else text[-MAX_QUOTED:]
        return f"; its last output: {quoted}" if quoted else ""


def _kill_tree(leader: int) -> None:
    import psutil  # not available in the environments of metrics

    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(leader).children(recursive=True):
            child.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
