"""No network but loopback: Python imports this by itself in every process that starts with this folder on PYTHONPATH.

An audit hook sees each connection, datagram and look-up of a name before it is made, whichever library of Python asks.
Addresses of this very machine count as loopback, since they never leave it; sockets of other kinds are not looked at.
What is refused looks as on a machine without a network, so that nothing waits for it. A name that is given to a socket
itself, and not to getaddrinfo as libraries do, is looked up before Python tells; what is no Python is not seen at all.
"""

import errno
import ipaddress
import os
import socket
import sys

OPEN = "HARNESS_TESTS_ONLINE"
"""Set for tests that are marked `network`, and for what they start."""

LOCAL = {"", "localhost", "ip6-localhost"}
SENDS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
LOOKS_UP = {"socket.getaddrinfo", "socket.gethostbyname"}
WATCHED = SENDS | LOOKS_UP


def guard(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse what would leave this machine."""
    if event not in WATCHED or os.environ.get(OPEN):
        return
    if event in LOOKS_UP:
        if not _known(arguments[0]):
            raise socket.gaierror(socket.EAI_NONAME, f"no network in tests: {arguments[0]!r} is not looked up")
    elif getattr(arguments[0], "family", None) in {socket.AF_INET, socket.AF_INET6} and not _here(arguments[1]):
        raise OSError(errno.ENETUNREACH, f"no network in tests: {arguments[1]!r} is not this machine")


def _known(host: object) -> bool:
    """Whether a name needs no look-up elsewhere."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    return name.rstrip(".").casefold() in {*LOCAL, socket.gethostname().casefold()} or _address(name) is not None


def _here(address: object) -> bool:
    """Whether an address is of this machine: only such a one can be bound; None is where the socket is connected."""
    host = str(address[0]) if isinstance(address, tuple) else ""
    number = _address(host)
    if number is None:
        return _known(host)
    if number.is_loopback or number.is_unspecified:
        return True
    if number.is_multicast or number.is_reserved:
        return False
    try:
        with socket.socket(socket.AF_INET if number.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind((str(number), 0))
    except OSError:
        return False
    return True


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        number = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(number, "ipv4_mapped", None) or number


sys.addaudithook(guard)
