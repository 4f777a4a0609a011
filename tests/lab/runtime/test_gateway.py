"""A connection of the gateway, with a transport and an engine that are controlled by the test."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from broker_core.broker.network.socket_server import Listener
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.tcp import gateway as gateway_module
from lab.runtime.tcp.gateway import MAX_IN_FLIGHT, Client, Gateway
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S


class Wire(asyncio.Transport):
    """A transport that remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.socket = socket.socket()
        self.written = b""
        self.is_open = True
        self.reads = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 5), "socket": self.socket}[name]

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.is_open = False
        self.socket.close()

    def is_closing(self) -> bool:
        return not self.is_open

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


class Desk(Gateway):
    """A gateway that keeps what comes in."""

    def __init__(self) -> None:
        # It has no lab.
        self.frames: list[bytes] = []

    def welcomes(self, client: Client) -> bool:
        return True

    def now_s(self) -> float:
        return 0.0

    def may_hold(self, more_bytes: int) -> bool:
        return True

    def enter(self, client: Client, frame: bytes) -> None:
        self.frames.append(frame)


def connected() -> tuple[Client, Wire, Desk]:
    desk, wire = Desk(), Wire()
    client = Client(desk, broker_id=1, request_bytes_max=1_000)
    client.connection_made(wire)
    return client, wire, desk


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def test_invalid_frame_closes_the_connection_after_earlier_responses() -> None:
    client, wire, desk = connected()
    client.data_received(framed(b"a", b"b") + b"\xff\xff\xff\xffgarbage")
    assert desk.frames == [b"a", b"b"] and wire.is_open
    client.send(b"answer a")
    assert wire.is_open
    client.send(b"answer b")
    assert wire.written == b"answer aanswer b" and not wire.is_open


def test_invalid_first_frame_closes_the_connection_at_once() -> None:
    client, wire, desk = connected()
    client.data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert desk.frames == [] and not wire.is_open


def test_client_that_never_reads_is_not_read_from() -> None:
    client, wire, desk = connected()
    client.pause_writing()
    client.data_received(framed(*[b"x"] * (MAX_IN_FLIGHT + 6)))
    assert desk.frames == [] and not wire.reads
    client.resume_writing()
    assert len(desk.frames) == MAX_IN_FLIGHT and not wire.reads
    for _ in range(MAX_IN_FLIGHT + 6):
        client.send(b"")
    assert len(desk.frames) == MAX_IN_FLIGHT + 6 and wire.reads and wire.is_open
    wire.close()


def test_responses_of_a_closing_connection_are_dropped() -> None:
    client, wire, _ = connected()
    client.data_received(framed(b"a", b"b"))
    wire.close()
    client.send(b"answer a")
    client.send(b"answer b")
    assert wire.written == b""


class Idle:
    """An engine that gets no requests."""

    is_stopped = False

    async def act(self, job: Callable[[LiveRun], None]) -> None:
        raise AssertionError("nobody is connected")


def test_port_in_use_is_retried_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often brokers came and went meanwhile."""
    interval_s = 0.2
    tries: list[float] = []

    async def serve(self: Gateway, broker_id: int, listener: Listener) -> NoReturn:
        tries.append(asyncio.get_running_loop().time())
        raise OSError("Address already in use")

    async def tried(times: int) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while len(tries) < times:
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.01)

    async def scene() -> None:
        gateway = Gateway(Idle(), {1: 0})
        try:
            for life in range(5):
                first = len(tries)
                gateway.publish(
                    PublishedUpdate([], [], 0, None, "play", 1.0, 0, listeners={1: Listener(life, 1_000, 0)})
                )
                await tried(first + 1)
            await tried(first + 5)
        finally:
            await gateway.close()
        gaps_s = [later - earlier for earlier, later in zip(tries[first:], tries[first + 1 :], strict=False)]
        assert min(gaps_s) > interval_s * 0.9, gaps_s

    monkeypatch.setattr(gateway_module, "LISTEN_AGAIN_S", interval_s)
    monkeypatch.setattr(Gateway, "_serve", serve)
    asyncio.run(scene())


class Stopped:
    """An engine that a class has stopped: it takes no frame."""

    is_stopped = True

    async def act(self, job: Callable[[LiveRun], None]) -> None:
        return


def test_engine_is_not_given_requests_of_connections_that_were_closed_while_it_was_stopped() -> None:
    def lost(gateway: Gateway, number: int | None = None, *, is_taken: bool = False) -> Client:
        client, wire = Client(gateway, broker_id=1, request_bytes_max=1_000), Wire()
        client.connection_made(wire)
        client.number = number
        client.data_received(framed(b"a", b"b"))
        if is_taken:
            gateway._arrived.popleft()
        wire.close()
        client.connection_lost(None)
        return client

    async def scene() -> None:
        engine = Stopped()
        gateway = Gateway(engine, {1: 0})
        gateway.publish(PublishedUpdate([], [], 0, None, "pause", 1.0, 0, listeners={1: Listener(0, 1_000, 0)}))
        open_one = Client(gateway, broker_id=1, request_bytes_max=1_000)
        open_one.connection_made(Wire())
        for _ in range(3):
            lost(gateway)
        assert not gateway._arrived and not gateway.has_waiting
        known = lost(gateway, 7)
        assert list(gateway._arrived) == [(known, b"a"), (known, b"b"), (known, None)]
        gateway._arrived.clear()
        taken = lost(gateway, is_taken=True)
        assert list(gateway._arrived) == [(taken, None)], "the engine is about to know it"
        open_one.data_received(framed(b"a"))
        lost(gateway)
        assert list(gateway._arrived) == [(taken, None), (open_one, b"a")]
        gateway._arrived.clear()
        engine.is_stopped = False
        quick = lost(gateway)
        assert list(gateway._arrived) == [(quick, b"a"), (quick, b"b"), (quick, None)], (
            "as Kafka handles what it has read"
        )
        await gateway.close()

    asyncio.run(scene())


class Closed:
    """An engine of a lab that has just been closed."""

    is_stopped = False

    async def act(self, job: Callable[[LiveRun], None]) -> None:
        raise Refusal("refusal.branch_closed", 409)


@pytest.mark.parametrize("turns_of_the_loop", range(4))
def test_request_that_arrives_while_the_lab_closes_is_not_logged(
    caplog: pytest.LogCaptureFixture, turns_of_the_loop: int
) -> None:
    async def scene() -> None:
        gateway = Gateway(Closed(), {1: 0})
        gateway.publish(PublishedUpdate([], [], 0, None, "play", 1.0, 0, listeners={1: Listener(0, 1_000, 0)}))
        await gateway.ready()
        gateway.enter(Client(gateway, broker_id=1, request_bytes_max=1_000), b"a request")
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        caplog.clear()
        await gateway.close()

    asyncio.run(scene())
    assert caplog.text == ""
