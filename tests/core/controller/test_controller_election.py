"""The pure parts of the controller: elections, replica assignment, validation of configurations."""

import pytest

from broker_core.config_defs import ConfigException, topic_value, validate_topic_configs
from broker_core.controller import election
from broker_core.controller.admin import collides
from broker_core.controller.assignment import assign_replicas, rack_alternated
from broker_core.controller.election import ElectionResult
from broker_core.controller.kafka_uuid import random_uuid
from broker_core.controller.partition_state_machine import VALID_PREVIOUS_STATES as PARTITION_TABLE
from broker_core.controller.partition_state_machine import PartitionState
from broker_core.controller.replica_state_machine import VALID_PREVIOUS_STATES as REPLICA_TABLE
from broker_core.controller.replica_state_machine import ReplicaState
from broker_core.controller.topic_names import validate_topic_name
from broker_core.errors import Errors, KafkaException
from broker_core.sim.rng import RandomStream


def test_offline_election_follows_the_assignment_and_not_the_isr() -> None:
    assert election.offline((1, 2, 3), (3, 2), {2, 3}, False) == ElectionResult(2, (3, 2))


def test_offline_election_keeps_only_live_members_in_the_isr() -> None:
    assert election.offline((1, 2, 3), (1, 3, 2), {2, 3}, False) == ElectionResult(2, (3, 2))


def test_no_leader_without_a_live_isr_member_unless_unclean_election_is_allowed() -> None:
    assert election.offline((1, 2, 3), (1,), {2, 3}, False) is None
    assert election.offline((1, 2, 3), (1,), {2, 3}, True) == ElectionResult(2, (2,), unclean=True)
    assert election.offline((1, 2, 3), (1,), set(), True) is None


def test_preferred_election_considers_only_the_first_replica() -> None:
    assert election.preferred((1, 2), (2, 1), {1, 2}) == ElectionResult(1, (2, 1))
    assert election.preferred((1, 2), (2,), {1, 2}) is None
    assert election.preferred((1, 2), (2, 1), {2}) is None


def test_controlled_shutdown_removes_the_broker_from_the_isr() -> None:
    assert election.controlled_shutdown((1, 2, 3), (1, 2, 3), {1, 2, 3}, {1}) == ElectionResult(2, (2, 3))
    assert election.controlled_shutdown((1, 2), (1,), {1, 2}, {1}) is None


def test_reassignment_elects_among_the_targets() -> None:
    assert election.reassign((4, 5), (1, 2, 5), {1, 2, 4, 5}) == ElectionResult(5, (1, 2, 5))


# The expected assignments were made by AdminUtils of Kafka 3.9.


def test_assignment_on_five_brokers_shifts_the_followers_in_the_second_round() -> None:
    racks = dict.fromkeys(range(5))
    assert assign_replicas(racks, 10, 3, fixed_start=0) == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


@pytest.mark.parametrize(
    ("factor", "start", "expected"),
    [
        (2, 0, [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)]),
        (3, 1, [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1), (0, 1, 2)]),
    ],
)
def test_assignment_on_three_brokers(factor, start, expected) -> None:
    assignment = assign_replicas(dict.fromkeys(range(3)), 6, factor, fixed_start=start)
    assert list(assignment.values()) == expected


def test_rack_aware_assignment_puts_a_replica_into_each_rack() -> None:
    racks = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}
    assert rack_alternated(racks) == [0, 3, 1, 5, 4, 2]
    assert list(assign_replicas(racks, 7, 3, fixed_start=0).values()) == [
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    ]


def test_assignment_of_added_partitions_continues_the_rotation() -> None:
    racks = dict.fromkeys(range(3))
    assert assign_replicas(racks, 2, 2, fixed_start=0, first_partition=3) == {3: (0, 2), 4: (1, 0)}


