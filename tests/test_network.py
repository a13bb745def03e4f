"""Tests and the processes that they start reach only this machine (tests/guard)."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.guard.sitecustomize import OPEN
from tests.judge_server import serving

TRIES = """
import socket, urllib.request

def connect(address, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as client:
        client.settimeout(5)
        client.connect(address)

def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"", address)

for attempt, *arguments in (
        (connect, ("192.0.2.1", 80)), (connect, ("2001:db8::1", 80), socket.AF_INET6),
        (connect, ("192.0.2.1", 53), socket.AF_INET, socket.SOCK_DGRAM), (send, ("192.0.2.1", 53)),
        (socket.getaddrinfo, "example.org", 80), (socket.gethostbyname, "example.org"),
        (urllib.request.urlopen, "http://example.org/")):
    try:
        attempt(*arguments)
    except OSError as error:
        assert "no network in tests" in str(error), (arguments, error)
    else:
        raise AssertionError(arguments)
"""


def test_no_process_of_the_tests_reaches_the_network(tmp_path: Path) -> None:
    exec(TRIES, {})  # noqa: S102  (the same lines as in the child)
    done = subprocess.run([sys.executable, "-P", "-c", TRIES], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_this_machine_is_reachable(tmp_path: Path) -> None:
    with serving() as server:
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(urllib.error.HTTPError, match="501"):  # it does not support GET
                urllib.request.urlopen(f"http://{host}:{server.server_address[1]}/", timeout=5)
    with socket.create_server(("0.0.0.0", 0)) as listening:  # noqa: S104
        socket.create_connection((socket.gethostname(), listening.getsockname()[1]), timeout=5).close()
    path = os.path.relpath(tmp_path / "socket")  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as client:
        listening.bind(path)
        listening.listen()
        client.connect(path)


@pytest.mark.network
def test_tests_marked_network_are_not_guarded() -> None:
    """Connecting a datagram socket sends nothing."""
    assert os.environ[OPEN]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        answer = os.strerror(client.connect_ex(("192.0.2.1", 53)))  # the machine itself may have no network
    assert "no network in tests" not in answer
