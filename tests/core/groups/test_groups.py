"""Consumer groups: assignors, the coordinator's log, and what members live through."""

from typing import Any

import pytest

from broker_core.events.client import RecordsConsumed
from broker_core.events.group import (
    ConsumerAssigned,
    ConsumerStateChanged,
    GroupsLoadStarted,
    GroupTransitioned,
)
from broker_core.events.rpc import RpcSent
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.shell.grammar.parser import ShellError
from devtools.sim.parity import differences
from tests.support.paths import DATA
from tests.support.shell_runs import ShellRun, refused

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
RECORDED = DATA / "groups" / "consumer-offsets.json"


def group_run(assignor: str = "range") -> ShellRun:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1,3:1:2")
    shell.at(f"consumer start c1 --group g --topic orders --assignor {assignor}")
    assert shell.at('wait "group g == Stable 1" 30s') == []
    return shell


def test_view_shows_the_coordinators_group() -> None:
    shell = group_run()
    shell.at("consumer start c2 --group g --topic orders --assignor range --instance bob")
    assert shell.at('wait "group g == Stable 2" 30s') == []
    assert differences(shell.run) == []
    shell.at("consumer kill c2")
    shell.at("consumer start c2 --group g --topic orders --assignor range --instance bob")
    shell.at("sleep 4s")
    assert differences(shell.run) == []
    (group,) = shell.run.view["groups"].values()
    assert sorted(member["instance"] for member in group["members"].values()) == ["", "bob"]
    assert shell.at("consumer stop c1") == []
    assert shell.at('wait "group g == Stable 1" 30s') == []
    assert differences(shell.run) == []


def test_position_in_a_partition_ends_with_its_assignment() -> None:
    shell = group_run("range --auto-commit false")
    shell.at("producer open p --acks all")
    for partition in range(3):
        shell.at(f"producer send p orders-{partition} a:1 b:2")
    shell.at("sleep 2s")
    assert shell.node("c1")["positions"] == {"orders-0": 2, "orders-1": 2, "orders-2": 2}
    shell.at("consumer start c2 --group g --topic orders --assignor range")
    assert shell.at('wait "group g == Stable 2" 30s') == []
    shell.at("sleep 1s")
    assert sorted(shell.node("c1")["positions"]) == shell.node("c1")["assignment"] == ["orders-0", "orders-1"]
    # c2 commits offset 3: c1 begins there when it has the partition again, not at 2, where it stopped.
    shell.at("producer send p orders-2 c:3")
    shell.at("consumer stop c2")
    assert shell.at('wait "group g == Stable 1" 30s') == []
    shell.at("sleep 1s")
    assert shell.node("c1")["assignment"] == ["orders-0", "orders-1", "orders-2"]
    assert "orders-2" not in shell.node("c1")["positions"]
    shell.at("producer send p orders-2 d:4")
    shell.at("sleep 1s")
    assert shell.node("c1")["positions"]["orders-2"] == 4
    assert differences(shell.run) == []


