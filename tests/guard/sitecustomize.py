"""Allow no network except loopback: Python imports this in every process that starts with this folder on PYTHONPATH.

An audit hook sees each connection, datagram and name lookup by Python code before it is made. Addresses of this
machine count as loopback. A refusal raises the error of a machine without a network, so that no test waits.
"""

import errno
import ipaddress
import os
import socket
import sys

OPEN = "HARNESS_TESTS_ONLINE"
"""Variable set for tests marked `network` and for the processes they start."""

LOCAL = {"", "localhost", "ip6-localhost"}
SENDS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname"}


def guard(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse connections and lookups that would leave this machine."""
    if event not in SENDS | LOOK_UPS or os.environ.get(OPEN):
        return
    if event in LOOK_UPS:
        if not _is_known(arguments[0]):
            raise socket.gaierror(socket.EAI_NONAME, f"no network in tests: {arguments[0]!r} is not looked up")
    elif getattr(arguments[0], "family", None) in {socket.AF_INET, socket.AF_INET6} and not _is_local(arguments[1]):
        raise OSError(errno.ENETUNREACH, f"no network in tests: {arguments[1]!r} is not this machine")


def _is_known(host: object) -> bool:
    """Return True if a name needs no lookup on another machine."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    return name.rstrip(".").casefold() in {*LOCAL, socket.gethostname().casefold()} or _address(name) is not None


def _is_local(address: object) -> bool:
    """Return True for an address of this machine (it can be bound), and for None (a connected socket)."""
    host = str(address[0]) if isinstance(address, tuple) else ""
    number = _address(host)
    if number is None:
        return _is_known(host)
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
