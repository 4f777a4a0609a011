"""Members of groups in clusters of older releases, as brokers of those releases were seen to respond."""

from typing import Any

import pytest
from msgspec.structs import replace

from broker_core.errors import Errors
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import OneBroker

JOIN = BY_NAME["JoinGroup"].request
SYNC = BY_NAME["SyncGroup"].request
RANGE = (("range", b"\x01"),)
BOTH_METADATA = (("range", b"\x01"), ("range", b"\x02"))
KEEPS_TIMEOUTS = ["0.10", "1.1", "2.4"]
ERAS = [*KEEPS_TIMEOUTS, "3.9"]


class Client(OneBroker):
    def __init__(self, era: str, **settings: str) -> None:
        super().__init__(era, group_initial_rebalance_delay_ms="0", **settings)
        self.ask("FindCoordinator", 0, key="g")
        self.pass_time()

    def join_fields(
        self, member: str = "", protocols: tuple[tuple[str, bytes], ...] = RANGE, instance: str = "a", **more: Any
    ) -> tuple[str, int, dict[str, Any]]:
        """A JoinGroup that needs no second round: without ids of members in old versions, else of a static member."""
        is_static = self.era in ("2.4", "3.9")
        listed = [JOIN.JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols]
        fields = {
            "group_id": "g",
            "session_timeout_ms": 6_000,
            "rebalance_timeout_ms": 6_000,
            "member_id": member,
            "group_instance_id": instance if is_static else None,
            "protocol_type": "consumer",
            "protocols": listed,
        }
        return "JoinGroup", 5 if is_static else 1, fields | more

    def join(self, *given: Any, **named: Any) -> Any:
        api, version, fields = self.join_fields(*given, **named)
        return self.ask(api, version, **fields)

    def post_join(self, *given: Any, **named: Any) -> int:
        api, version, fields = self.join_fields(*given, **named)
        return self.post(api, version, **fields)

    def two_join(
        self, of_first: tuple[tuple[str, bytes], ...] = RANGE, of_second: tuple[tuple[str, bytes], ...] = RANGE
    ) -> tuple[Any, Any]:
        """The responses to two members in their common generation, the leader's first."""
        first = self.join("", of_first).member_id
        second = self.post_join("", of_second, "b")
        self.pass_time()
        again = self.post_join(first, of_first)
        self.pass_time()
        found = self.responses()
        leader, follower = sorted((found[again], found[second]), key=lambda each: each.member_id != each.leader)
        return leader, follower

    def state(self) -> tuple[str, int]:
        group = self.ask("DescribeGroups", 0, groups=["g"]).groups[0]
        return group.group_state, len(group.members)


@pytest.mark.parametrize("era", ["0.10", "1.1"])
def test_rejoin_is_compared_with_all_that_a_member_named_before(era: str) -> None:
    client = Client(era)
    first = client.join("", BOTH_METADATA)
    assert (first.generation_id, first.members[0].metadata) == (1, b"\x01")
    assert client.join(first.member_id, BOTH_METADATA).generation_id == 1
    assert client.join(first.member_id, BOTH_METADATA[:1]).generation_id == 2


@pytest.mark.parametrize("era", ["2.4", "3.9"])
def test_assignor_that_is_named_twice_gets_no_response_since_2_0(era: str) -> None:
    client = Client(era)
    assert client.join("", BOTH_METADATA) is None
    assert client.state() == ("PreparingRebalance", 1)


@pytest.mark.parametrize("era", KEEPS_TIMEOUTS)
@pytest.mark.parametrize(
    ("one", "other", "chosen"),
    [("range", "rr", "range"), ("a", "b", "b"), ("b", "a", "b"), ("sticky", "roundrobin", "sticky")],
)
def test_tie_is_broken_by_the_mutable_map_of_old_releases(era: str, one: str, other: str, chosen: str) -> None:
    leader, follower = Client(era).two_join(((one, b"1"), (other, b"2")), ((other, b"3"), (one, b"4")))
    assert leader.protocol_name == follower.protocol_name == chosen


