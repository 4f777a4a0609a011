"""Consumers of era 0.8: groups without a coordinator, in ZooKeeper."""

import json

import pytest

from broker_core.events.group import ConsumerStateChanged
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused


def group_of(*starts: str, partitions: int = 4) -> ShellRun:
    shell = ShellRun(era="0.8")
    shell.at(f"kafka-topics.sh --create --topic demo --partitions {partitions} --replication-factor 3")
    for start in starts:
        shell.at(f"consumer start {start}")
        shell.after(4)
    return shell


def owners(shell: ShellRun, topic: str = "demo") -> dict[str, str]:
    root = f"/consumers/g1/owners/{topic}/"
    return {
        path.removeprefix(root): node["data"] for path, node in shell.run.view["zk"].items() if path.startswith(root)
    }


def test_consumer_writes_the_znodes_of_0_8_2() -> None:
    shell = group_of("c1 --group g1 --topic demo", partitions=2)
    shell.at("producer open p")
    shell.at("producer send p demo-0 a:1 b:2")
    shell.after(2)
    zk = shell.run.view["zk"]
    assert sorted(path for path in zk if path.startswith("/consumers/")) == [
        "/consumers/g1",
        "/consumers/g1/ids",
        "/consumers/g1/ids/g1_c1",
        "/consumers/g1/offsets",
        "/consumers/g1/offsets/demo",
        "/consumers/g1/offsets/demo/0",
        "/consumers/g1/offsets/demo/1",
        "/consumers/g1/owners",
        "/consumers/g1/owners/demo",
        "/consumers/g1/owners/demo/0",
        "/consumers/g1/owners/demo/1",
    ]
    registered = zk["/consumers/g1/ids/g1_c1"]
    timestamp = json.loads(registered["data"])["timestamp"]
    assert registered["data"] == (
        f'{{"version":1,"subscription":{{"demo":1}},"pattern":"white_list","timestamp":"{timestamp}"}}'
    )
    assert (registered["ephemeral"], zk["/consumers/g1/owners/demo/0"]["ephemeral"]) == ("c1", "c1")
    assert zk["/consumers/g1/owners/demo/1"]["data"] == "g1_c1-0"
    assert [zk[f"/consumers/g1/offsets/demo/{number}"]["data"] for number in (0, 1)] == ["2", "0"]
    assert "__consumer_offsets" not in shell.run.view["topics"]
    assert shell.at("consumer stop c1") == ["Partition:0:Offset:0:a:1", "Partition:0:Offset:1:b:2"]
    left = sorted(path for path in shell.run.view["zk"] if path.startswith("/consumers/g1/"))
    assert [path for path in left if "/ids/" in path or path.startswith("/consumers/g1/owners/demo/")] == []
    assert "/consumers/g1/offsets/demo/0" in left
    assert differences(shell.run) == []


def test_each_zookeeper_consumer_rebalances_and_waits_for_partitions_still_owned() -> None:
    shell = group_of("c1 --group g1 --topic demo", "c2 --group g1 --topic demo", "c3 --group g1 --topic demo")
    assert owners(shell) == {"0": "g1_c1-0", "1": "g1_c1-0", "2": "g1_c2-0", "3": "g1_c3-0"}
    tried = [event.why for event in shell.events(ConsumerStateChanged) if event.client == "c2"]
    assert "reason.still_owned?partition=demo-2" in tried
    assert {name: shell.node(name)["assignment"] for name in ("c1", "c2", "c3")} == {
        "c1": ["demo-0", "demo-1"],
        "c2": ["demo-2"],
        "c3": ["demo-3"],
    }
    shell.run.checkpoint()
    assert differences(shell.run) == []


def test_killed_zookeeper_consumer_is_removed_with_its_session_and_offsets_remain() -> None:
    shell = group_of("c1 --group g1 --topic demo", "c2 --group g1 --topic demo")
    shell.at("producer open p")
    shell.at("producer send p demo-3 a:1 b:2 c:3")
    shell.after(1)
    shell.at("consumer kill c2")
    shell.after(4)
    assert owners(shell)["3"] == "g1_c2-0"
    assert differences(shell.run) == []
    shell.after(6)
    assert set(owners(shell).values()) == {"g1_c1-0"}
    shell.at("producer send p demo-3 d:4")
    shell.after(1)
    assert shell.at("consumer output c1") == ["Partition:3:Offset:3:d:4"]
    assert differences(shell.run) == []


def test_consumer_that_loses_zookeeper_loses_its_partitions_and_reclaims_them() -> None:
    shell = group_of("c1 --group g1 --topic demo", "c2 --group g1 --topic demo")
    shell.at("link cut c2 zk")
    shell.after(14)
    assert set(owners(shell).values()) == {"g1_c1-0"}
    assert shell.node("c2")["assignment"] == ["demo-2", "demo-3"]
    shell.at("link restore c2 zk")
    shell.after(5)
    assert owners(shell) == {"0": "g1_c1-0", "1": "g1_c1-0", "2": "g1_c2-0", "3": "g1_c2-0"}
    assert differences(shell.run) == []


def test_added_partitions_are_assigned_and_round_robin_follows_the_hash() -> None:
    shell = group_of(
        "c1 --group g1 --topic demo --assignor roundrobin", "c2 --group g1 --topic demo --assignor roundrobin"
    )
    shell.at("kafka-topics.sh --alter --topic demo --partitions 6")
    shell.after(5)
    # "[demo,0]" to "[demo,5]" differ in one letter, and so do their hashes
    assert owners(shell) == {str(number): f"g1_c{1 + number % 2}-0" for number in range(6)}


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_assignors_of_later_releases_are_refused(assignor: str) -> None:
    shell = group_of()
    shell.at(f"consumer start c1 --group g1 --topic demo --assignor {assignor}")
    assert shell.exit_code == 1


def test_tools_list_groups_kept_in_zookeeper() -> None:
    shell = group_of(partitions=3)
    assert shell.at("group describe g1") == ["group g1: Dead none"]
    shell.at("producer open p")
    shell.at("producer send p demo-0 a:1 b:2")
    for name in ("c1", "c2"):
        shell.at(f"consumer start {name} --group g1 --topic demo")
    assert shell.at('wait "group g1 == Stable 2" 20s') == []
    assert shell.at("group describe g1") == ["group g1: Stable none", "  g1_c1: demo[0,1]", "  g1_c2: demo[2]"]
    assert shell.at('wait "committed g1 demo-0 == 2" 10s') == []
    assert shell.at("kafka-consumer-groups.sh --describe --group g1") == [
        refused("shell.old_groups", era="0.8"),
        refused("shell.old_groups_todo"),
    ]
    # znodes that others create among a group's znodes are not its own
    shell.at("zk create /consumers/g1/owners/demo/x g1_c1-0")
    shell.at("zk create /consumers/g1/offsets/demo/9 \u00b2")
    assert shell.at("group describe g1")[1:] == ["  g1_c1: demo[0,1]", "  g1_c2: demo[2]"]
    assert shell.at('wait "committed g1 demo-9 == 2" 1s') == ["[timeout]"]
    shell.at("consumer kill c1")
    assert shell.at('wait "group g1 == Stable 1" 40s') == []
    assert shell.at("group describe g1")[1:] == ["  g1_c2: demo[0,1,2]"]
    shell.at("consumer stop c2")
    assert shell.at('wait "group g1 == Empty" 1s') == []
    assert "__consumer_offsets" not in shell.run.view["topics"]