def test_joins_and_syncs_wait_at_the_coordinator() -> None:
    """KIP-134: the first rebalance waits for more members, and longer when some have joined."""
    shell = ShellRun(group_initial_rebalance_delay_ms="3000")
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1")
    shell.at("consumer start c1 --group g --topic orders")
    shell.after(2)
    (first,) = [one for one in shell.run.view["parked"].values() if one["api"] == "JoinGroup"]
    assert (first["client"], first["needs"]) == ("c1", "label.needs_initial_delay")
    assert first["deadline_us"] - first["since_us"] == 3_000_000
    assert first["partitions"][0].startswith("__consumer_offsets-")
    shell.at("consumer start c2 --group g --topic orders")
    shell.after(2)
    joins = {one["client"]: one for one in shell.run.view["parked"].values() if one["api"] == "JoinGroup"}
    assert list(joins) == ["c1", "c2"]
    assert joins["c1"]["since_us"] == first["since_us"]
    assert joins["c1"]["deadline_us"] == joins["c2"]["deadline_us"] == first["deadline_us"] + 3_000_000
    assert differences(shell.run) == []
    shell.events()
    assert shell.at('wait "group g == Stable 2" 30s') == []
    assert [one for one in shell.run.view["parked"].values() if one["api"] in ("JoinGroup", "SyncGroup")] == []
    events = shell.events(RpcSent, RequestParked, RequestCompleted)
    said = [(e.api, e.kind, dict(e.fields)) for e in events if isinstance(e, RpcSent)]
    assert [fields["members"] for api, kind, fields in said if (api, kind) == ("JoinGroup", "response")] == [2, 0]
    assigned = [fields["assignments"] for api, kind, fields in said if (api, kind) == ("SyncGroup", "request")]
    assert sorted(assigned) == [0, 2]
    syncs = {e.request: e.needs for e in events if isinstance(e, RequestParked) and e.api == "SyncGroup"}
    assert sorted(syncs.values()) == ["label.needs_assignment", "label.needs_stored"]
    ended = {e.request: e.why for e in events if isinstance(e, RequestCompleted)}
    assert {ended[request] for request in syncs} == {"satisfied"}


def test_join_leaves_the_purgatory_when_the_coordinator_moves() -> None:
    shell = group_run()
    shell.at("consumer freeze c1")
    shell.at("consumer start c2 --group g --topic orders")
    shell.after(1)
    (waiting,) = [one for one in shell.run.view["parked"].values() if one["api"] == "JoinGroup"]
    assert (waiting["client"], waiting["needs"]) == ("c2", "label.needs_members")
    (group,) = shell.run.view["groups"].values()
    shell.events()
    shell.at(f"broker stop {group['coordinator'][1:]}")
    shell.after(3)
    ended = [event.why for event in shell.events(RequestCompleted) if event.broker == group["coordinator"]]
    assert "NOT_COORDINATOR" in ended
    assert differences(shell.run) == []


def test_members_and_offsets_survive_a_coordinator_failover() -> None:
    shell = group_run()
    shell.at("producer open p --acks all")
    shell.at("producer send p orders-0 a:1 b:2")
    assert shell.at('wait "committed g orders-0 == 2" 20s') == []
    (group,) = shell.run.view["groups"].values()
    generation_id = group["generation_id"]
    shell.at(f"broker kill {group['coordinator'][1:]}")
    assert shell.at('wait "group g == Stable 1" 60s') == []
    assert differences(shell.run) == []
    (group,) = shell.run.view["groups"].values()
    assert group["generation_id"] == generation_id
    shell.at("producer send p orders-0 c:3")
    assert shell.at('wait "committed g orders-0 == 3" 40s') == []
    assert [line.split(":")[-2:] for line in shell.at("consumer output c1")] == [["a", "1"], ["b", "2"], ["c", "3"]]


def test_cooperative_member_keeps_partitions_that_are_not_reassigned() -> None:
    shell = group_run("cooperative-sticky")
    shell.events()
    shell.at("consumer start c2 --group g --topic orders --assignor cooperative-sticky")
    assert shell.at('wait "group g == Stable 2" 30s') == []
    kept = [event.partitions for event in shell.events(ConsumerAssigned) if event.client == "c1"]
    assert kept and all({"orders-0", "orders-1"} <= set(partitions) for partitions in kept)


def test_killed_member_is_removed_at_its_session_timeout() -> None:
    shell = group_run()
    shell.at("consumer kill c1")
    assert shell.at('wait "group g == Empty" 5s') == ["[timeout]"]
    assert shell.at('wait "group g == Empty" 5s') == []
    states = [event.to_state for event in shell.events(GroupTransitioned) if event.group == "g"]
    assert states[-2:] == ["PreparingRebalance", "Empty"]


