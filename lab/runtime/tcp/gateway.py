"""The TCP ports of a lab's brokers: sockets on loopback, between clients outside and the engine.

The event loop owns the sockets; frames are passed to the engine as jobs in the lab's thread, and responses are written
when they are published here. A port is bound for the life of the gateway, and listens while its broker accepts
connections. As in Kafka, a connection that does not read its responses, or has requests waiting, is not read from.
"""

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import Context
from functools import partial
from typing import Protocol, cast

from broker_core.events.world import ClientRefused
from broker_core.run import Listener
from broker_core.texts import render
from broker_core.wire.framing import FrameSplitter
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.machine.descriptors import max_connections
from lab.runtime.tcp.bound_ports import HOST, bind_again, hold, port_of, release_port, share
from lab.runtime.tcp.turns import feed
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

BACKLOG = 128
MAX_IN_FLIGHT = 8
"""Requests of one connection that the engine holds; further ones wait in the socket."""
MAX_PENDING_TURNS = 2
"""Maximum number of turns given to the lab's thread: the running one and the next."""
MAX_CONNECTIONS = 10_000
"""Maximum number of connections of a lab. Kafka sets no limit (`max.connections`); this process may have descriptors
for fewer.
"""
MAX_HELD_BYTES = 256 * 1024 * 1024
"""Maximum bytes of incomplete requests, over all connections of a lab. Kafka sets no limit."""
IDLE_LOOK_S = 1.0
COMPLAINT_S = 10.0
"""Between two reports of refused connections."""
LISTEN_AGAIN_S = 5.0
"""After another process was found to have a broker's port."""
POLL_S = 0.005


class GatewayLab(Protocol):
    """What the gateway needs of a lab."""

    @property
    def is_stopped(self) -> bool: ...

    async def act(self, job: Callable[[LiveRun], None]) -> None: ...


