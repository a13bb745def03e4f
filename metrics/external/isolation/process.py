"""One process that answers questions over its pipes, and everything it can do wrong.

It leads a session of its own, so that Ctrl-C in a terminal meets the harness alone and whatever the process has started
can be found and ended with it. Each question has a time. A process that dies, hangs or answers with garbage is ended
with all it started, its pipes are closed, and the question ends in WorkerFailed, with what the process last wrote to
its standard error.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, cast

from metrics.errors import BrokenPlugin, WorkerFailed
from metrics.external.isolation.settings import Settings
from metrics.external.isolation.wire import LONGEST, WireError, decoded, encoded

LOOK = 0.25
"""Seconds between two looks at the clock."""
PATIENCE = 2.0
"""Seconds in which a process may end by itself once its input is closed."""
PIECE = 1 << 16
LAST_WORDS = 300
"""Signs of the standard error that stand in a message."""

_SECRET = re.compile(r"(^|_)(KEYS?|TOKENS?|AUTH|PAT)(_|$)|SECRET|PASSW|CREDENTIAL|APIKEY", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/\s:@]*:[^/\s@]*@")
_MISLEADING = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"}
_running: set[Child] = set()


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Keep a Python that is started now from taking a file of the working folder for a module of its own library."""
    name = "PYTHONSAFEPATH"
    before = {name: os.environ[name]} if name in os.environ else {}
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
        os.environ.update(before)


class _Lost(Exception):
    """No answer will come, for this reason."""


class Child:
    """A process started by a command in a folder."""

    def __init__(self, command: Sequence[str], settings: Settings) -> None:
        self.settings, self.owner = settings, os.getpid()
        self._heard = bytearray()
        try:
            self._process = subprocess.Popen(  # noqa: S603  (a metric is code of the user's own choice)
                command, cwd=settings.folder, env=environment(os.environ, settings.env),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                start_new_session=True)
        except OSError as error:
            message = f"{settings.folder}: {shlex.join(command):.200} cannot be started: {error.strerror}"
            raise BrokenPlugin(message) from error
        self._stdin, self._stdout, self._stderr = self._pipes = [cast("IO[bytes]", pipe) for pipe in (
            self._process.stdin, self._process.stdout, self._process.stderr)]
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        _running.add(self)

    @property
    def alive(self) -> bool:
        """Whether this process started it and it has not ended."""
        return self.owner == os.getpid() and self in _running and self._process.poll() is None

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a question; WorkerFailed where none comes, and the process is gone then."""
        try:
            return self._exchange(encoded(question), seconds)
        except (_Lost, WireError) as error:
            reason = str(error) if isinstance(error, _Lost) else f"answered with garbage: {error}"
            self._hear()
            self.kill()
            raise WorkerFailed(f"its process {reason}{self._last_words()}") from error
        except BaseException:  # Ctrl-C among them
            self.kill()
            raise

    def close(self) -> None:
        """Close its input, let it end by itself, then kill it."""
        if self.owner == os.getpid() and self in _running:
            self._stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
        self.kill()

    def kill(self) -> None:
        """End it with all it started; nothing of it is left, neither a process nor an open pipe."""
        if self.owner != os.getpid() or self not in _running:
            return
        _running.discard(self)
        for number in family(self._process.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()

    def _exchange(self, question: bytes, seconds: float) -> dict[str, Any]:
        left, arrived, end = memoryview(question), bytearray(), time.monotonic() + seconds
        look = time.monotonic() + LOOK
        with selectors.DefaultSelector() as pipes:
            pipes.register(self._stdin, selectors.EVENT_WRITE)
            pipes.register(self._stdout, selectors.EVENT_READ)
            pipes.register(self._stderr, selectors.EVENT_READ)
            while not arrived.endswith(b"\n"):
                ended = self._process.poll() is not None
                ready = {key.fileobj for key, _ in pipes.select(max(0.0, min(LOOK, end - time.monotonic())))}
                if self._stdin in ready:
                    left = self._send(left)
                    if not left:
                        pipes.unregister(self._stdin)
                if self._stderr in ready and not self._hear():
                    pipes.unregister(self._stderr)
                if self._stdout in ready:
                    if not (piece := os.read(self._stdout.fileno(), PIECE)):
                        raise _Lost(self._ending())
                    arrived += piece
                elif ended:  # what it started may hold the pipe open for ever
                    raise _Lost(self._ending())
                if time.monotonic() > look:
                    self._look(end, seconds, len(arrived))
                    look = time.monotonic() + LOOK
        if left or arrived.count(b"\n") > 1:
            raise WireError("it is more than one message, or came before the question was read")
        return decoded(arrived)

    def _send(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._stdin.fileno(), left[:PIECE]):]
        except BlockingIOError:
            return left
        except BrokenPipeError:  # what it wrote before it went away is still to be read
            return left[:0]

    def _hear(self) -> bool:
        """Take what stands in its standard error, and keep the end of it; false where it is closed."""
        for _ in range(64):  # not for ever: it can be faster than we are
            try:
                piece = os.read(self._stderr.fileno(), PIECE)
            except BlockingIOError:
                return True
            if not piece:
                return False
            self._heard = (self._heard + piece)[-PIECE:]
        return True

    def _look(self, end: float, seconds: float, arrived: int) -> None:
        if arrived > LONGEST:
            raise _Lost(f"answered with a line of more than {LONGEST >> 30} GiB")
        if time.monotonic() >= end:
            raise _Lost(f"gave no answer in {seconds:g} s")

    def _ending(self) -> str:
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "closed its pipes before it answered"
        if status >= 0:
            return f"ended with exit status {status} before it answered"
        names = {number.value: number.name for number in signal.Signals}
        return f"was ended by {names.get(-status, f'signal {-status}')}"

    def _last_words(self) -> str:
        """The end of its standard error, from where Python tells of a crash if it does."""
        text = " ".join(self._heard.decode(errors="replace").split())
        text = "".join(sign if sign.isprintable() else "?" for sign in text)
        crash = text.rfind("Fatal Python error")
        words = text[crash:][:LAST_WORDS] if crash >= 0 else text[-LAST_WORDS:]
        return f"; it last said: {words}" if words else ""


def environment(ours: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """Our variables without those that hold a key or a password, as far as that can be seen, but with those named."""
    return {name: value for name, value in ours.items()
            if name in passed or not (name in _MISLEADING or is_secret(name, value))}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a key or a password, as far as that can be seen."""
    return bool(_SECRET.search(name) or _LOGIN.search(value))


def family(leader: int) -> set[int]:
    """A process, its descendants, and what has stayed in its session after its own parent ended, by number."""
    import psutil  # which the environments of metrics have not

    parents = {process.pid: process.info["ppid"] for process in psutil.process_iter(["ppid"])}
    members = {number for number in parents if number == leader or _session(number) == leader}
    while more := {number for number, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def _session(number: int) -> int | None:
    """The session of a process; None where it has just ended or is not ours to ask."""
    with contextlib.suppress(OSError):
        return os.getsid(number)
    return None


@atexit.register
def _end_all() -> None:
    for child in tuple(_running):
        child.close()
