"""Damaged frames through a real port: each gets a response or a closed connection, and others are still served."""

import asyncio
import logging
import random
import resource
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from broker_core.broker.translation import TRANSLATIONS
from broker_core.wire.framing import encode_request
from broker_core.wire.schemas import BY_NAME
from lab.testing import Highwater
from tests.support.wire_messages import SLOW_APIS, damage, kinds, random_request

FRAMES = 100_000
AT_ONCE = 40
PATIENCE_S = 0.02
"""No client waits for an answer that may be delayed, such as that of a fetch."""
MAX_GROWTH_KB = 400_000


def frames(count: int) -> Iterator[bytes]:
    """With their lengths; some of those are absurd, some frames torn."""
    rng = random.Random(13)
    requested = [kind for kind in kinds() if kind.is_request and kind.api.name in TRANSLATIONS.keys() - SLOW_APIS]
    whole = [random_request(rng, kind) for kind in requested for _ in range(2)]
    for _ in range(count):
        frame = damage(rng, rng.choice(whole))
        length = len(frame).to_bytes(4, "big")
        match rng.randrange(40):
            case 0:
                yield rng.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"GET ")) + frame
            case 1:
                yield length + frame[: len(frame) // 2]
            case _:
                yield length + frame


async def send(port: int, frame: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame)
    with suppress(TimeoutError, ConnectionError):
        await asyncio.wait_for(reader.read(1), PATIENCE_S)
    writer.transport.abort()


async def send_all(ports: list[int], count: int) -> None:
    left = frames(count)

    async def some(number: int) -> None:
        for frame in left:
            await send(ports[number % len(ports)], frame)

    await asyncio.gather(*map(some, range(AT_ONCE)))


async def served(port: int) -> bool:
    api = BY_NAME["ApiVersions"]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(encode_request(api, 0, api.request.type(), correlation_id=5))
    size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), 30), "big")
    answer = await reader.readexactly(size)
    writer.close()
    return answer[:4] == b"\0\0\0\5"


@pytest.mark.highwater(brokers=(1,), config={"socket.request.max.bytes": "5000", "connections.max.idle.ms": "3000"})
def test_misbehaving_clients_do_not_block_others(highwater: Highwater) -> None:
    (port,) = highwater.ports.values()
    address = ("127.0.0.1", port)
    idle = [socket.create_connection(address) for _ in range(500)]
    half = socket.create_connection(address)
    half.sendall(b"\0\0\x10\0half")
    with socket.create_connection(address) as large:
        large.sendall((5_001).to_bytes(4, "big"))
        assert large.recv(1) == b""
    api = BY_NAME["ApiVersions"]
    never_reads = socket.create_connection(address)
    never_reads.settimeout(1)
    requested = encode_request(api, 0, api.request.type()) * 1_000
    with pytest.raises(TimeoutError):
        for _ in range(2_000):
            never_reads.sendall(requested)
    assert asyncio.run(served(port))
    for each in (idle[0], idle[-1], half):
        each.settimeout(30)
        assert each.recv(1) == b""
    for each in (*idle, half, never_reads):
        each.close()


@pytest.mark.soak
def test_corrupt_frames_over_tcp(highwater: Highwater, rounds, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lab.runtime.tcp.gateway")
    ports = list(highwater.ports.values())
    asyncio.run(send_all(ports, 200))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asyncio.run(send_all(ports, rounds(FRAMES)))
    assert all(asyncio.run(served(port)) for port in ports)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < MAX_GROWTH_KB
    view = highwater.view()
    errors = [alarm["detail"] for alarm in view["alarms"].values() if alarm["invariant"] == "UNKNOWN_SERVER_ERROR"]
    assert errors == []
    lines = [record.getMessage() for record in caplog.records if record.name == "lab.runtime.tcp.gateway"]
    assert any("hangs up on" in line for line in lines)
    assert all(len(line) < 1_000 and "\n" not in line for line in lines)