def test_frozen_member_is_removed_at_its_session_timeout_and_rejoins_with_a_new_id() -> None:
    """Others continue from its committed offset; after the thaw it gets UNKNOWN_MEMBER_ID."""
    shell = group_run()
    shell.at("consumer start c2 --group g --topic orders --assignor range")
    assert shell.at('wait "group g == Stable 2" 30s') == []
    assert shell.at("consumer freeze c1") == []
    assert shell.run.view["nodes"]["c1"]["state"] == "frozen"
    (refusal,) = shell.at("consumer stop c1")
    assert refusal == refused("shell.frozen_close", name="c1")
    shell.at("sleep 3s")
    assert len(next(iter(shell.run.view["groups"].values()))["members"]) == 2
    assert shell.at('wait "group g == Stable 1" 10s') == []
    shell.events()
    assert shell.at("consumer thaw c1") == []
    assert shell.at('wait "group g == Stable 2" 30s') == []
    whys = [event.why for event in shell.events(ConsumerStateChanged) if event.client == "c1"]
    assert "UNKNOWN_MEMBER_ID" in whys
    assert differences(shell.run) == []
    assert shell.run.view["alarms"] == {}
    (refusal,) = shell.at("consumer thaw c1")
    assert refusal == refused("shell.not_frozen", name="c1")


@pytest.mark.parametrize("era", ["0.8", "0.10", "3.9"])
def test_next_owner_continues_from_a_manual_commit(era: str) -> None:
    """With auto-commit off nothing else commits: the next owner reads the rest again."""
    shell = ShellRun(era=era)
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    shell.at("producer open p --acks all --idempotence false")
    start = "consumer start c1 --group g --topic orders --assignor range --auto-commit false"
    shell.at(start)
    shell.at("producer send p orders-0 a:1 b:2")
    shell.at("sleep 8s")
    assert shell.at("consumer commit c1") == []
    shell.at("producer send p orders-0 c:3")
    shell.at("sleep 2s")
    assert [line.rpartition(":")[2] for line in shell.at("consumer stop c1")] == ["1", "2", "3"]
    shell.at(start)
    shell.at("sleep 8s")
    assert [line.rpartition(":")[2] for line in shell.at("consumer output c1")] == ["3"]
    assert differences(shell.run) == []
    assert shell.run.view["alarms"] == {}


def test_member_seeks_only_in_owned_partitions() -> None:
    shell = group_run()
    shell.at("producer open p --acks all")
    shell.at("producer send p orders-0 a:1 b:2 c:3")
    shell.at("sleep 2s")
    assert shell.at("consumer seek c1 orders-0@1") == []
    shell.at("sleep 2s")
    assert [line.rpartition(":")[2] for line in shell.at("consumer output c1")] == ["1", "2", "2", "3", "3"]
    assert shell.run.view["nodes"]["c1"]["last_reset"] == "reason.seek_called"
    for place, position in (("beginning", 0), ("end", 3)):
        shell.at("consumer freeze c1")
        assert shell.at(f"consumer seek c1 orders-0@{place}") == [refused("shell.frozen", name="c1")]
        shell.at("consumer thaw c1")
        assert shell.at(f"consumer seek c1 orders-0@{place}") == []
        assert shell.run.view["nodes"]["c1"]["positions"]["orders-0"] == position
    none = "IllegalStateException: No current assignment for partition orders-9"
    assert shell.at("consumer seek c1 orders-9@0") == [none]
    assert shell.at("consumer seek c7 orders-0@0") == [refused("shell.no_group_consumer", name="c7")]
    for wrong in ("", "orders-0", "orders-0@", "orders-0@-1", "orders-0@now", f"orders-0@{1 << 63}", "orders@1"):
        with pytest.raises(ShellError):
            shell.at(f"consumer seek c1 {wrong}")
    assert differences(shell.run) == []
    assert shell.run.view["alarms"] == {}


