"""Acknowledges the frames of a lab as its page does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from websockets.exceptions import ConnectionClosed

from devtools.rehearsal.visitor import ClientConnection

ACK_S = 0.05
"""Least time between two acknowledgements of a page (static/lab/core/live/feed.js)."""


class LabClock(msgspec.Struct):
    mode: str = ""


class LabFrame(msgspec.Struct):
    """As much of a lab's frame as a page without a picture needs. `sent_ms`: the server's stamp, since 1970.
    `command`: the number of a line that was accepted. `mode`: that of a frame which is a clock.
    """

    k: str
    id: str | None = None
    seq: int = 0
    sent_ms: float = 0.0
    mode: str = ""
    clock: LabClock | None = None
    command: int | None = None
    ev: list[msgspec.Raw] = []

    def last_seq(self) -> int:
        """The last event that a page has after this frame; 0 for a frame without events."""
        if self.k not in ("d", "snap"):
            return 0
        return int(bytes(self.ev[-1])[1:].split(b",", 1)[0]) if self.ev else self.seq


lab_frame = msgspec.json.Decoder(LabFrame)


class Acknowledging:
    """The acknowledgements of one page."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._seq = 0
        self._is_due = asyncio.Event()

    def has(self, seq: int) -> None:
        """The page has all events up to `seq`; nothing if it is 0."""
        if seq:
            self._seq = seq
            self._is_due.set()

    async def stay(self) -> None:
        """Sends them until it is cancelled, or the connection is closed."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._is_due.wait()
                self._is_due.clear()
                await self._connection.send(f'{{"k":"ack","seq":{self._seq}}}')
                await asyncio.sleep(ACK_S)


@contextlib.asynccontextmanager
async def acknowledging(connection: ClientConnection) -> AsyncIterator[Acknowledging]:
    """Keeps the acknowledgements of a page for as long as it is read."""
    acks = Acknowledging(connection)
    staying = asyncio.create_task(acks.stay())
    try:
        yield acks
    finally:
        staying.cancel()