class Client(asyncio.Protocol):
    """One connection. `number` is the engine's, None until it is known; `is_told`: the engine got a frame of it;
    `under_way`: requests without a response; `active_s`: when a frame was last received or sent.
    """

    def __init__(self, gateway: "Gateway", broker_id: int, request_bytes_max: int) -> None:
        self.gateway = gateway
        self.broker_id = broker_id
        self.active_s = 0.0
        self.number: int | None = None
        self.is_reported = False
        self.peer = ""
        self._transport: asyncio.Transport | None = None
        self._splitter = FrameSplitter(request_bytes_max)
        self._frames: deque[bytes] = deque()
        self.in_flight = 0
        self._may_write = True
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        # Those of uvloop inherit from no class of asyncio.
        self._transport = cast(asyncio.Transport, transport)
        self.peer = transport.get_extra_info("peername")[0]
        its_socket = transport.get_extra_info("socket")
        its_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        its_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.active_s = self.gateway.now_s()
        if not self.gateway.welcomes(self):
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        self.active_s = self.gateway.now_s()
        splitter = self._splitter
        held_bytes = splitter.held_bytes
        self._frames += splitter.feed(data)
        if not self.gateway.may_hold(splitter.held_bytes - held_bytes):
            self.refuse(f"more than {MAX_HELD_BYTES} bytes of requests that are not whole")
            return
        self._submit_frames()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whichever side."""
        self._transport = None
        self.gateway.may_hold(-self._splitter.held_bytes)
        self.gateway.lost(self)

    def pause_writing(self) -> None:
        """The client does not read responses: it is not served until it does."""
        self._may_write = False

    def resume_writing(self) -> None:
        """It has read."""
        self._may_write = True
        self._submit_frames()

    def send(self, frame: bytes) -> None:
        """An answer, or b"" for a request that has none."""
        self.active_s = self.gateway.now_s()
        self.in_flight -= 1
        if frame and self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)
        self._submit_frames()

    def close_when_written(self) -> None:
        """Closes after the written bytes were sent."""
        self._frames.clear()
        if self._transport is not None:
            self._transport.close()

    def refuse(self, why: str) -> None:
        """The broker logs what is wrong with a client, and closes the connection."""
        logger.info("b%s hangs up on %s: %s", self.broker_id, self.peer, why)
        self.close_when_written()

    def _submit_frames(self) -> None:
        """Passes frames to the engine up to the limit of requests in flight; beyond that the socket is not read.
        Invalid bytes close the connection, once all earlier requests have responses.
        """
        while self._frames and self._may_write and self.in_flight < MAX_IN_FLIGHT:
            self.in_flight += 1
            self.gateway.enter(self, self._frames.popleft())
        if self._transport is not None and self._is_paused != bool(self._frames):
            self._is_paused = bool(self._frames)
            if self._is_paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()
        transport = self._transport
        is_done = not self._frames and not self.in_flight
        if self._splitter.fault and is_done and transport is not None and not transport.is_closing():
            self.refuse(str(self._splitter.fault))


class Gateway:
    """All ports of one lab. Use it from the event loop."""

    def __init__(
        self, engine: GatewayLab, ports: Mapping[int, int], advertised: Mapping[int, tuple[str, int]] | None = None
    ) -> None:
        """`ports` by broker id, 0 = a free one. `advertised`: the addresses that clients receive, if different from the
        brokers' own. Raises Refusal for a port in use.
        """
        self._engine = engine
        self._advertised = dict(advertised or {})
        self._bound = hold(ports)
        self.ports = {broker_id: port_of(bound) for broker_id, bound in self._bound.items()}
        self.closed_count = 0
        """The connections that were closed so far."""
        self._listening: dict[int, tuple[Listener, asyncio.Server]] = {}
        self._listeners: Mapping[int, Listener] = {}
        self._held_bytes = 0
        self._may_complain_s = 0.0
        self._refused = 0
        self._waiting = 0
        self._loop = asyncio.get_running_loop()
        self._clients: dict[int, Client] = {}
        self._open: set[Client] = set()
        #: between the event loop, which appends, and the lab's thread, which takes
        self._arrived: deque[tuple[Client, bytes | None]] = deque()
        self._news = asyncio.Event()
        self._listeners_changed = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._work(), context=Context()),
            asyncio.create_task(self._listen(), context=Context()),
            asyncio.create_task(self._close_idle(), context=Context()),
        ]

    @property
    def endpoints(self) -> dict[int, tuple[str, int]]:
        """The address of each broker in the responses to clients (advertised.listeners)."""
        return {broker_id: (HOST, port) for broker_id, port in self.ports.items()} | self._advertised

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers`: HOST:PORT of every broker, commas between."""
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    @property
    def has_waiting(self) -> bool:
        """Whether a response to any client is pending."""
        return self._waiting > 0

    @property
    def client_count(self) -> int:
        """How many connections are open."""
        return len(self._open)

    # what sockets say

    def welcomes(self, client: Client) -> bool:
        """Whether a connection may stay; the engine learns of it with its first frame."""
        if client.broker_id not in self._listeners:
            return False
        if len(self._open) >= min(MAX_CONNECTIONS, max_connections()):
            self._refused += 1
            if self.now_s() >= self._may_complain_s:
                self._may_complain_s = self.now_s() + COMPLAINT_S
                logger.warning(
                    "b%s refuses a connection of %s: %s are open, which is the limit (%s refused so far)."
                    " Close some of them, or raise the limit of open files of this process (ulimit -n).",
                    client.broker_id,
                    client.peer,
                    len(self._open),
                    self._refused,
                )
            return False
        self._open.add(client)
        return True

    def now_s(self) -> float:
        """A monotonic clock."""
        return self._loop.time()

    def may_hold(self, more_bytes: int) -> bool:
        """Counts the bytes of incomplete frames; returns whether they are within the limit."""
        self._held_bytes += more_bytes
        return more_bytes <= 0 or self._held_bytes <= MAX_HELD_BYTES

    def enter(self, client: Client, frame: bytes) -> None:
        """A frame for the engine."""
        client.is_reported = True
        self._waiting += 1
        self._arrived.append((client, frame))
        self._news.set()

    def lost(self, client: Client) -> None:
        """A connection is closed. An engine that never got a frame of it, or has stopped, is not notified."""
        self._open.discard(client)
        self.closed_count += 1
        self._waiting -= client.in_flight
        if client.is_reported and not self._withdraw(client):
            self._arrived.append((client, None))
            self._news.set()
        client.in_flight = 0

    def _withdraw(self, client: Client) -> bool:
        """While a class has stopped the run, removes the frames of a connection that the engine does not know: else
        they would accumulate, however few connections are open. Returns whether the engine got none of them. The lab's
        thread may take frames meanwhile.
        """
        if client.number is not None or not self._engine.is_stopped:
            return False
        withdrawn = 0
        for arrived in [each for each in self._arrived.copy() if each[0] is client]:
            with contextlib.suppress(ValueError):
                self._arrived.remove(arrived)
                withdrawn += 1
        return withdrawn == client.in_flight

    def time_changed(self) -> None:
        """What arrived while a class had stopped the run may be handed over now."""
        if self._arrived:
            self._news.set()

    # what the engine says

    def publish(self, batch: PublishedUpdate) -> None:
        """Frames to send, and the brokers that accept connections now."""
        refused = False
        for number, frame in batch.outputs:
            client = self._clients.get(number)
            if frame is None:
                refused = True
            if client is None:
                continue
            if frame is None:
                client.close_when_written()
            elif client.in_flight:
                self._waiting -= 1
                client.send(frame)
        if refused:
            for *_, event in batch.envelopes:
                if isinstance(event, ClientRefused):
                    logger.info("%s hangs up on %s: %s", event.broker, event.node, render(event.why))
        self._listen_to(batch.listeners)

    def _listen_to(self, listeners: Mapping[int, Listener]) -> None:
        if listeners != self._listeners:
            self._listeners = dict(listeners)
            self._listeners_changed.set()
            self._news.set()

    def engine_stopped(self) -> None:
        """The engine has stopped: no request gets a response any more."""
        self._listen_to({})
        self._arrived.clear()
        for client in list(self._open):
            client.is_reported = False
            client.close_when_written()
        self._clients.clear()

    async def ready(self) -> None:
        """Returns when the ports of all brokers that accept connections are listening."""
        while not self._listeners or not all(broker_id in self._listening for broker_id in self._listeners):
            await asyncio.sleep(POLL_S)

    async def close(self) -> None:
        """Closes everything."""
        # The lab refuses turns from here on, which is nothing to warn of.
        self._listeners = {}
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self.engine_stopped()
        for _, server in self._listening.values():
            server.close()
        for broker_id, bound in self._bound.items():
            bound.close()
            release_port(self.ports[broker_id])

    # in the background

    async def _work(self) -> None:
        """Passes arriving frames to the engine: one turn runs while the next one is queued, so that the engine does not
        wait.
        """
        turns = asyncio.Semaphore(MAX_PENDING_TURNS)
        in_flight: set[asyncio.Task[None]] = set()
        try:
            while True:
                await self._news.wait()
                await turns.acquire()
                self._news.clear()
                turn = asyncio.create_task(self._take_turn())
                in_flight.add(turn)
                turn.add_done_callback(in_flight.discard)
                turn.add_done_callback(lambda _: turns.release())
        finally:
            for turn in in_flight:
                turn.cancel()

    async def _take_turn(self) -> None:
        try:
            if self._arrived:
                await self._engine.act(partial(feed, arrived=self._arrived, clients=self._clients))
        except Refusal as refusal:
            if self._listeners:
                logger.warning("%s", refusal)
            self._engine_refused()

    def _engine_refused(self) -> None:
        """It accepts nothing now, as with a full disk: all connections are closed, and the engine is notified when it
        resumes.
        """
        self._listen_to({})
        for _ in range(len(self._arrived)):
            with contextlib.suppress(IndexError):
                client, frame = self._arrived.popleft()
                if frame is None:
                    self._arrived.append((client, frame))
        for client in list(self._open):
            client.close_when_written()

    async def _listen(self) -> None:
        """Ports follow their brokers: a new life of one is a new socket, and the old one's connections are closed."""
        is_refused = False
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LISTEN_AGAIN_S if is_refused else None):
                    await self._listeners_changed.wait()
            self._listeners_changed.clear()
            is_refused = False
            for broker_id, (listener, server) in list(self._listening.items()):
                if self._listeners.get(broker_id) != listener:
                    server.close()
                    del self._listening[broker_id]
                    for client in [client for client in self._open if client.broker_id == broker_id]:
                        client.close_when_written()
                    with contextlib.suppress(Refusal):
                        self._bound[broker_id] = bind_again(self.ports[broker_id])
            for broker_id, listener in self._listeners.items():
                if broker_id in self._bound and broker_id not in self._listening:
                    try:
                        self._listening[broker_id] = (listener, await self._serve(broker_id, listener))
                    except (Refusal, OSError) as error:
                        logger.warning("b%s takes no connections: %s", broker_id, error)
                        is_refused = True

    async def _serve(self, broker_id: int, listener: Listener) -> asyncio.Server:
        """Raises Refusal or OSError when another process listens there."""
        if self._bound[broker_id].fileno() < 0:
            self._bound[broker_id] = bind_again(self.ports[broker_id])
        share(self._bound[broker_id])
        return await self._loop.create_server(
            lambda: Client(self, broker_id, listener.request_bytes_max), sock=self._bound[broker_id], backlog=BACKLOG
        )

    async def _close_idle(self) -> None:
        """Closes connections that are idle and wait for nothing (`Selector.IdleExpiryManager`)."""
        while True:
            await asyncio.sleep(IDLE_LOOK_S)
            now_s = self.now_s()
            for client in list(self._open):
                listener = self._listeners.get(client.broker_id)
                if listener is None or client.in_flight or listener.idle_ms_max <= 0:
                    continue
                if (now_s - client.active_s) * 1_000 >= listener.idle_ms_max:
                    client.close_when_written()


__all__ = ["Gateway"]