def test_manual_commit_reports_why_it_fails() -> None:
    shell = group_run("range --auto-commit false")
    shell.at("producer open p --acks all")
    shell.at("producer send p orders-0 a:1")
    shell.at("sleep 1s")
    shell.at("consumer freeze c1")
    assert shell.at("consumer commit c1") == [refused("shell.frozen", name="c1")]
    shell.at("sleep 12s")
    shell.at("consumer thaw c1")
    (said,) = shell.at("consumer commit c1")
    assert said.startswith(("CommitFailedException: ", "RebalanceInProgressException: ")) and shell.exit_code == 1
    shell.at("sleep 10s")
    coordinator = shell.at("coordinator g")[0].rpartition("-")[2]
    leader = shell.run.view["partitions"][f"__consumer_offsets-{coordinator}"]["leader"]
    shell.at(f"broker kill {leader}")
    assert shell.at("consumer commit c1") == []
    assert shell.at('wait "committed g orders-0 == 1" 1s') == []
    assert shell.run.view["alarms"] == {}


def test_frozen_consumer_of_0_8_loses_its_session_and_registers_again() -> None:
    shell = ShellRun(era="0.8")
    shell.at("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3")
    shell.at("consumer start c1 --group g --topic orders --assignor range")
    shell.at("consumer start c2 --group g --topic orders --assignor range")
    shell.at("sleep 5s")
    shell.at("consumer freeze c1")
    shell.at("sleep 20s")
    assert shell.run.view["nodes"]["c2"]["assignment"] == ["orders-0", "orders-1"]
    shell.at("consumer thaw c1")
    shell.at("sleep 20s")
    nodes = shell.run.view["nodes"]
    assert sorted(nodes["c1"]["assignment"] + nodes["c2"]["assignment"]) == ["orders-0", "orders-1"]
    assert nodes["c1"]["assignment"]
    assert shell.run.view["alarms"] == {}


def test_offsets_are_deleted_with_their_topic() -> None:
    shell = group_run()
    assert shell.at('wait "committed g orders-0 == 0" 20s') == []
    shell.at("consumer stop c1")
    shell.at("kafka-topics.sh --delete --topic orders")
    shell.at('wait "topic orders gone" 30s')
    assert shell.at('wait "group g == Dead" 30s') == []
    assert differences(shell.run) == []


def test_console_consumer_in_a_group_resumes_after_the_last_printed_record() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    shell.at("producer open p --acks all")
    shell.at("producer send p orders-0 a:1 b:2 c:3")
    read = "kafka-console-consumer.sh --topic orders --group g --from-beginning --max-messages"
    assert shell.at(f"{read} 2") == ["1", "2", "! Processed a total of 2 messages"]
    assert shell.at("group describe g") == ["group g: Empty none"]
    assert shell.at(f"{read} 5 --timeout-ms 5000")[0] == "3"
    assert shell.at('wait "committed g orders-0 == 3" 1s') == []
    assert differences(shell.run) == []


def test_coordinator_that_is_loading_answers_load_in_progress() -> None:
    shell = group_run()
    shell.at("consumer stop c1")
    (group,) = shell.run.view["groups"].values()
    replicas = shell.run.view["partitions"][group["partition"]]["replicas"]
    coordinator = int(group["coordinator"][1:])
    for broker_id in replicas:
        if broker_id != coordinator:
            shell.at(f"disk slow {broker_id} 2000ms")
    shell.at(f"broker kill {coordinator}")
    shell.at("consumer start c2 --group g --topic orders --assignor range")
    assert shell.at('wait "group g == Stable 1" 90s') == []
    events = shell.events(GroupsLoadStarted, RpcSent)
    assert any(isinstance(event, GroupsLoadStarted) for event in events)
    refused = [event.api for event in events if isinstance(event, RpcSent) and event.label == LOADING]
    assert "JoinGroup" in refused
    assert differences(shell.run) == []


