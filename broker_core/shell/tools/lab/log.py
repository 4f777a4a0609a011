"""log, hw, segments, file: what is on the brokers' disks, and files for other tools."""

from collections.abc import Callable, Sequence

from broker_core.errors import KafkaException
from broker_core.shell.admin.replicas import cleaning, description, high_watermarks, segments, steady
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import partitions
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, broker_of, not_understood, partition_of, refuse
from broker_core.texts import text


def _log(process: Process, arguments: list[str]) -> Running:
    if len(arguments) == 2 and arguments[0] == "describe":
        return _read(process, description, partition_of(arguments[1]))
    if len(arguments) in (2, 3) and arguments[0] == "clean":
        partition = partition_of(arguments[1])
        return _clean(process, partition, broker_of("log", process, arguments[2]) if len(arguments) == 3 else None)
    raise not_understood("log", arguments)


def _clean(process: Process, partition: str, only: int | None) -> Running:
    """Cleans the log on each broker that is up and has it; says what became of its closed segments."""
    yield from ()
    found = [
        broker_id
        for broker_id in ([only] if only is not None else process.cluster.broker_ids)
        if process.cluster.live_replica(partition, broker_id) is not None
    ]
    if not found:
        if only is None:
            refuse(process, text("shell.no_live_replica", partition=partition))
        else:
            refuse(process, text("shell.no_live_replica_on", broker=only, partition=partition))
        return 1
    for broker_id in found:
        try:
            facts = process.cluster.clean_log(broker_id, partition)
        except KafkaException as refused:
            process.err(f"broker {broker_id}: {refused.message}")
            return 1
        if facts is None:
            process.out(f"broker {broker_id}: nothing to clean")
        else:
            process.out(f"broker {broker_id}: {cleaning(facts)}")
    return 0


def _hw(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 1:
        raise UsageError(text("shell.partition_missing", command="hw"))
    return _read(process, high_watermarks, partition_of(arguments[0]))


def _segments(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 1:
        raise UsageError(text("shell.partition_missing", command="segments"))
    return _list_segments(process, partition_of(arguments[0]))


def _list_segments(process: Process, partition: str) -> Running:
    lines = yield from steady(process, segments, partition)
    if not lines:
        refuse(process, text("shell.no_replica", partition=partition))
        return 1
    for line in lines:
        process.out(line)
    return 0


def _read(process: Process, read: Callable[[ClusterApi, str], list[str]], partition: str) -> Running:
    for line in (yield from steady(process, read, partition)):
        process.out(line)
    return 0


def _file(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 1:
        raise UsageError(text("shell.file_name_missing"))
    return _write(process, arguments[0])


def _write(process: Process, name: str) -> Running:
    process.files[name] = "".join(f"{line}\n" for line in process.stdin)
    yield from ()
    return 0


def _complete_log(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    return ["describe", "clean"] if len(words) == 1 else partitions(cluster) if len(words) == 2 else []


def _complete_partition(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    return partitions(cluster) if len(words) == 1 else []


COMMANDS = (
    Command(
        "log",
        "The logs of a partition's replicas.",
        (
            (
                "log describe T-P",
                "start, end, leader epochs and records of each replica, down and frozen brokers included",
            ),
            (
                "log clean T-P [N]",
                "compacts its closed segments now, on broker N or on all that are up, whatever the dirty ratio",
            ),
        ),
        _log,
        complete=_complete_log,
    ),
    Command(
        "hw",
        "High watermarks.",
        (("hw T-P", "the high watermark of each replica"),),
        _hw,
        complete=_complete_partition,
    ),
    Command(
        "segments",
        "Segments of a partition.",
        (("segments T-P", "base offset and size of each .log file, in bytes"),),
        _segments,
        complete=_complete_partition,
    ),
    Command("file", "A file for other tools.", (("file NAME", "stores the command's input in a file"),), _file),
)