def test_assignment_uses_its_named_random_stream() -> None:
    racks = dict.fromkeys((1, 2, 3, 4, 5))
    drawn = [assign_replicas(racks, 3, 2, stream=RandomStream(seed, "a")) for seed in range(20)]
    assert drawn[0] == assign_replicas(racks, 3, 2, stream=RandomStream(0, "a"))
    assert len({replicas[0] for replicas in drawn}) > 3


@pytest.mark.parametrize(
    ("partitions", "factor", "error", "message"),
    [
        (0, 1, Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (1, 0, Errors.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (1, 4, Errors.INVALID_REPLICATION_FACTOR, "Replication factor: 4 larger than available brokers: 3."),
    ],
)
def test_impossible_assignments_are_refused(partitions, factor, error, message) -> None:
    with pytest.raises(KafkaException) as raised:
        assign_replicas(dict.fromkeys((1, 2, 3)), partitions, factor, fixed_start=0)
    assert (raised.value.error, raised.value.message) == (error, message)


def test_every_state_is_in_the_transition_table_and_reachable() -> None:
    assert set(PARTITION_TABLE) == set(PartitionState)
    assert set(REPLICA_TABLE) == set(ReplicaState)
    assert PartitionState.ONLINE not in PARTITION_TABLE[PartitionState.NON_EXISTENT]
    assert REPLICA_TABLE[ReplicaState.NON_EXISTENT] == (ReplicaState.DELETION_SUCCESSFUL,)


def test_ids_are_uuids_of_version_4_in_22_characters() -> None:
    stream = RandomStream(1, "ids")
    ids = [random_uuid(stream) for _ in range(300)]
    assert len(set(ids)) == 300
    assert all(len(each) == 22 and each[0] != "-" and each[8] in "QRST" for each in ids)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("bad/name", "'bad/name' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("tä", "'tä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("a" * 250, f"the length of '{'a' * 250}' is longer than the max allowed length 249"),
    ],
)
def test_illegal_topic_names(name, why) -> None:
    with pytest.raises(KafkaException) as raised:
        validate_topic_name(name)
    assert raised.value.error is Errors.INVALID_TOPIC_EXCEPTION
    assert raised.value.message == f"Topic name is invalid: {why}"


def test_legal_topic_names() -> None:
    for name in ("orders", "a" * 249, "A.b_c-9", "..."):
        validate_topic_name(name)
    assert collides("a.b", "a_b")
    assert not collides("a.b", "ab")


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"no.such.config": "1"}, "Unknown topic config name: no.such.config"),
        ({"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        (
            {"segment.bytes": "2147483648"},
            "Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT",
        ),
        (
            {"cleanup.policy": "shred"},
            "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            {"min.insync.replicas": "0"},
            "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
        ),
        (
            {"min.cleanable.dirty.ratio": "2"},
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        (
            {"preallocate": "yes"},
            "Invalid value yes for configuration preallocate: Expected value to be either true or false",
        ),
        (
            {"compression.gzip.level": "0"},
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"},
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)",
        ),
    ],
)
def test_bad_topic_configurations(configs, message) -> None:
    with pytest.raises(ConfigException) as raised:
        validate_topic_configs(configs)
    assert str(raised.value) == message


def test_good_topic_configurations() -> None:
    validate_topic_configs(
        {
            "cleanup.policy": " compact , delete ",
            "retention.ms": "-1",
            "segment.bytes": "14",
            "compression.gzip.level": "-1",
            "leader.replication.throttled.replicas": "0:1,2:3",
            "follower.replication.throttled.replicas": "*",
        }
    )


def test_topic_without_a_value_inherits_the_brokers() -> None:
    brokers = {
        "log.roll.hours": "2",
        "log.retention.minutes": "3",
        "log.retention.hours": "9",
        "message.max.bytes": "77",
    }
    assert topic_value("segment.ms", brokers, {}) == 7_200_000
    assert topic_value("retention.ms", brokers, {}) == 180_000
    assert topic_value("max.message.bytes", brokers, {}) == 77
    assert topic_value("max.message.bytes", brokers, {"max.message.bytes": "5"}) == 5
    assert topic_value("min.insync.replicas", brokers, {}) == 1
