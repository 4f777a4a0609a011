"""What the lab's sockets share: who the person is, how frames reach them, and that they look at their right again when
rights change.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User

from lab.rights import hold
from lab.web.classes.guests import ScopePerson, person_of_scope

T = TypeVar("T")
CLOSED_ABNORMALLY = 1006
"""The close code of a connection that ended without one (RFC 6455, 7.4.1)."""
_readers = ThreadPoolExecutor(1, thread_name_prefix="sockets")
"""Reads people and rights for sockets. When a lab is shown to a class, hundreds of sockets open and others check their
rights again: the acts of those who are there do not wait for them in the thread of the database.
"""


class HoldingSocket(AsyncWebsocketConsumer):
    """A `Holder` of lab/rights.py. A subclass calls `begin_holding`, `read_person` and `entered` on its event loop, in
    this order, and checks the right in `_recheck`.
    """

    _person: User | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """As in Channels without a channel layer, but without a task for each message."""
        self.scope, self.base_send = scope, send
        try:
            with contextlib.suppress(StopConsumer):
                while True:
                    await self.dispatch(await receive())
        except Exception:
            # Such as a page that is gone before its first answer: the server says no more about it.
            await self.disconnect(CLOSED_ABNORMALLY)
            raise

    async def dispatch(self, message: Any) -> None:
        """A message of the page reaches its handler on the event loop. Channels first has the thread of the database
        close its connection: each acknowledgement would wait for the queries of all others, and each socket that opens
        would connect to the database several times.
        """
        match message["type"]:
            case "websocket.receive":
                await self.websocket_receive(message)
            case "websocket.connect":
                await self.websocket_connect(message)
            case "websocket.disconnect":
                await self.disconnect(message["code"])
                raise StopConsumer

    def begin_holding(self, run: str = "") -> None:
        """Registers the socket before the person's rights are read for the first time, so that no change is missed.
        `run`: the slug of the run that it shows.
        """
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_entered = self._is_recheck_due = False
        hold(self, run)

    async def read_person(self, find: Callable[[ScopePerson], T]) -> T | None:
        """Finds out who the person is, and returns what `find` returns for them: both in one turn of the thread, since
        many sockets open at once. None if the visitor is not signed in.
        """

        def read() -> tuple[User, T] | None:
            person = person_of_scope(self.scope)
            return None if person is None else (person.user, find(person))

        known = await self._read(read)
        if known is None:
            return None
        self._person, found = known
        return found

    async def _read(self, look: Callable[[], T]) -> T:
        """What `look` reads from the database about the person or their rights."""
        return await sync_to_async(look, thread_sensitive=False, executor=_readers)()

    def entered(self) -> None:
        """The rights are known: they are read again if they have changed meanwhile."""
        self._has_entered = True
        if self._is_recheck_due:
            self._begin_recheck()

    @property
    def _user(self) -> User:
        """The person, once they are known."""
        assert self._person is not None
        return self._person

    @property
    def holder_id(self) -> int | None:
        return None if self._person is None else self._person.pk

    def recheck(self) -> None:
        """Rights have changed. Thread-safe."""
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so has the socket
            # Not in the context of the caller: within a call of sync_to_async it could not make another one.
            self._loop.call_soon_threadsafe(self._begin_recheck, context=Context())

    def _begin_recheck(self) -> None:
        if self._has_entered:
            self._begin(self._recheck())
        else:
            self._is_recheck_due = True

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it in a task, which is referenced until it is done."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _recheck(self) -> None:
        """Checks the right again; closes the socket if it has ended."""
        raise NotImplementedError