@pytest.mark.parametrize(("era", "left"), [*((era, ("Empty", 0)) for era in KEEPS_TIMEOUTS), ("3.9", ("Stable", 1))])
def test_member_keeps_its_first_timeouts_before_3_3(era: str, left: tuple[str, int]) -> None:
    client = Client(era)
    first = client.join()
    again = client.join(first.member_id, (("range", b"\x07"),), session_timeout_ms=30_000)
    assert again.generation_id == 2
    assignment = SYNC.SyncGroupRequestAssignment(member_id=first.member_id, assignment=b"\x05")
    sent = {"group_id": "g", "generation_id": 2, "member_id": first.member_id, "assignments": [assignment]}
    assert client.ask("SyncGroup", 0, **sent).assignment == b"\x05"
    client.pass_time(9)
    assert client.state() == left


@pytest.mark.parametrize(
    ("era", "prefix", "described", "synced"),
    [
        ("0.10", "-", "NONE", "NONE"),
        ("1.1", "-", "NONE", "NONE"),
        ("2.4", "null-", "UNKNOWN_SERVER_ERROR", "UNKNOWN_SERVER_ERROR"),
        ("3.9", "-", "NONE", "NONE"),
    ],
)
def test_null_client_id_remains_null_in_2_4(era: str, prefix: str, described: str, synced: str) -> None:
    client = Client(era)
    _, _, fields = client.join_fields()
    fields["group_instance_id"] = None
    joined = client.ask("JoinGroup", 1, None, **fields)
    assert joined.error_code == 0
    member = joined.member_id
    assert member[:-36] == prefix
    assert Errors.of(client.ask("DescribeGroups", 0, groups=["g"]).groups[0].error_code).name == described
    sync = client.ask("SyncGroup", 0, group_id="g", generation_id=1, member_id=member, assignments=[])
    assert Errors.of(sync.error_code).name == synced
    again = client.ask("JoinGroup", 1, None, **{**fields, "member_id": member})
    assert again.generation_id == (1 if era == "2.4" else 2)
    assert client.ask("LeaveGroup", 0, group_id="g", member_id=member).error_code == 0
    assert client.state() == ("Empty", 0)


@pytest.mark.parametrize("era", ERAS)
def test_pending_sync_of_a_member_that_leaves_gets_no_response(era: str) -> None:
    client = Client(era)
    _, follower = client.two_join()
    sync = client.post("SyncGroup", 0, group_id="g", generation_id=2, member_id=follower.member_id, assignments=[])
    client.pass_time()
    assert client.ask("LeaveGroup", 0, group_id="g", member_id=follower.member_id).error_code == 0
    client.pass_time()
    assert sync not in client.responses()
    assert client.state() == ("PreparingRebalance", 1)


@pytest.mark.parametrize(
    ("era", "said"), [("0.10", None), ("1.1", None), ("2.4", "UNKNOWN_MEMBER_ID"), ("3.9", "UNKNOWN_MEMBER_ID")]
)
def test_pending_join_of_a_member_that_leaves_is_refused_since_2_2(era: str, said: str | None) -> None:
    client = Client(era)
    leader, _ = client.two_join()
    join = client.post_join(leader.member_id, (("range", b"\x07"),))
    client.pass_time()
    leave = client.post("LeaveGroup", 0, group_id="g", member_id=leader.member_id)
    client.pass_time()
    found = client.responses()
    assert found[leave].error_code == 0
    answered = found.get(join)
    assert (None if answered is None else Errors.of(answered.error_code).name) == said


def waiting_join(client: Client) -> tuple[Any, int]:
    """A member that stays away from the rebalance but in its session, and the join of another one that waits for it."""
    first = client.join("", session_timeout_ms=300_000, rebalance_timeout_ms=900_000)
    return first, client.post_join("", instance="b")


def beat(client: Client, member: str) -> str:
    answer = client.ask("Heartbeat", 0, group_id="g", generation_id=1, member_id=member)
    return Errors.of(answer.error_code).name


