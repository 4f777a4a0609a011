"""The address of a lab that other people reach over the network, by HTTP or TLS."""

import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

LOOPBACK = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::")
_OUTSIDE = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
"""Addresses for documentation: choosing a route to them sends nothing."""


class TlsError(Exception):
    """The certificate or its key cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Room:
    """Where the lab is served. `names` are the hosts of its addresses, the one for the class first."""

    host: str = LOOPBACK
    names: tuple[str, ...] = ()
    tls_cert: str = ""
    tls_key: str = ""

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def scheme(self) -> str:
        return "https" if self.tls_cert else "http"

    def address(self, port: int, name: str = "") -> str:
        """`http://192.168.1.20:8000`."""
        host = name or (self.names[0] if self.names else self.host)
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    def own_address(self, port: int) -> str:
        """The address for the machine on which the lab runs."""
        return self.address(port, LOOPBACK if self.is_loopback or self.host in _EVERYWHERE else self.host)


def room_of(host: str, names: Sequence[str] = (), tls_cert: str = "", tls_key: str = "") -> Room:
    """The room served at `host`; `names` are additional hosts of its addresses, such as that of a proxy. Raises
    TlsError if the certificate cannot be used.
    """
    if bool(tls_cert) != bool(tls_key):
        raise TlsError("Only one of certificate and key is given.")
    if tls_cert:
        _check_tls(Path(tls_cert), Path(tls_key))
    found = [*names, *(_own_addresses() if host in _EVERYWHERE else () if is_loopback(host) else (host,))]
    return Room(host, tuple(dict.fromkeys(found)), tls_cert, tls_key)


def apply_room(room: Room) -> None:
    """Applies the room to the settings."""
    settings.SERVES_ROOM = not room.is_loopback
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, *(f"[{name}]" if ":" in name else name for name in room.names)]
    # Over plain HTTP a browser does not send back secure cookies.
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = bool(room.tls_cert)


def shown_address(request: HttpRequest, path: str) -> str:
    """The address of a path for other people's devices."""
    if settings.ROOM_ADDRESS and is_loopback(urlsplit(f"//{request.get_host()}").hostname or ""):
        return f"{settings.ROOM_ADDRESS}{path}"
    return request.build_absolute_uri(path)


def may_hear(request: HttpRequest) -> bool:
    """Whether a browser allows this page to use the microphone: only over TLS, or from its own machine."""
    return request.is_secure() or is_loopback(urlsplit(f"//{request.get_host()}").hostname or "")


def is_loopback(host: str) -> bool:
    """Whether this address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_addresses() -> list[str]:
    """The addresses under which others reach this machine, the usual one first, then its name."""
    found = []
    for outside, family in _OUTSIDE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((outside, 9))
                found.append(probe.getsockname()[0])
        except OSError:
            continue
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        found += [str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(name, None)]
    usable = [one for one in found if not is_loopback(one)]
    return [*(one for one in usable if ":" not in one), *(one for one in usable if ":" in one), name.lower()]


def _check_tls(cert: Path, key: Path) -> None:
    for path in (cert, key):
        if not path.is_file():
            raise TlsError(f"There is no file {path}.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise TlsError(f"{cert} and {key} cannot be used together ({error}).") from error