def test_member_that_exceeds_max_poll_interval_is_removed_and_rereads() -> None:
    shell = group_run()
    slow = "--process-ms 1000 --max-poll-records 3 --max-poll-interval-ms 2000"
    shell.at(f"consumer start c2 --group h --topic orders --assignor range {slow}")
    assert shell.at('wait "group h == Stable 1" 30s') == []
    shell.at("producer open p --acks all")
    shell.at("producer burst p orders-0 5")
    shell.after(15)
    events = [event for event in shell.events(ConsumerStateChanged, RecordsConsumed) if event.client == "c2"]
    left = [event.why for event in events if isinstance(event, ConsumerStateChanged) and event.state == "left"]
    assert len(left) > 1 and left[0] == "reason.poll_timeout?limit=2000"
    assert {event.position for event in events if isinstance(event, RecordsConsumed)} == {3}
    assert differences(shell.run) == []


def test_commit_waits_until_the_records_are_processed() -> None:
    shell = group_run()
    shell.at("consumer start c2 --group h --topic orders --assignor range --process-ms 1000")
    assert shell.at('wait "group h == Stable 1" 30s') == []
    shell.at("producer open p --acks all")
    shell.at("producer burst p orders-0 3")
    (key,) = [key for key in shell.run.view["groups"] if key.startswith("h@")]
    shell.after(2)
    assert (shell.node("c2")["position"], shell.run.view["groups"][key]["offsets"]["orders-0"]) == (3, 0)
    shell.after(2)
    assert shell.run.view["groups"][key]["offsets"]["orders-0"] == 3


def test_member_rejoins_when_assigned_an_unsubscribed_topic() -> None:
    shell = ShellRun()
    for topic in ("orders", "other"):
        shell.at(f"kafka-topics.sh --create --topic {topic} --partitions 1 --replication-factor 3")
    shell.at("assignor define odd 'give other-0 to c1'")
    shell.at("consumer start c1 --group g1 --topic orders --assignor odd")
    shell.after(8)
    member: Any = shell.node("c1")["member"]
    assert member["why"] == "reason.not_subscribed?topics=other-0" or member["state"] == "syncing"
    assert member["generation_id"] > 2


def test_member_whose_partitions_have_no_leader_asks_for_metadata_once_a_second() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 3,3,3,3")
    shell.at("consumer start c1 --group g --topic orders")
    assert shell.at('wait "group g == Stable 1" 30s') == []
    shell.at("broker kill 3")
    shell.after(30)
    shell.events()
    shell.after(20)
    requested = [each for each in shell.events(RpcSent) if each.source == "c1" and each.api == "Metadata"]
    assert 15 <= len(requested) <= 25


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (("",), "No content to map due to end-of-input"),
        (("orders,0,99999999999999999999",), "not a valid `long` value"),
        (("orders,99999999999,1",), "not a valid `int` value"),
    ],
)
def test_invalid_plan_json_is_refused_with_jacksons_message(rows: tuple[str, ...], complaint: str) -> None:
    shell = group_run()
    shell.at("consumer stop c1")
    shell.at("file plan", *rows)
    printed = shell.at("kafka-consumer-groups.sh --group g --reset-offsets --execute --from-file plan")
    assert any(complaint in line for line in printed)


def test_incomplete_rows_of_a_plan_are_skipped() -> None:
    shell = group_run()
    shell.at("consumer stop c1")
    shell.at("file plan", "g,orders,0,1", "h")
    printed = shell.at("kafka-consumer-groups.sh --group g --reset-offsets --dry-run --from-file plan")
    assert "".join(printed).count("orders                         0") == 1


def test_rows_of_a_plan_may_end_with_carriage_returns() -> None:
    shell = group_run()
    shell.at("producer open p --acks all")
    shell.at("producer send p orders-0 a:1 b:2")
    shell.at("consumer stop c1")
    shell.at("file plan <<< 'orders,0,1\rorders,1,0'")
    printed = shell.at("kafka-consumer-groups.sh --group g --reset-offsets --dry-run --from-file plan")
    assert "".join(printed).count("orders") == 2