@pytest.mark.parametrize(
    ("era", "said"), [("0.10", None), ("1.1", None), ("2.4", "UNKNOWN_MEMBER_ID"), ("3.9", "UNKNOWN_MEMBER_ID")]
)
def test_join_of_a_new_member_waits_for_five_minutes_since_2_2(era: str, said: str | None) -> None:
    client = Client(era)
    first, join = waiting_join(client)
    client.pass_time(200)
    client.responses()
    assert beat(client, first.member_id) == "REBALANCE_IN_PROGRESS"
    client.pass_time(110)
    answered = client.responses().get(join)
    assert (None if answered is None else Errors.of(answered.error_code).name) == said
    assert client.state() == ("PreparingRebalance", 2 if said is None else 1)


@pytest.mark.parametrize(("era", "said"), [("2.4", None), ("3.9", "UNKNOWN_MEMBER_ID")])
def test_heartbeat_of_a_member_that_waits_ends_its_time_limit_in_2_4(era: str, said: str | None) -> None:
    client = Client(era)
    client.join("", session_timeout_ms=300_000, rebalance_timeout_ms=900_000)
    _, version, fields = client.join_fields()
    fields["group_instance_id"] = None
    member = client.ask("JoinGroup", version, **fields).member_id
    join = client.post("JoinGroup", version, **{**fields, "member_id": member})
    client.pass_time()
    assert beat(client, member) == "REBALANCE_IN_PROGRESS"
    client.pass_time(10)
    answered = client.responses().get(join)
    assert (None if answered is None else Errors.of(answered.error_code).name) == said


def name_of(answer: Any) -> str:
    return Errors.of(answer.error_code).name


@pytest.mark.parametrize(("era", "said"), [("2.4", "NONE"), ("3.9", "GROUP_MAX_SIZE_REACHED")])
def test_id_that_is_refused_for_the_size_of_its_group_is_not_waited_for(era: str, said: str) -> None:
    client = Client(era, group_max_size="1")
    api, version, fields = client.join_fields(group_instance_id=None)
    first, second = [client.ask(api, version, **fields).member_id for _ in range(2)]
    assert client.ask(api, version, **{**fields, "member_id": first}).generation_id == 1
    waiting = client.post(api, version, **{**fields, "member_id": second})
    client.pass_time()
    refused = client.responses().get(waiting)
    assert (refused is None) == (said == "NONE")
    if refused is not None:
        assert name_of(refused) == said
        fields["protocols"] = [JOIN.JoinGroupRequestProtocol(name="range", metadata=b"\x07")]
        assert client.ask(api, version, **{**fields, "member_id": first}).generation_id == 2


@pytest.mark.parametrize(("era", "stays"), [("2.4", 1), ("3.9", 0)])
def test_group_that_is_loaded_with_too_many_members_rebalances(era: str, stays: int) -> None:
    client = Client(era)
    members = [each.member_id for each in client.two_join()]
    assignments = [SYNC.SyncGroupRequestAssignment(member_id=each, assignment=b"") for each in members]
    sync = {"group_id": "g", "generation_id": 2, "member_id": members[0], "assignments": assignments}
    assert name_of(client.ask("SyncGroup", 0, **sync)) == "NONE"
    assert client.state() == ("Stable", 2)
    broker = client.run._cluster.brokers[0]
    broker.config = replace(broker.config, groups=replace(broker.config.groups, group_max_size=1))
    partition = broker.groups.partition_of("g")
    broker.groups.on_resignation(partition)
    broker.groups.on_election(partition, 1)
    assert client.state() == ("PreparingRebalance", 2)
    joins = [client.post_join(member, instance=name) for member, name in zip(members, "ab", strict=True)]
    client.pass_time()
    found = client.responses()
    assert [name_of(found[join]) for join in joins].index("NONE") == stays
    assert name_of(found[joins[1 - stays]]) == "GROUP_MAX_SIZE_REACHED"
