"""A page behind a slow network: everything that the server sends to it passes one link of 200 kbit/s."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from devtools.rehearsal.acknowledging import acknowledging, lab_frame
from devtools.rehearsal.lab_page import LAB_HELLO
from devtools.rehearsal.people import LOST, Leader, Participant, clock_ms

BYTES_A_S = 25_000
CHUNK = 1_250
"""What the link passes in 50 ms."""
BUFFER_BYTES = 8 * 1024
"""The buffers of the sockets: in larger ones the kernel would keep what the link has not passed yet."""


class NarrowPage(Participant):
    """The page of an observer who shows the leading lab. `latest_ms`: how far it was behind at most, since that was set
    to 0: an event of the class behind the first page that had it, the picture of the lab behind the presenter's page.
    `bytes_of_lab` came in `frames_of_lab` frames, `snaps` of which were snapshots. `set_ms`: when the timer of the
    class was set, by its seconds, which increase.
    """

    latest_ms = 0.0
    _shown = 0
    frames_of_lab = snaps = bytes_of_lab = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.set_ms: dict[int, float] = {}

    def look(self, leader: Leader) -> None:
        """Counts how far the page is behind now: frames that have not come yet are not counted by their arrival."""
        shown = (self.sections.get("/timer") or {}).get("seconds", 0)
        missing = [clock_ms() - at_ms for seconds, at_ms in self.set_ms.items() if seconds > shown]
        self.latest_ms = max(self.latest_ms, leader.behind_ms(self._shown), *missing)

    def happened(self, event: list[object]) -> None:
        assert isinstance(event[0], int)
        self.latest_ms = max(self.latest_ms, self.arrivals.later_ms(event[0]))

    async def follow(self, lab: str, leader: Leader) -> None:
        """Shows the lab until it is cancelled."""
        with contextlib.suppress(*LOST):
            async with self.visitor.socket(f"/ws/runs/{lab}/") as connection:
                await connection.send(LAB_HELLO)
                async with acknowledging(connection) as acks:
                    async for text in connection:
                        frame = lab_frame.decode(text)
                        if not (seq := frame.last_seq()):
                            continue
                        # What the page shows until now is behind at most now.
                        if self._shown:
                            self.latest_ms = max(self.latest_ms, leader.behind_ms(self._shown))
                        self._shown = seq
                        acks.has(seq)
                        self.frames_of_lab += 1
                        self.snaps += frame.k == "snap"
                        self.bytes_of_lab += len(text)


class _Link:
    """All connections share it."""

    def __init__(self) -> None:
        self._free_s = 0.0

    async def send(self, length: int) -> None:
        """Returns when the link has passed `length` bytes."""
        self._free_s = max(self._free_s, time.monotonic()) + length / BYTES_A_S
        await asyncio.sleep(self._free_s - time.monotonic())


@contextlib.asynccontextmanager
async def narrowed(server: str) -> AsyncIterator[str]:
    """An address of the server that is reached over the link."""
    host, port = urlsplit(server).hostname, urlsplit(server).port
    link, passing = _Link(), set[asyncio.Task[None]]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None
        passing.add(own)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            near = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            near.setblocking(False)
            await asyncio.get_running_loop().sock_connect(near, (host, port))
            from_server, to_server = await asyncio.open_connection(sock=near, limit=CHUNK)
            try:
                await asyncio.gather(_pass(reader, to_server, None), _pass(from_server, writer, link))
            finally:
                to_server.close()
        writer.close()
        passing.discard(own)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        for task in passing:
            task.cancel()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: _Link | None) -> None:
    while data := await reader.read(CHUNK):
        if link is not None:
            await link.send(len(data))
        writer.write(data)
        await writer.drain()
    writer.close()
