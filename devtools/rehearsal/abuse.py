"""Abuse of a class that lasts as long as a spell: acts far beyond the limit, and guessed codes."""

import asyncio
import contextlib
import itertools
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from devtools.rehearsal.door import join
from devtools.rehearsal.guesses import Guessed
from devtools.rehearsal.people import CLASS_HELLO, LOST, clock_ms
from devtools.rehearsal.spells import TURNS
from devtools.rehearsal.taught import Taught
from devtools.rehearsal.visitor import ClientConnection, Refused, Visitor

ROOT = Path(__file__).parents[2]
ACTS_A_S = 1_000
FLOOD_S = 0.01
"""Between two bursts of acts."""
IN_A_SPELL = 4
"""The server closes the socket of a person who floods the class after 230 acts, and holds the person off for 30 s:
another one continues.
"""


class Flood:
    """People who do nothing but flood the class, one at a time. `sent` acts in `sending_s` seconds, on `accepted`
    sockets; those that were refused to a person who is held off are not among them.
    """

    def __init__(self, taught: Taught) -> None:
        self._taught = taught
        self._people: list[Visitor] = []
        self._numbers = itertools.count(1)
        self.codes = Counter[int]()
        self.sent = self.accepted = self.refused = 0
        self.sending_s = 0.0

    async def join(self) -> None:
        """As many people join as the spells need."""
        for number in range(1, TURNS * IN_A_SPELL + 1):
            visitor = Visitor(self._taught.server)
            await join(visitor, self._taught.given, f"Floods {number}")
            self._people.append(visitor)

    async def run(self, over: asyncio.Event) -> None:
        """Floods until the event. The last person of the spell continues to connect while held off."""
        people = [self._people.pop() for _ in range(IN_A_SPELL)]
        while not over.is_set():
            with contextlib.suppress(*LOST):
                await self._flood(people[0], over)
            if len(people) > 1:
                people.pop(0)
            await asyncio.sleep(FLOOD_S)

    async def _flood(self, person: Visitor, over: asyncio.Event) -> None:
        async with person.socket(f"/ws/classes/{self._taught.given.slug}/") as connection:
            await connection.send(CLASS_HELLO)
            welcomed = asyncio.Event()
            reading = asyncio.create_task(read(connection, welcomed))
            first = asyncio.create_task(welcomed.wait())
            try:
                await asyncio.wait((first, reading), return_when=asyncio.FIRST_COMPLETED)
                self.accepted += welcomed.is_set()
                self.refused += not welcomed.is_set()
                if welcomed.is_set():
                    await self._send(connection, reading, over)
            finally:
                first.cancel()
                reading.cancel()
                if connection.close_code is not None:
                    self.codes[connection.close_code] += 1

    async def _send(self, connection: ClientConnection, reading: asyncio.Task[None], over: asyncio.Event) -> None:
        began_ms, sent = clock_ms(), 0
        try:
            while not over.is_set() and not reading.done():
                due = int((clock_ms() - began_ms + 1_000 * FLOOD_S) / 1_000 * ACTS_A_S)
                for _ in range(sent, due):
                    await connection.send(_act(f"flood-{next(self._numbers)}", "mark"))
                    sent += 1
                await asyncio.sleep(FLOOD_S)
        finally:
            self.sent += sent
            self.sending_s += (clock_ms() - began_ms) / 1_000

    @property
    def acts_a_s(self) -> float:
        return self.sent / self.sending_s if self.sending_s else 0.0


class Guesses:
    """The process that guesses codes; between two `run` it waits."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.found = Guessed()

    @contextlib.asynccontextmanager
    async def there(self) -> AsyncIterator[None]:
        """Keeps the process for as long as spells last. Raises Refused if it has failed."""
        command = (sys.executable, "-m", "devtools.rehearsal.guesses", self._server)
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=ROOT)
        try:
            yield
            said, _ = await self._process.communicate(b"")
            if self._process.returncode or not said:
                raise Refused(f"The process that guesses codes ended with {self._process.returncode}.")
            self.found = Guessed(**json.loads(said))
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    async def run(self, over: asyncio.Event) -> None:
        """Guesses until the event."""
        self._toggle()
        await over.wait()
        self._toggle()

    def _toggle(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")


async def read(connection: ClientConnection, welcomed: asyncio.Event | None = None) -> None:
    """Reads until the socket ends. `welcomed` is set by the first frame."""
    with contextlib.suppress(*LOST):
        async for _ in connection:
            if welcomed is not None:
                welcomed.set()


def _act(id: str, op: str) -> str:
    return json.dumps({"k": "act", "id": id, "do": {"op": op}})
