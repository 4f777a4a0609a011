"""A replica's files and its broker's state. For down and frozen brokers only their disks are read."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from broker_core.cluster import LiveReplica
from broker_core.partitions import TopicPartition
from broker_core.records.control_record import read_end_transaction_marker
from broker_core.records.record_batch import (
    BatchHeader,
    iterate_batches,
    iterate_records,
)
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Sleep, Wait

STEADY_US = 700_000
STEADY_LIMIT_US = 12_000_000
_OUT = ("frozen", "exiting", "down")


class ReplicaReading(NamedTuple):
    """A replica on one broker. `state` is the broker's; `live` is None unless the broker is up and has the replica."""

    broker_id: int
    state: str
    folder: str
    live: LiveReplica | None
    segments: tuple[tuple[int, int], ...]


def readings(cluster: ClusterApi, partition: str) -> list[ReplicaReading]:
    """The replicas of a partition, by broker: base offset and size of each segment's .log."""
    found = []
    for broker_id in cluster.broker_ids:
        folder = f"{cluster.log_directory(broker_id)}/{partition}"
        if cluster.disk.exists(folder):
            state = cluster.broker_state(broker_id)
            live = cluster.live_replica(partition, broker_id) if state == "up" else None
            names = [name for name in cluster.disk.list(folder) if name.endswith(".log")]
            segments = tuple(
                (int(name[:20]), cluster.disk.open(f"{folder}/{name}", create=False).size) for name in names
            )
            found.append(ReplicaReading(broker_id, state, folder, live, segments))
    return found


def log_start(cluster: ClusterApi, reading: ReplicaReading, partition: str) -> int:
    """The log start offset: of the broker, else of its first segment, or of its checkpoint if that is higher."""
    if reading.live is not None:
        return reading.live.log_start_offset
    first = reading.segments[0][0] if reading.segments else 0
    topic, number = TopicPartition.parse(partition)
    checkpoint = f"{cluster.log_directory(reading.broker_id)}/log-start-offset-checkpoint"
    if cluster.disk.exists(checkpoint):
        for line in cluster.disk.read_file(checkpoint).decode().split("\n"):
            words = line.split()
            if len(words) == 3 and words[:2] == [topic, str(number)]:
                first = max(first, int(words[2]))
    return first


def epochs(cluster: ClusterApi, reading: ReplicaReading) -> list[str]:
    """The leader epoch file as `epoch@start`."""
    path = f"{reading.folder}/leader-epoch-checkpoint"
    if not cluster.disk.exists(path):
        return []
    lines = cluster.disk.read_file(path).decode().split("\n")[2:]
    return ["@".join(line.split()) for line in lines if line.strip()]


def batches(cluster: ClusterApi, reading: ReplicaReading) -> Generator[tuple[bytes, int, BatchHeader], None, None]:
    """The batches of all segments: the bytes that hold each, its position in them, its header."""
    for base_offset, size in reading.segments:
        data = cluster.disk.open(f"{reading.folder}/{base_offset:020}.log", create=False).read(0, size)
        for position, header in iterate_batches(data):
            yield data, position, header


def text(data: bytes | None) -> str:
    """A key or value as text; `null` for none."""
    return "null" if data is None else data.decode("utf-8", "backslashreplace")


def description(cluster: ClusterApi, partition: str) -> list[str]:
    """The lines of `log describe`."""
    lines = []
    for reading in readings(cluster, partition):
        start = log_start(cluster, reading, partition)
        end = reading.segments[-1][0] if reading.segments else 0
        records = []
        for data, position, header in batches(cluster, reading):
            end = header.next_offset
            for record in iterate_records(data, header, position):
                if record.offset < start:
                    continue
                shown = f"{text(record.key)} {text(record.value)}"
                if header.is_control:
                    marker = read_end_transaction_marker(record)
                    shown = f"<control> {marker[0].name if marker else '?'}"
                records.append(f"  {record.offset} {header.partition_leader_epoch} {shown}")
        if reading.live is not None:
            end = reading.live.log_end_offset
        state = f" ({reading.state})" if reading.state in _OUT else ""
        lines.append(
            f"broker {reading.broker_id}{state}: start {start} end {end} epochs [{', '.join(epochs(cluster, reading))}]"
        )
        lines += records
    return lines


def high_watermarks(cluster: ClusterApi, partition: str) -> list[str]:
    """The lines of `hw`."""
    lines = []
    for reading in readings(cluster, partition):
        held = f"hw {reading.live.high_watermark}" if reading.live is not None else "no replica"
        lines.append(f"broker {reading.broker_id}: {reading.state if reading.state in _OUT else held}")
    return lines


def segments(cluster: ClusterApi, partition: str) -> list[str]:
    """The lines of `segments`."""
    return [
        f"broker {reading.broker_id}: " + " ".join(f"{base_offset}({size})" for base_offset, size in reading.segments)
        for reading in readings(cluster, partition)
    ]


def steady(
    process: Process, read: Callable[[ClusterApi, str], list[str]], partition: str
) -> Generator[Wait, Any, list[str]]:
    """The reading on which two attempts 0.7 s apart agree, or the last one after 12 s."""
    deadline_us = process.now_us + STEADY_LIMIT_US
    last = read(process.cluster, partition)
    while process.now_us < deadline_us:
        yield Sleep(STEADY_US)
        lines = read(process.cluster, partition)
        if lines == last:
            break
        last = lines
    return last
