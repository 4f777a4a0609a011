"""The throttles that kafka-reassign-partitions.sh sets and removes (`ReassignPartitionsCommand`, KIP-73)."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from broker_core.errors import Errors
from broker_core.partitions import TopicPartition
from broker_core.shell.admin.reassignment_json import Plan
from broker_core.shell.admin.requests import Asking, late_for, query_any, query_broker
from broker_core.shell.grammar.process import Process, up_brokers
from broker_core.shell.java.errors import EXECUTION_EXCEPTION, JavaException
from broker_core.wire.messages import (
    AlterConfigOp,
    AlterConfigsResponse,
    ConfigResource,
    IncrementalAlterConfigsRequest,
    OngoingReassignment,
)

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class Move(NamedTuple):
    """The source and destination brokers of a partition's move."""

    sources: tuple[int, ...]
    destinations: tuple[int, ...]


def moves(ongoing: Collection[OngoingReassignment], proposed: Plan, current: Plan) -> dict[str, Move]:
    """The moves in progress, and the new ones (`calculateProposedMoveMap`)."""
    found = {
        each.partition: Move(
            tuple(broker for broker in each.replicas if broker not in each.adding_replicas), each.adding_replicas
        )
        for each in ongoing
    }
    for partition, replicas in proposed.items():
        known = found.get(partition)
        sources = current[partition] if known is None else known.sources
        found[partition] = Move(sources, tuple(broker for broker in replicas if broker not in sources))
    return found


def set_throttles(process: Process, moving: Mapping[str, Move], bytes_per_second: int) -> Asking[None]:
    """Throttles the moves: topics have the throttled replicas, brokers the rate."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for partition, move in moving.items():
        topic, number = TopicPartition.parse(partition)
        leaders.setdefault(topic, set()).update(f"{number}:{broker}" for broker in move.sources)
        followers.setdefault(topic, set()).update(f"{number}:{broker}" for broker in move.destinations)
    for topic in leaders:
        yield from alter_topic(
            process,
            topic,
            AlterConfigOp(LEADER_REPLICAS, ",".join(sorted(leaders[topic]))),
            AlterConfigOp(FOLLOWER_REPLICAS, ",".join(sorted(followers[topic]))),
        )
    rate = str(bytes_per_second)
    brokers = {broker for move in moving.values() for broker in (*move.sources, *move.destinations)}
    yield from alter_brokers(process, brokers, AlterConfigOp(LEADER_RATE, rate), AlterConfigOp(FOLLOWER_RATE, rate))
    process.out(f"The inter-broker throttle limit was set to {rate} B/s")


def clear_brokers(process: Process, brokers: Collection[int]) -> Asking[None]:
    """Removes the rate of brokers."""
    ops = [AlterConfigOp(name, "", "DELETE") for name in (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)]
    yield from alter_brokers(process, brokers, *ops)


def clear_topic(process: Process, topic: str) -> Asking[None]:
    """Removes the throttled replicas of a topic."""
    ops = [AlterConfigOp(name, "", "DELETE") for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS)]
    yield from alter_topic(process, topic, *ops)


def alter_topic(process: Process, topic: str, *ops: AlterConfigOp) -> Asking[None]:
    """Changes a topic's configuration. Raises JavaException."""
    body = IncrementalAlterConfigsRequest(((ConfigResource("TOPIC", topic), ops),))
    response = yield from query_any(process, "IncrementalAlterConfigs", body, "incrementalAlterConfigs")
    _raise_refusal(response)


def alter_brokers(process: Process, brokers: Collection[int], *ops: AlterConfigOp) -> Asking[None]:
    """Changes the configuration of several brokers. The client sends to all at once: the changes of brokers that
    respond remain even if another one fails. Raises JavaException.
    """
    up = up_brokers(process.cluster)
    for broker_id in sorted(brokers, key=lambda each: (each not in up, each)):
        yield from _alter_broker(process, broker_id, *ops)


def _alter_broker(process: Process, broker_id: int, *ops: AlterConfigOp) -> Asking[None]:
    """Changes the configuration of one broker, which must handle the request itself."""
    body = IncrementalAlterConfigsRequest(((ConfigResource("BROKER", str(broker_id)), ops),))
    late = late_for(process, broker_id, "incrementalAlterConfigs")
    response = yield from query_broker(process, broker_id, "IncrementalAlterConfigs", body, process.api_timeout_us)
    if response is None:
        raise late.wrapped_in(EXECUTION_EXCEPTION)
    _raise_refusal(response)


def _raise_refusal(response: AlterConfigsResponse) -> None:
    for result in response.results:
        if result.error is not Errors.NONE:
            raise JavaException.in_future(result.error, result.message)
