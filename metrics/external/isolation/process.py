"""A process that answers questions, each a line of JSON.

It leads a session of its own, so that Ctrl-C in a terminal reaches only the harness, and everything it starts can be
ended with it. A process that dies, hangs or answers with garbage is killed, and the question raises WorkerFailed with
the end of its standard error. The next question starts a new process.
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from metrics.errors import BrokenPlugin, CannotScore, MissingResource, WorkerFailed
from metrics.external.isolation.wire import LONGEST, WireError, decoded, encoded

PATIENCE = 2.0
"""Seconds for a process to end by itself once its input is closed."""
LAST_WORDS = 300
"""Characters of standard error quoted in a message."""

_SKIPS: dict[str, type[Exception]] = {"CannotScore": CannotScore, "MissingResource": MissingResource}


class Process:
    """A command in a folder, started by the first question; errors bear its name."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.name, self._command, self._folder, self._env = name, command, folder, env
        self._child: subprocess.Popen[bytes] | None = None
        self._questions = 0

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer; an error in it is raised as CannotScore, MissingResource or WorkerFailed."""
        if not self.alive:
            self.kill()
            self._start()
        self._questions += 1
        try:
            answer = self._exchange(encoded({**question, "id": self._questions}), seconds)
        except WireError as error:
            words = self._last_words()
            self.kill()
            raise WorkerFailed(f"{self.name}: its process {error}{words}") from error
        except BaseException:  # Ctrl-C among them
            self.kill()
            raise
        if kind := str(answer.get("error", "")):
            message = " ".join(str(answer.get("message", "")).split())[:1000]
            raise _SKIPS[kind](message) if kind in _SKIPS else WorkerFailed(f"{self.name}: {kind:.80}: {message}")
        return answer

    def close(self) -> None:
        """Close its input, let it end by itself, then kill it."""
        if self.alive and self._child is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._stdin.close()
                self._child.wait(PATIENCE)
        self.kill()

    def kill(self) -> None:
        """Kill it with everything it started."""
        child, self._child = self._child, None
        if child is not None:
            atexit.unregister(self.close)
            _kill_family(child.pid)
            child.wait()
            self._errors.close()
            for pipe in (self._stdin, self._stdout):
                with contextlib.suppress(OSError):  # a question that was not read is still in the buffer
                    pipe.close()

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._child = subprocess.Popen(  # noqa: S603  (a metric is code of the user's own choice)
                self._command, cwd=self._folder, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.close()
            message = f"{shlex.join(self._command):.200} cannot be started in {self._folder}: {error.strerror}"
            raise BrokenPlugin(f"{self.name}: {message}") from error
        self._stdin, self._stdout = cast("tuple[IO[bytes], IO[bytes]]", (self._child.stdin, self._child.stdout))
        atexit.register(self.close)

    def _exchange(self, question: bytes, seconds: float) -> dict[str, Any]:
        """Write a question while reading, since a process may answer before it has read everything."""
        answered, end = threading.Event(), time.monotonic() + seconds
        threads = [threading.Thread(target=self._write, args=(question,), daemon=True),
                   threading.Thread(target=self._watch, args=(end, answered), daemon=True)]
        for thread in threads:
            thread.start()
        try:
            line = self._stdout.readline(LONGEST + 1)
        finally:
            answered.set()
        if len(line) > LONGEST:
            raise WireError(f"answered with a line of more than {LONGEST >> 30} GiB")
        if not line.endswith(b"\n"):
            raise WireError(f"gave no answer in {seconds:g} s" if time.monotonic() >= end else self._ending())
        answer = decoded(line)
        if answer.get("id") != self._questions:
            raise WireError(f"answered question {answer.get('id')!r:.40} where {self._questions} was expected")
        return answer

    def _write(self, question: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # it ended; what it wrote before is still to be read
            self._stdin.write(question)
            self._stdin.flush()

    def _watch(self, end: float, answered: threading.Event) -> None:
        """Close the pipe to the reader once the process has ended or its time is over."""
        child = self._child
        while child is not None and not answered.wait(0.1):
            if child.poll() is not None or time.monotonic() >= end:
                _kill_family(child.pid)
                return

    def _ending(self) -> str:
        try:
            status = self._child.wait(PATIENCE) if self._child else 0
        except subprocess.TimeoutExpired:
            return "closed its pipes before it answered"
        if status < 0:
            return f"was ended by signal {-status} ({signal.strsignal(-status)})"
        return f"ended with exit status {status} before it answered"

    def _last_words(self) -> str:
        """Quote the end of its standard error, or the beginning of Python's report of a crash."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - (1 << 16)))
        text = " ".join(self._errors.read().decode(errors="replace").split())
        text = "".join(sign if sign.isprintable() else "?" for sign in text)
        crash = text.rfind("Fatal Python error")
        words = text[crash:][:LAST_WORDS] if crash >= 0 else text[-LAST_WORDS:]
        return f"; it last said: {words}" if words else ""


def _kill_family(leader: int) -> None:
    """Kill the session of a process and its descendants."""
    import psutil  # which the environments of metrics lack

    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(leader).children(recursive=True):
            child.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
