"""A cluster without a page: in real time, on a ZooKeeper in memory, with TCP ports, recorded as any other run."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping

from lab.recordings.folder import BranchFolder
from lab.runtime import engine
from lab.runtime.headless.alarm_report import AlarmReport
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.runtime.machine.memory import collect_survivors
from lab.runtime.machine.space import ensure_space
from lab.runtime.pacer import wall_ms
from lab.runtime.tcp.gateway import Gateway
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

ALARM_OBSERVER = -1
"""In place of the id of a user."""
LOOK_S = 1.0
"""Between two looks at whether the engine runs."""
CLOSED_CONNECTIONS = 10_000
"""Closed ones that may be kept: asyncio's transports are cycles, of about 1 KB each."""


@contextlib.asynccontextmanager
async def standalone(
    folder: BranchFolder,
    config: engine.RunConfig,
    ports: Mapping[int, int],
    advertised: Mapping[int, tuple[str, int]] | None = None,
    *,
    keep_s: float | None = None,
) -> AsyncIterator[tuple[Lab, Gateway]]:
    """The lab with running brokers, and the gateway with open ports, until the block ends. `ports` by broker id, 0 = a
    free one; `advertised`: the addresses that clients receive, if different from 127.0.0.1 and the port. `keep_s`: how
    much history is recorded; with 0 only the brokers' files are written, and a failed engine cannot be rebuilt.
    Otherwise it is rebuilt from the recording as soon as possible.

    Raises Refusal for a port in use, ClusterError and ConfigException for an invalid cluster.
    """
    lab = Lab(
        engine.begin_recording(folder, config, keep_s),
        lambda recording, pacer: engine.wake(recording, pacer, "", keep_s),
        lambda: None,
        has_page=False,
    )
    try:
        await lab.act(engine.boot)
        clock = _Clock(lab, (wall_ms() - config.start_wall_ms) * 1_000)
        await lab.act(clock.follow)
        await lab.observe(ALARM_OBSERVER, lambda live: AlarmReport(lab.pacer.now_s))
        gateway = await lab.open_ports(ports, advertised)
        await gateway.ready()
        keeper = asyncio.create_task(_keep_running(lab, gateway, clock))
        try:
            yield lab, gateway
        finally:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
    finally:
        await lab.close()


class _Clock:
    """Which simulated time belongs to the wall, since the cluster was booted at `at_us`."""

    def __init__(self, lab: Lab, at_us: int) -> None:
        self._lab = lab
        self._began_s = lab.pacer.now_s()
        self._at_us = at_us

    def follow(self, live: LiveRun) -> None:
        """Continues a rebuilt cluster in real time."""
        live.pacer.set_mode("play")
        live.pacer.follow_from(self._at_us + int((self._lab.pacer.now_s() - self._began_s) * 1e6))


async def _keep_running(lab: Lab, gateway: Gateway, clock: _Clock) -> None:
    """Builds the engine again after it has failed, as with a full disk, once that is possible. Frees the memory of
    closed connections.
    """
    reported, collected = "", 0
    while True:
        await asyncio.sleep(LOOK_S)
        if gateway.closed_count - collected >= CLOSED_CONNECTIONS:
            collected = gateway.closed_count
            collect_survivors()
        if lab.core == "live" or not lab.recording.is_kept:
            continue
        try:
            ensure_space(lab.recording.folder.path)
            collect_survivors()
            await lab.act(clock.follow)
        except Refusal as refusal:
            if str(refusal) != reported:
                reported = str(refusal)
                logger.warning("%s The cluster serves no client until then.", refusal)
        else:
            reported = ""
            logger.warning("The cluster was built again from its recording, and serves clients.")
