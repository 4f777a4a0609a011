"""Labs of one process are not affected by what clients do to one of them."""

import asyncio
import random
import resource
import statistics
import time
from contextlib import suppress
from pathlib import Path

from broker_core.wire.framing import encode_request
from broker_core.wire.schemas import BY_NAME
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from tests.support.labs import connected, play, set_mode
from tests.support.recorded_runs import CONFIG

FIRE_S = 2.0
IDLE = 500
NEVER_READ = 10
RUBBISH = 20
SANE_S = 2.0
"""For most answers; a machine that does much else takes a while for some."""
LATEST_S = 20.0
MAX_GROWTH_KB = 150_000

ASKED = encode_request(BY_NAME["Metadata"], 9, BY_NAME["Metadata"].request.type(topics=None))


async def played(host: Host, run: str) -> Lab:
    """A lab whose first port takes connections."""
    lab = await host.start(run, "main", CONFIG)
    await lab.act(set_mode("play"))
    (await connected(lab))[1].close()
    return lab


def port_of(lab: Lab) -> int:
    return int(lab.bootstrap.split(",")[0].rpartition(":")[2])


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    """How long a lab takes to describe all its topics."""
    begun_s = time.monotonic()
    writer.write(ASKED)
    size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), LATEST_S), "big")
    await asyncio.wait_for(reader.readexactly(size), LATEST_S)
    return time.monotonic() - begun_s


async def answers(lab: Lab, until_s: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(lab))
    took_s: list[float] = []
    while time.monotonic() < until_s or not took_s:
        took_s.append(await answer(reader, writer))
        await asyncio.sleep(0.01)
    writer.close()
    return took_s


async def never_reads(port: int, until_s: float) -> None:
    """Asks and asks; what comes back stays in the socket."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    with suppress(TimeoutError, ConnectionError):
        while time.monotonic() < until_s:
            writer.write(ASKED * 100)
            await asyncio.wait_for(writer.drain(), until_s - time.monotonic())
    writer.transport.abort()
    del reader


async def rubbish(port: int, until_s: float, seed: int) -> None:
    """Invalid requests, repeatedly."""
    rng = random.Random(seed)
    while time.monotonic() < until_s:
        with suppress(ConnectionError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            size = rng.choice((b"\0\0\0\x40", b"\0\1\0\0", b"\x7f\xff\xff\xff"))
            writer.write(size + rng.randbytes(rng.randrange(1, 2_000)))
            await asyncio.sleep(0.01)
            writer.transport.abort()


def test_lab_responds_while_another_is_under_load(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        calm, fired = await played(host, "calm"), await played(host, "fired")
        port = port_of(fired)
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(IDLE)]
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        until_s = time.monotonic() + FIRE_S
        took_s, of_the_fired_s, *_ = await asyncio.gather(
            answers(calm, until_s),
            answers(fired, until_s),
            *(never_reads(port, until_s) for _ in range(NEVER_READ)),
            *(rubbish(port, until_s, seed) for seed in range(RUBBISH)),
        )
        assert took_s and statistics.median(took_s) < SANE_S, took_s
        assert of_the_fired_s
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < MAX_GROWTH_KB
        assert (calm.core, fired.core) == ("live", "live")
        for _, writer in idle:
            writer.transport.abort()

    play(tmp_path, scene)
