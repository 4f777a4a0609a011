"""kafka-topics.sh --describe (`TopicCommand.describeTopic`)."""

from broker_core.config_defs.java_text import hash_map_order
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition, topic_of
from broker_core.shell.admin.requests import Asking, metadata, query_any, query_controller
from broker_core.shell.grammar.parser import ParsedOptions
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import EXECUTION_EXCEPTION, JavaException
from broker_core.wire.messages import (
    ConfigEntry,
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
)

REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
"""Options that print only some partitions."""


def describe_topics(process: Process, options: ParsedOptions, names: list[str]) -> Asking[None]:
    """Prints the topics and their partitions, as far as the options select them. Raises JavaException."""
    known = yield from metadata(process, tuple(described_order(names)), "describeTopics")
    configs = yield from _configs_of(process, [name for name, _, error in known.topics if error is Errors.NONE])
    moving = yield from _moving(process, [row[0] for row in known.partitions])
    live = set(known.brokers)
    whole_topics = not any(report in options for report in REPORTS)
    for name, topic_id, error in known.topics:
        if error is not Errors.NONE:
            raise JavaException.of(error)
        rows = [row for row in known.partitions if topic_of(row[0]) == name]
        first = moving.get(rows[0][0])
        shown = [f"{each.name}={each.value}" for each in configs[name] if each.source != "DEFAULT_CONFIG"]
        if whole_topics and ("topics-with-overrides" not in options or shown):
            process.out(
                f"Topic: {name}\tTopicId: {topic_id}\tPartitionCount: {len(rows)}"
                f"\tReplicationFactor: {_replication_factor(rows[0][3], first)}\tConfigs: {','.join(shown)}".rstrip()
            )
        if "topics-with-overrides" in options:
            continue
        min_isr = next(int(each.value or 0) for each in configs[name] if each.name == "min.insync.replicas")
        for partition, leader, _, replicas, isr, _ in rows:
            reported = (
                (
                    "under-replicated-partitions" in options
                    and len(isr) < _replication_factor(replicas, moving.get(partition))
                )
                or ("unavailable-partitions" in options and leader not in live)
                or ("under-min-isr-partitions" in options and (leader < 0 or len(isr) < min_isr))
                or ("at-min-isr-partitions" in options and len(isr) == min_isr)
            )
            if whole_topics or reported:
                process.out(
                    f"\tTopic: {name}\tPartition: {TopicPartition.parse(partition).partition}"
                    f"\tLeader: {leader if leader >= 0 else 'none'}"
                    f"\tReplicas: {','.join(map(str, replicas))}\tIsr: {','.join(map(str, isr))}"
                    f"{_moved_replicas(moving.get(partition))}\tElr: N/A\tLastKnownElr: N/A"
                )


def described_order(names: list[str]) -> list[str]:
    """The order in which the tool prints topics: that of the maps of the admin client."""
    count = len(names)
    requested = hash_map_order(names, count)
    copied = hash_map_order(requested, int(count / 0.75 + 1))
    return hash_map_order(copied, count)


def _configs_of(process: Process, names: list[str]) -> Asking[dict[str, list[ConfigEntry]]]:
    """The configurations of each topic, in the order of the admin client's map."""
    if not names:
        return {}
    body = DescribeConfigsRequest(tuple(ConfigResource("TOPIC", name) for name in names))
    response: DescribeConfigsResponse = yield from query_any(process, "DescribeConfigs", body, "describeConfigs")
    found = {}
    for result in response.results:
        if result.error is not Errors.NONE:
            raise JavaException.of(result.error, result.message)
        entries = {entry.name: entry for entry in result.configs}
        found[result.resource.name] = [entries[name] for name in hash_map_order(list(entries))]
    return found


def _moving(process: Process, partitions: list[str]) -> Asking[dict[str, OngoingReassignment]]:
    """The partitions that are being reassigned."""
    if not partitions:
        return {}
    body = ListPartitionReassignmentsRequest(tuple(partitions))
    try:
        response: ListPartitionReassignmentsResponse = yield from query_controller(
            process, "ListPartitionReassignments", body, "listPartitionReassignments"
        )
    except JavaException as error:
        raise error.wrapped_in(EXECUTION_EXCEPTION).wrapped_in("java.lang.RuntimeException") from None
    return {each.partition: each for each in response.partitions}


def _replication_factor(replicas: tuple[int, ...], moving: OngoingReassignment | None) -> int:
    """The replication factor without the adding replicas."""
    return len(replicas) - (0 if moving is None else len(moving.adding_replicas))


def _moved_replicas(moving: OngoingReassignment | None) -> str:
    if moving is None:
        return ""
    adding, removing = (",".join(map(str, each)) for each in (moving.adding_replicas, moving.removing_replicas))
    return f"\tAdding Replicas: {adding}\tRemoving Replicas: {removing}"
