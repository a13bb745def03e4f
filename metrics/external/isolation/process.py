"""A process that answers questions, each a line of JSON, and everything that it can do wrong.

It leads a session of its own, so that Ctrl-C in a terminal reaches the harness alone, and whatever the process starts
can be found and ended with it. A process that dies, hangs or answers with garbage is ended with all it started, and the
question raises WorkerFailed with the end of its standard error. The next question starts a new process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from benchmarks.redaction import is_secret
from metrics import errors
from metrics.errors import BrokenPlugin, CannotScore, MissingResource, WorkerFailed
from metrics.external.isolation.wire import LONGEST, WireError, decoded, encoded

PATIENCE = 2.0
"""Seconds that a process has to end by itself once its input is closed."""
LAST_WORDS = 300
"""Characters of the standard error that a message quotes."""

_SKIPS: dict[str, type[Exception]] = {"CannotScore": CannotScore, "MissingResource": MissingResource}
_MISLEADING = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"}
_running: set[Process] = set()


class Process:
    """A command in a folder, under the name that its errors bear; it runs from the first question on."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.name, self._command, self._folder, self._env = name, command, folder, env
        self._child: subprocess.Popen[bytes] | None = None
        self._owner, self._questions = 0, 0
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether this process started it and it has not ended."""
        return self._child is not None and self._owner == os.getpid() and self._child.poll() is None

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer; an error that it names is raised as CannotScore, MissingResource or WorkerFailed."""
        with self._lock:
            if not self.alive:
                self.kill()
                self._start()
            self._questions += 1
            try:
                answer = self._exchange(encoded({**question, "id": self._questions}), seconds)
            except WireError as error:
                self.kill()
                raise WorkerFailed(f"{self.name}: its process {error}{self._last_words()}") from error
            except BaseException:  # Ctrl-C among them
                self.kill()
                raise
        if "error" in answer:
            raise self._raised(str(answer["error"]), " ".join(str(answer.get("message", "")).split())[:1000])
        return answer

    def close(self) -> None:
        """Close its input, let it end by itself, then kill it."""
        if self.alive and self._child is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._stdin.close()
                self._child.wait(PATIENCE)
        self.kill()

    def kill(self) -> None:
        """End it with all it started, and close its pipes."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return
        _running.discard(self)
        for number in family(child.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        child.wait()
        for thread in self._threads:
            thread.join(PATIENCE)
        for pipe in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):  # a question that was not read is still in its buffer
                pipe.close()

    def _start(self) -> None:
        try:
            self._child = subprocess.Popen(  # noqa: S603  (a metric is code of the user's own choice)
                self._command, cwd=self._folder, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            message = f"{self._folder}: {shlex.join(self._command):.200} cannot be started: {error.strerror}"
            raise BrokenPlugin(message) from error
        self._stdin, self._stdout, self._stderr = (
            cast("IO[bytes]", pipe) for pipe in (self._child.stdin, self._child.stdout, self._child.stderr))
        self._owner, self._heard = os.getpid(), b""
        self._threads = [threading.Thread(target=self._hear, args=(self._stderr,), daemon=True)]
        self._threads[0].start()
        _running.add(self)

    def _exchange(self, question: bytes, seconds: float) -> dict[str, Any]:
        """Write and read beside each other, since a process may answer before it has read all."""
        arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for target, argument in ((self._write, question), (self._read, arrived)):
            self._threads.append(threading.Thread(target=target, args=(argument,), daemon=True))
            self._threads[-1].start()
        end = time.monotonic() + seconds
        while True:
            ended = not self.alive
            with contextlib.suppress(queue.Empty):
                line = arrived.get(timeout=max(0.0, min(0.25, end - time.monotonic())))
                break
            if ended:  # what it started may hold the pipe open for ever
                raise WireError(self._ending())
            if time.monotonic() >= end:
                raise WireError(f"gave no answer in {seconds:g} s")
        if not line.endswith(b"\n"):
            raise WireError(self._ending() if len(line) <= LONGEST else
                            f"answered with a line of more than {LONGEST >> 30} GiB")
        self._threads = self._threads[:1]
        try:
            answer = decoded(line)
        except WireError as error:
            raise WireError(f"answered with garbage: {error}") from error
        if answer.get("id") != self._questions:
            raise WireError(f"answered question {answer.get('id')!r:.40} where {self._questions} was expected")
        return answer

    def _write(self, question: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # it went away; what it wrote before is still to be read
            self._stdin.write(question)
            self._stdin.flush()

    def _read(self, arrived: queue.SimpleQueue[bytes]) -> None:
        arrived.put(self._stdout.readline(LONGEST + 1))

    def _hear(self, stderr: IO[bytes]) -> None:
        """Keep the end of its standard error."""
        while piece := os.read(stderr.fileno(), 1 << 16):
            self._heard = (self._heard + piece)[-(1 << 16):]

    def _raised(self, kind: str, message: str) -> Exception:
        if kind in _SKIPS:
            return _SKIPS[kind](message)
        ours = isinstance(getattr(errors, kind, None), type)
        return WorkerFailed(f"{self.name}: {message}" if ours else f"{self.name}: {kind:.80}: {message}")

    def _ending(self) -> str:
        try:
            status = self._child.wait(PATIENCE) if self._child else 0
        except subprocess.TimeoutExpired:
            return "closed its pipes before it answered"
        if status >= 0:
            return f"ended with exit status {status} before it answered"
        names = {number.value: number.name for number in signal.Signals}
        return f"was ended by {names.get(-status, f'signal {-status}')}"

    def _last_words(self) -> str:
        """Quote the end of its standard error, from where Python tells of a crash if it does."""
        text = " ".join(self._heard.decode(errors="replace").split())
        text = "".join(sign if sign.isprintable() else "?" for sign in text)
        crash = text.rfind("Fatal Python error")
        words = text[crash:][:LAST_WORDS] if crash >= 0 else text[-LAST_WORDS:]
        return f"; it last said: {words}" if words else ""


def environment(ours: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """Return our variables without those that look like a key or a password, unless they are named."""
    return {name: value for name, value in ours.items()
            if name in passed or not (name in _MISLEADING or is_secret(name, value))}


def family(leader: int) -> set[int]:
    """Return a process, its descendants, and what stayed in its session after its own parent ended, by number."""
    import psutil  # which the environments of metrics lack

    parents = {process.pid: process.info["ppid"] for process in psutil.process_iter(["ppid"])}
    members = {number for number in parents if number == leader or _session(number) == leader}
    while more := {number for number, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def _session(number: int) -> int | None:
    """Return the session of a process; None where it has just ended or is not ours to ask."""
    with contextlib.suppress(OSError):
        return os.getsid(number)
    return None


@atexit.register
def _end_all() -> None:
    for process in tuple(_running):
        process.close()
