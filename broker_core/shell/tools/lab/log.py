"""log, hw, segments, file: what is on the brokers' disks, and files for other tools."""

from collections.abc import Callable, Sequence

from broker_core.errors import KafkaException
from broker_core.log.cleaner import CleaningFacts, Fate
from broker_core.shell.admin.replicas import description, high_watermarks, segments, steady
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import partitions
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, broker_of, not_understood, partition_of, refuse
from broker_core.texts import Text, Value, listed, text


def _log(process: Process, arguments: list[str]) -> Running:
    if len(arguments) == 2 and arguments[0] == "describe":
        return _read(process, description, partition_of(arguments[1]))
    if len(arguments) in (2, 3) and arguments[0] == "clean":
        partition = partition_of(arguments[1])
        return _clean(process, partition, broker_of("log", process, arguments[2]) if len(arguments) == 3 else None)
    raise not_understood("log", arguments)


def _clean(process: Process, partition: str, only: int | None) -> Running:
    """Cleans the log on each broker that is up and has it; prints the result for its closed segments."""
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
            refuse(process, text("refused.on_broker", broker=broker_id, why=refused.what))
            return 1
        if facts is None:
            process.out_message(text("shell.log_clean_already", broker=broker_id))
        else:
            process.out_message(_cleaned(broker_id, facts))
    return 0


def _cleaned(broker_id: int, facts: CleaningFacts) -> Text:
    """The result of a cleaning pass: `broker 2: 0 to 8: 8 records -> 4 (4 superseded), 559 bytes -> 282`."""
    counts = dict(facts.counts)
    kept = counts.pop(Fate.KEPT, 0)
    records = kept + sum(counts.values())
    values: dict[str, Value] = {
        "broker": broker_id,
        "first": facts.from_offset,
        "end": facts.to_offset,
        "records": records,
        "kept": kept,
        "before": facts.bytes_before,
        "after": facts.bytes_after,
    }
    if not counts:
        return text("shell.log_cleaned", **values)
    dropped = [text("shell.dropped", count=count, fate=_FATES[fate]) for fate, count in counts.items()]
    return text("shell.log_cleaned_dropped", dropped=listed(dropped), **values)


_FATES = {
    Fate.SUPERSEDED: text("shell.fate_superseded"),
    Fate.TOMBSTONE: text("shell.fate_tombstone"),
    Fate.ABORTED: text("shell.fate_aborted"),
    Fate.MARKER: text("shell.fate_marker"),
    Fate.NO_KEY: text("shell.fate_no_key"),
}


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
        text("help.log"),
        (
            (
                "log describe T-P",
                text("help.log_describe"),
            ),
            (
                "log clean T-P [N]",
                text("help.log_clean"),
            ),
        ),
        _log,
        complete=_complete_log,
    ),
    Command(
        "hw",
        text("help.hw"),
        (("hw T-P", text("help.hw_of")),),
        _hw,
        complete=_complete_partition,
    ),
    Command(
        "segments",
        text("help.segments"),
        (("segments T-P", text("help.segments_of")),),
        _segments,
        complete=_complete_partition,
    ),
    Command("file", text("help.file"), (("file NAME", text("help.file_write")),), _file),
)
