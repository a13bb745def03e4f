"""Ctrl-C once lets what is being scored come to its end; a second one does not wait. SIGTERM counts as Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def first_waits(announce: Callable[[], None]) -> Iterator[None]:
    """The first signal calls `announce` and raises KeyboardInterrupt after the block; the second acts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}
    stopped = False

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal stopped
        stopped = True
        restore()
        announce()

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    except BaseException as error:
        if stopped:
            raise KeyboardInterrupt from error
        raise
    finally:
        restore()
    if stopped:
        raise KeyboardInterrupt
