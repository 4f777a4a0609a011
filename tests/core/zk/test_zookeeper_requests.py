"""Requests to ZooKeeper: counted for each node, one event for an instant."""

import pytest

from broker_core.events.codec import decode
from broker_core.events.control import REQUESTS_SHOWN, ZooKeeperAsked
from broker_core.events.envelope import sentence
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun


def requests(shell: ShellRun) -> dict[str, int]:
    return {name: node["zk_requests"] for name, node in shell.run.view["nodes"].items()}


@pytest.mark.parametrize("era", ["3.9", "0.10"])
def test_no_node_on_the_path_of_a_record_sends_requests_to_zookeeper(era: str) -> None:
    shell = ShellRun(era=era)
    shell.at("kafka-topics.sh --create --topic t --replica-assignment 1:2:3")
    shell.at("producer open p1 --acks all")
    shell.at("consumer start c1 --group g --topic t")
    assert shell.at('wait "group g == Stable 1" 30s') == []
    # The first producer id of a broker takes a block of ids from ZooKeeper, before any record is sent.
    shell.at("producer send p1 t-0 warm:0")
    shell.after(2)
    before = requests(shell)
    shell.at("producer send p1 t-0 a:1 b:2")
    assert shell.at('wait "committed g t-0 == 3" 20s') == []
    assert requests(shell) == before
    assert before["p1"] == before["c1"] == before["shell"] == 0 and before["b1"] > before["b2"] > 0


def test_all_requests_of_an_instant_are_one_event() -> None:
    shell = ShellRun()
    before = requests(shell)
    shell.events()
    shell.at("kafka-topics.sh --create --topic big --partitions 50 --replication-factor 2")
    shell.after(1)
    decoded = [decode(0, data) for data in shell.journal()]
    asked = {(at_us, event.client): event for _, at_us, _, _, event in decoded if isinstance(event, ZooKeeperAsked)}
    assert len(asked) == sum(isinstance(event, ZooKeeperAsked) for *_, event in decoded)
    largest = max(asked.values(), key=lambda event: event.count)
    assert largest.count > 50 and len(largest.requests) == REQUESTS_SHOWN
    # Each of the two brokers that get replicas makes two at an instant.
    assert len(asked) < 60
    count = sum(event.count for event in asked.values() if event.client == "b1")
    assert requests(shell)["b1"] - before["b1"] == count
    assert differences(shell.run) == []


def test_failed_operation_is_a_request_with_its_error() -> None:
    shell = ShellRun()
    shell.events()
    shell.at("zk delete /controller")
    shell.after(1)
    rows = [row for event in shell.events(ZooKeeperAsked) for row in event.requests]
    assert ("getData", "/controller", "NoNode") in rows
    last = shell.node("b2")["zk_last"]
    assert last["count"] == len(last["requests"]) and last["requests"][-1][1] == "/controller"


def test_consumers_of_0_8_send_their_own_requests_to_zookeeper() -> None:
    shell = ShellRun(era="0.8")
    shell.at("kafka-topics.sh --create --topic t --replica-assignment 1:2:3")
    shell.at("consumer start c1 --group g --topic t")
    shell.after(5)
    rows = [row for event in shell.events(ZooKeeperAsked) if event.client == "c1" for row in event.requests]
    assert rows[0] == ("createSession", "", "ok")
    assert ("create", "/consumers/g/ids/g_c1", "ok") in rows
    assert requests(shell)["c1"] >= len(rows)


def test_node_that_is_cut_off_from_zookeeper_sends_no_requests() -> None:
    shell = ShellRun()
    shell.at("link cut 2 zk")
    before = requests(shell)["b2"]
    shell.after(30)
    assert requests(shell)["b2"] == before


def test_requests_are_listed_in_the_sentence_as_zookeeper_names_them() -> None:
    asked = ZooKeeperAsked(
        client="b1", count=2, requests=(("exists", "/controller", "ok"), ("getData", "/a", "NoNode"))
    )
    assert sentence(asked) == "b1 sent requests to ZooKeeper (2): exists /controller ok, getData /a NoNode"
