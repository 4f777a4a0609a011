"""The files of kafka-reassign-partitions.sh: the topics to move, and the target of each partition
(`ReassignPartitionsCommand.parse...`). Errors have the tool's wording.
"""

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.partitions import TopicPartition, partition_name
from broker_core.shell.java import jackson
from broker_core.shell.java import json_values as java_json
from broker_core.shell.java.errors import JavaException

COMMON = "org.apache.kafka.server.common."
VERSION = 1
ANY_LOG_DIR = "any"

Name = TypeVar("Name", bound=Hashable)
Plan = dict[str, tuple[int, ...]]
"""Partition -> its replicas."""


def topics_to_move(text: str) -> list[str]:
    """The topics of a file for --generate. Raises JavaException."""
    if not text.strip():
        root: Any = _object_of("")
    else:
        try:
            root = java_json.parse(text)
        except java_json.NotJson:
            raise JavaException(COMMON + "AdminOperationException", "The input string is not a valid JSON") from None
    root = java_json.as_object(root)
    _check_version(root)
    topics = [
        java_json.as_string(java_json.field(java_json.as_object(each), "topic"))
        for each in java_json.as_array(root.get("topics", []))
    ]
    twice = duplicates(topics)
    if twice:
        why = f"List of topics to reassign contains duplicate entries: [{', '.join(hash_map_order(twice))}]"
        raise JavaException(COMMON + "AdminCommandFailedException", why)
    return topics


def plan_entries(text: str) -> tuple[list[tuple[str, tuple[int, ...]]], dict[tuple[str, int], str]]:
    """(partition, replicas) as given in a plan, and (partition, broker) -> log directory for those that name one.
    Raises JavaException.
    """
    root = _root(text)
    _check_version(root)
    entries: list[tuple[str, tuple[int, ...]]] = []
    log_dirs: dict[tuple[str, int], str] = {}
    for element in java_json.as_array(root.get("partitions", [])):
        entry = java_json.as_object(element)
        topic = java_json.as_string(java_json.field(entry, "topic"))
        partition = partition_name(topic, java_json.as_int(java_json.field(entry, "partition")))
        replicas = tuple(java_json.as_int(each) for each in _list(java_json.field(entry, "replicas")))
        dirs = [java_json.as_string(each) for each in _list(entry.get("log_dirs", [ANY_LOG_DIR] * len(replicas)))]
        if len(dirs) != len(replicas):
            raise JavaException(
                COMMON + "AdminCommandFailedException",
                f"Size of replicas list {_shown(replicas)} is different from size of log dirs list {_shown(dirs)} "
                f"for partition {partition}",
            )
        entries.append((partition, replicas))
        log_dirs.update({(partition, broker): log_dir for broker, log_dir in zip(replicas, dirs, strict=True)})
    return entries, {place: log_dir for place, log_dir in log_dirs.items() if log_dir != ANY_LOG_DIR}


def plan_to_execute(text: str) -> tuple[Plan, dict[tuple[str, int], str]]:
    """A plan that can be executed. Raises JavaException for an inconsistent one."""

    def refused(why: str) -> JavaException:
        return JavaException(COMMON + "AdminCommandFailedException", why)

    entries, log_dirs = plan_entries(text)
    if not entries:
        raise refused("Partition reassignment list cannot be empty")
    if any(not replicas for _, replicas in entries):
        raise refused("Partition replica list cannot be empty")
    twice = duplicates(partition for partition, _ in entries)
    if twice:
        named = ",".join(hash_map_order(twice, code=partition_code))
        raise refused(f"Partition reassignment contains duplicate topic partitions: {named}")
    repeated = [(partition, duplicates(replicas)) for partition, replicas in entries]
    said = ". ".join(
        f"{partition} contains multiple entries for {','.join(map(str, sorted(brokers)))}"
        for partition, brokers in repeated
        if brokers
    )
    if said:
        raise refused(f"Partition replica lists may not contain duplicate entries: {said}")
    return dict(entries), log_dirs


def as_json(plan: Mapping[str, tuple[int, ...]]) -> str:
    """A plan as printed by the tool, sorted."""
    partitions = []
    for partition in sorted(plan, key=TopicPartition.parse):
        topic, number = TopicPartition.parse(partition)
        replicas = list(plan[partition])
        log_dirs = [ANY_LOG_DIR] * len(replicas)
        partitions.append({"topic": topic, "partition": number, "replicas": replicas, "log_dirs": log_dirs})
    return json.dumps({"version": VERSION, "partitions": partitions}, separators=(",", ":"))


def duplicates(names: Iterable[Name]) -> list[Name]:
    """The duplicates."""
    listed = list(names)
    return list(dict.fromkeys(each for at, each in enumerate(listed) if each in listed[:at]))


def _root(text: str) -> dict[str, Any]:
    if not text.strip():
        return _object_of("")
    fault = jackson.fault(text)
    if fault is not None:
        message = "\n".join(fault.lines)
        raise JavaException(COMMON + "AdminOperationException", message, (f"{fault.java_class}: {message}",))
    return java_json.as_object(java_json.parse(text))


def _object_of(shown: str) -> dict[str, Any]:
    raise JavaException(java_json.MAPPING_EXCEPTION, f"Expected JSON object, received {shown}")


def _check_version(root: dict[str, Any]) -> None:
    version = java_json.as_int(root["version"]) if "version" in root else VERSION
    if version != VERSION:
        raise JavaException(COMMON + "AdminOperationException", f"Not supported version field value {version}")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        raise JavaException(java_json.MAPPING_EXCEPTION, f"Expected `JSON array` value, received {shown}")
    return value


def _shown(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"
