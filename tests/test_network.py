"""Tests reach nothing but this machine, and neither does what they start (tests/guard)."""

import json
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
import json, socket, urllib.request

def connect(address, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as tried:
        tried.settimeout(5)
        tried.connect(address)

def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        tried.sendto(b"", address)

def answer(attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError as error:
        return str(error)
    return "let through"

answers = [answer(*one) for one in (
    (connect, ("192.0.2.1", 80)), (connect, ("2001:db8::1", 80), socket.AF_INET6),
    (connect, ("192.0.2.1", 53), socket.AF_INET, socket.SOCK_DGRAM),
    (send, ("192.0.2.1", 53)),
    (socket.getaddrinfo, "example.org", 80), (socket.gethostbyname, "example.org"),
    (urllib.request.urlopen, "http://example.org/"))]
"""


def test_nothing_leaves_this_process_or_one_that_it_starts(tmp_path: Path) -> None:
    names: dict[str, list[str]] = {}
    exec(TRIES, names)  # noqa: S102  (the same lines as in the child)
    code = f"{TRIES}\nprint(json.dumps(answers))"
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    for answers in (names["answers"], json.loads(done.stdout)):
        assert len(answers) == 7
        assert all("no network in tests" in answer for answer in answers), answers


def test_this_machine_is_let_through(tmp_path: Path) -> None:
    with serving() as server:
        port = server.server_address[1]
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(urllib.error.HTTPError, match="501"):  # it knows no GET
                urllib.request.urlopen(f"http://{host}:{port}/", timeout=5)
    with socket.create_server(("0.0.0.0", 0)) as listening:  # noqa: S104
        socket.create_connection((socket.gethostname(), listening.getsockname()[1]), timeout=5).close()
    place = os.path.relpath(tmp_path / "socket")  # such a name may not be long
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as made:
        listening.bind(place)
        listening.listen()
        made.connect(place)


@pytest.mark.network
def test_a_test_that_says_so_is_not_guarded() -> None:
    """Nothing is sent by connecting a datagram socket."""
    assert os.environ[OPEN]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        answer = os.strerror(made.connect_ex(("192.0.2.1", 53)))  # a machine may have no way there, whoever asks
    assert "no network in tests" not in answer
