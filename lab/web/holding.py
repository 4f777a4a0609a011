"""What the lab's sockets share: how frames reach them, and that they look at their right again when rights change."""

import asyncio
import contextlib
from collections.abc import Coroutine
from contextvars import Context
from typing import Any

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import User


class HoldingSocket(AsyncWebsocketConsumer):
    """A `Holder` of lab/rights.py. A subclass calls `begin_holding` on its event loop, sets `_user`, and checks the
    right in `_recheck`.
    """

    _user: User

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """As in Channels without a channel layer, but without a task for each message."""
        self.scope, self.base_send = scope, send
        with contextlib.suppress(StopConsumer):
            while True:
                await self.dispatch(await receive())

    async def dispatch(self, message: Any) -> None:
        """A frame of the page reaches `receive` on the event loop. Channels first has the thread of the database close
        old connections: each acknowledgement would wait for the queries of all others.
        """
        if message["type"] == "websocket.receive":
            await self.websocket_receive(message)
        else:
            await super().dispatch(message)

    def begin_holding(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def holder_id(self) -> int:
        return self._user.pk

    def recheck(self) -> None:
        """Rights have changed. Thread-safe."""
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so has the socket
            # Not in the context of the caller: within a call of sync_to_async it could not make another one.
            self._loop.call_soon_threadsafe(self._begin_recheck, context=Context())

    def _begin_recheck(self) -> None:
        self._begin(self._recheck())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it in a task, which is referenced until it is done."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _recheck(self) -> None:
        """Checks the right again; closes the socket if it is gone."""
        raise NotImplementedError
