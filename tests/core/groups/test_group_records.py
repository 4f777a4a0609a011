"""Records of groups, the consumer protocol and the assignors, without a cluster."""

import base64
import json

from broker_core.groups.assignors import ASSIGNORS, GroupMemberInfo
from broker_core.groups.consumer_protocol import Subscription, decode_subscription, encode_subscription
from broker_core.groups.offsets import (
    CommittedOffset,
    GroupKey,
    OffsetKey,
    StoredGroup,
    StoredMember,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
    partition_for,
)
from broker_core.records.record_batch import iterate
from tests.support.paths import DATA

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
RECORDED = DATA / "groups" / "consumer-offsets.json"


def plan(assignor: str, counts: dict[str, int], wants: dict[str, list[str]], owned: dict[str, list[str]] | None = None):
    members = [
        GroupMemberInfo(name, None, Subscription(tuple(topics), None, tuple((owned or {}).get(name, ())), 1))
        for name, topics in wants.items()
    ]
    return ASSIGNORS[assignor]().assign(counts, members)


def test_coordinator_partition_follows_the_java_hash_of_the_group() -> None:
    known = {"KafkaConsumerDemo": 35, "test-group": 12, "g1": 42, "console-consumer-1": 24}
    assert {name: partition_for(name, 50) for name in known} == known


def test_records_have_the_bytes_of_a_real_broker() -> None:
    assert encode_offset_key("g1", "t-2").hex() == "00010002673100017400000002"
    committed = CommittedOffset(42, 5, "m", 0x1649329D3AA)
    assert encode_offset_value(committed).hex() == "0003000000000000002a0000000500016d000001649329d3aa"
    member = StoredMember("c-1", None, "c", "/127.0.0.1", 300_000, 45_000, b"\x01", b"\x02")
    group = StoredGroup("consumer", 1, "range", "c-1", 0x1649329D3AA, (member,))
    assert encode_group_key("g1").hex() == "000200026731"
    assert encode_group_value(group).hex() == (
        "00030008636f6e73756d657200000001000572616e67650003632d31000001649329d3aa00000001"
        "0003632d31ffff000163000a2f3132372e302e302e31000493e00000afc800000001010000000102"
    )
    assert decode_group_value(encode_group_value(group)) == group


def test_every_record_of_a_real_log_is_read_and_written_back() -> None:
    count = 0
    for step in json.loads(RECORDED.read_text())["steps"]:
        if "append" not in step:
            continue
        for record in iterate(base64.b64decode(step["append"])):
            assert record.key is not None
            key = decode_key(record.key)
            if isinstance(key, OffsetKey):
                assert encode_offset_key(key.group, key.partition) == record.key
                if record.value is not None:
                    assert encode_offset_value(decode_offset_value(record.value)) == record.value
            else:
                assert isinstance(key, GroupKey)
                assert encode_group_key(key.group) == record.key
                if record.value is not None:
                    assert encode_group_value(decode_group_value(record.value)) == record.value
            count += 1
    assert count == 18


def test_subscription_includes_owned_partitions() -> None:
    subscription = Subscription(("a", "b"), b"x", ("a-0", "a-1"), 7)
    assert decode_subscription(encode_subscription(subscription)) == subscription


def test_range_and_round_robin() -> None:
    assert plan("range", {"t": 11}, {"c1": ["t"], "c2": ["t"], "c3": ["t"]})["c2"] == ["t-4", "t-5", "t-6", "t-7"]
    unequal = {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]}
    assert plan("roundrobin", {"t0": 1, "t1": 2, "t2": 3}, unequal) == {
        "C0": ["t0-0"],
        "C1": ["t1-0"],
        "C2": ["t1-1", "t2-0", "t2-1", "t2-2"],
    }


def test_sticky_assignment_is_balanced() -> None:
    topics = {f"t{number}": 2 for number in range(4)}
    first = plan("cooperative-sticky", topics, {key: list(topics) for key in ("C0", "C1", "C2")})
    assert first == {"C0": ["t0-0", "t1-1", "t3-0"], "C1": ["t0-1", "t2-0", "t3-1"], "C2": ["t1-0", "t2-1"]}
    left = {name: names for name, names in first.items() if name != "C1"}
    second = plan("cooperative-sticky", topics, {key: list(topics) for key in ("C0", "C2")}, left)
    assert set(second["C0"]) == {"t0-0", "t3-0", "t1-1", "t0-1"}
    unequal = {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]}
    assert plan("sticky", {"t0": 1, "t1": 2, "t2": 3}, unequal) == {
        "C0": ["t0-0"],
        "C1": ["t1-0", "t1-1"],
        "C2": ["t2-0", "t2-1", "t2-2"],
    }


def test_cooperative_assignment_revokes_before_it_reassigns() -> None:
    owned = {"A": ["t-0", "t-2", "t-4"], "B": ["t-1", "t-3", "t-5"]}
    wants = {key: ["t"] for key in "ABC"}
    first = plan("cooperative-sticky", {"t": 6}, wants, owned)
    assert first == {"A": ["t-0", "t-2"], "B": ["t-1", "t-3"], "C": []}
    assert plan("cooperative-sticky", {"t": 6}, wants, first)["C"] == ["t-4", "t-5"]
