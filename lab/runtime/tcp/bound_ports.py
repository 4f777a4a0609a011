"""Loopback sockets that are bound without listening: a port belongs to a broker even while it does not accept
connections.

The system allows two sockets with address reuse to have the same port until one of them listens. So the ports of this
process are recorded, and a free port is one that is not in use at all.
"""

import random
import socket
from collections.abc import Mapping

from lab.texts.refusal import Refusal

HOST = "127.0.0.1"
LASTING_PORTS = range(24_000, 29_000)
"""The range of ports that are reserved for branches. Those from 32,768 (Linux) or 49,152 on are given to outgoing
connections by the system: such a port would be taken by the time it is wanted again.
"""
PAGE_PORTS = range(29_500, 32_700)
"""The same for labs that are ended and started again at one address."""
ATTEMPTS = 50
_held: set[int] = set()


def hold(ports: Mapping[int, int]) -> dict[int, socket.socket]:
    """Binds a port for each broker id, 0 = a free one: all or none. Raises Refusal when one is taken."""
    bound: dict[int, socket.socket] = {}
    try:
        for broker_id, port in ports.items():
            bound[broker_id] = _named(port) if port else _free()
            _held.add(port_of(bound[broker_id]))
    except Refusal:
        for one in bound.values():
            release_port(port_of(one))
            one.close()
        raise
    return bound


def port_of(bound: socket.socket) -> int:
    """Its number."""
    number: int = bound.getsockname()[1]
    return number


def release_port(port: int) -> None:
    """Releases a port; the owner of its socket closes that."""
    _held.discard(port)


def bind_again(port: int) -> socket.socket:
    """Another socket for a held port whose own has listened and is closed. Raises Refusal when another process has it
    now.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setblocking(False)
    try:
        bound.bind((HOST, port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise Refusal("refusal.port_unusable", port=port, host=HOST, problem=str(error)) from error
    return bound


def share(bound: socket.socket) -> None:
    """For a socket that is about to listen: its port can be bound again while its connections linger."""
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def lasting_port() -> int:
    """A port that is not in use, and that the system does not give to outgoing connections."""
    with _free(PAGE_PORTS) as bound:
        return port_of(bound)


def _named(port: int) -> socket.socket:
    if port in _held:
        raise Refusal("refusal.port_of_other_broker", port=port, host=HOST)
    return bind_again(port)


def _free(among: range = LASTING_PORTS) -> socket.socket:
    for port in random.sample(among, ATTEMPTS):
        # A socket without SO_REUSEADDR is refused a port in use, and does not share it (see `share`).
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setblocking(False)
        try:
            bound.bind((HOST, port))
        except OSError:
            bound.close()
            continue
        return bound
    return bind_again(0)
