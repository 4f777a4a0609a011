"""disk: how fast the disk of a broker is."""

from collections.abc import Sequence

from broker_core.partitions import broker_node
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import duration_us
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, broker_of, refuse

MAX_LATENCY_US = 60_000_000


def _disk(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 3 or arguments[0] != "slow":
        raise UsageError(f"disk {' '.join(arguments)} is not understood.")
    broker_id = broker_of("disk", process, arguments[1])
    latency_us = 0 if arguments[2] == "0" else duration_us(arguments[2])
    if latency_us > MAX_LATENCY_US:
        raise UsageError(f"{arguments[2]} is more than a minute.")
    return _slow(process, broker_id, latency_us)


def _slow(process: Process, broker_id: int, latency_us: int) -> Running:
    if process.cluster.kernel.slow_disks.get(broker_node(broker_id), 0) == latency_us:
        if latency_us:
            refuse(process, f"The disk of broker {broker_id} is as slow as that already.")
        else:
            refuse(process, f"The disk of broker {broker_id} is not slow.")
        return 1
    process.cluster.slow_disk(broker_id, latency_us)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return ["slow"]
    if len(words) == 2:
        return [str(broker_id) for broker_id in cluster.broker_ids]
    return ["0", "50ms", "500ms"] if len(words) == 3 else []


COMMAND = Command(
    "disk",
    "The disk of a broker.",
    (("disk slow N TIME", "what producers send and what it fetches takes so much longer to append; 0 ends that"),),
    _disk,
    complete=_complete,
)
