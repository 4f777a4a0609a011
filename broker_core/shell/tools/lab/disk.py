"""disk: the speed of a broker's disk."""

from collections.abc import Sequence

from broker_core.partitions import broker_node
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import duration_us
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, broker_of, not_understood, refuse
from broker_core.texts import text

MAX_LATENCY_US = 60_000_000


VERBS = ("slow", "fsync")


def _disk(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 3 or arguments[0] not in VERBS:
        raise not_understood("disk", arguments)
    broker_id = broker_of("disk", process, arguments[1])
    latency_us = 0 if arguments[2] == "0" else duration_us(arguments[2])
    if latency_us > MAX_LATENCY_US:
        raise UsageError(text("shell.over_a_minute", time=arguments[2]))
    return _slow(process, broker_id, latency_us) if arguments[0] == "slow" else _fsync(process, broker_id, latency_us)


def _slow(process: Process, broker_id: int, latency_us: int) -> Running:
    if process.cluster.kernel.slow_disks.get(broker_node(broker_id), 0) == latency_us:
        refuse(process, text("shell.disk_as_slow" if latency_us else "shell.disk_not_slow", broker=broker_id))
        return 1
    process.cluster.slow_disk(broker_id, latency_us)
    yield from ()
    return 0


def _fsync(process: Process, broker_id: int, latency_us: int) -> Running:
    if process.cluster.kernel.slow_fsyncs.get(broker_node(broker_id), 0) == latency_us:
        refuse(process, text("shell.fsync_as_slow" if latency_us else "shell.fsync_not_slow", broker=broker_id))
        return 1
    process.cluster.slow_fsync(broker_id, latency_us)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if len(words) == 2:
        return [str(broker_id) for broker_id in cluster.broker_ids]
    return ["0", "50ms", "500ms"] if len(words) == 3 else []


COMMAND = Command(
    "disk",
    text("help.disk"),
    (
        ("disk slow N TIME", text("help.disk_slow")),
        ("disk fsync N TIME", text("help.disk_fsync")),
    ),
    _disk,
    complete=_complete,
)
