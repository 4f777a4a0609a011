"""A connection of the gateway, with a transport and an engine that do what the test says."""

import asyncio
import socket
from typing import Any

from lab.runtime.gateway import MOST_UNDER_WAY, Client


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


class Desk:
    """A gateway that keeps what comes in."""

    def __init__(self) -> None:
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


def test_a_fault_in_the_stream_ends_the_connection_once_all_before_it_is_answered() -> None:
    client, wire, desk = connected()
    client.data_received(framed(b"a", b"b") + b"\xff\xff\xff\xffgarbage")
    assert desk.frames == [b"a", b"b"] and wire.is_open
    client.send(b"answer a")
    assert wire.is_open
    client.send(b"answer b")
    assert wire.written == b"answer aanswer b" and not wire.is_open


def test_a_fault_at_once_ends_the_connection_at_once() -> None:
    client, wire, desk = connected()
    client.data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert desk.frames == [] and not wire.is_open


def test_who_sends_and_never_reads_is_not_read_either() -> None:
    client, wire, desk = connected()
    client.pause_writing()
    client.data_received(framed(*[b"x"] * (MOST_UNDER_WAY + 6)))
    assert desk.frames == [] and not wire.reads
    client.resume_writing()
    assert len(desk.frames) == MOST_UNDER_WAY and not wire.reads
    for _ in range(MOST_UNDER_WAY + 6):
        client.send(b"")
    assert len(desk.frames) == MOST_UNDER_WAY + 6 and wire.reads and wire.is_open
    wire.close()
