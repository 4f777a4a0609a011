"""A turn of the engine on what has arrived over TCP: a job in the lab's thread."""

from collections import deque
from typing import Protocol, TypeVar

from lab.runtime.live_run import LiveRun


class Peer(Protocol):
    """One connection. `number` is the engine's, None until the engine has its first frame."""

    number: int | None

    @property
    def broker_id(self) -> int: ...

    @property
    def peer(self) -> str: ...


P = TypeVar("P", bound=Peer)


def feed(live: LiveRun, arrived: deque[tuple[P, bytes | None]], clients: dict[int, P]) -> None:
    """Advances time, then passes every frame that has arrived by then to the engine, then runs what they set off at
    that instant, as far as a slice may; later slices run the rest. None in place of a frame: the connection is closed.
    `clients`: the engine's connections, by number. While a class has stopped the run, everything waits.
    """
    run = live.run
    if not arrived or live.pacer.is_stopped:
        return
    live.play_due()
    at_us = live.pacer.arrival_us(run)
    listeners = run.listeners
    for _ in range(len(arrived)):
        try:
            client, frame = arrived.popleft()
        except IndexError:
            # Frames were withdrawn, or the gateway was closed.
            break
        if frame is None:
            if client.number is not None:
                clients.pop(client.number, None)
                run.disconnect(client.number)
        elif client.number is not None:
            run.frame(client.number, frame, at_us)
        elif client.broker_id in listeners:
            client.number = run.connect(client.broker_id, client.peer)
            clients[client.number] = client
            run.frame(client.number, frame, at_us)
    if live.pacer.running:
        live.pacer.finish_instant(run)
