"""A cluster without a page: in real time, on a ZooKeeper in memory, with TCP ports, recorded as any other run."""

import contextlib
from collections.abc import AsyncIterator, Mapping

from lab.recordings.folder import BranchFolder
from lab.runtime import engine
from lab.runtime.alarm_report import AlarmReport
from lab.runtime.lab import Lab
from lab.runtime.pacer import wall_ms
from lab.runtime.tcp.gateway import Gateway

ALARM_OBSERVER = -1
"""In place of the id of a user."""


@contextlib.asynccontextmanager
async def standalone(
    folder: BranchFolder,
    config: engine.RunConfig,
    ports: Mapping[int, int],
    advertised: Mapping[int, tuple[str, int]] | None = None,
    *,
    keep_s: float | None = None,
) -> AsyncIterator[tuple[Lab, Gateway]]:
    """The lab, its brokers up, and the gateway, its ports open, until the block ends. `ports` by broker id, 0 = a free
    one; `advertised`: the addresses that clients receive, where these are not 127.0.0.1 and the port. `keep_s`:
    how much of the past is recorded; with 0 nothing is written but the brokers' files, and an engine that fails cannot
    be built again.

    Raises Refusal for a port in use, ClusterError and ConfigException for a cluster that cannot be.
    """
    lab = Lab(
        engine.begin_recording(folder, config, keep_s),
        lambda recording, pacer: engine.wake(recording, pacer, "", keep_s),
        lambda: None,
        has_page=False,
    )
    try:
        await lab.act(engine.boot)
        await lab.act(lambda live: live.pacer.follow_from((wall_ms() - config.start_wall_ms) * 1_000))
        await lab.observe(ALARM_OBSERVER, lambda live: AlarmReport(lab.pacer.now_s))
        gateway = await lab.open_ports(ports, advertised)
        await gateway.ready()
        yield lab, gateway
    finally:
        await lab.close()
