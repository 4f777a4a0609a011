"""KIP-392: consumers that read from the replica in their rack."""

from typing import Any, NamedTuple

import pytest

from broker_core.broker.replicas.read_replicas import LEADER, preferred_read_replica
from broker_core.config_defs import ConfigException
from broker_core.events.client import ReadReplicaCleared, ReadReplicaNamed
from broker_core.events.rpc import RpcSent
from broker_core.replication.isr import RemoteReplica
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused

RACKS = {broker_id: {"broker.rack": f"r{broker_id}"} for broker_id in (1, 2, 3)}
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def racks_run(era: str = "3.9") -> ShellRun:
    """A topic with its replicas in three racks, and two committed records."""
    shell = ShellRun(era=era, of_broker=RACKS, replica_selector_class=SELECTOR)
    shell.at("kafka-topics.sh --create --topic t --replica-assignment 1:2:3")
    shell.at("producer open p --acks all")
    shell.at("producer send p t-0 a:1 b:2")
    shell.after(1)
    shell.events()
    return shell


def sources(events: list[Any]) -> list[str]:
    """The brokers that answered the fetches of c1 with something."""
    answers = [e for e in events if e.api == "Fetch" and e.kind == "response" and e.destination == "c1"]
    return [e.source for e in answers if e.label.startswith(("label.records", "label.preferred"))]


@pytest.mark.parametrize("era", ["3.9", "2.4"])
def test_consumer_reads_from_the_replica_in_its_rack(era: str) -> None:
    shell = racks_run(era)
    shell.at("consumer follow c1 t-0 --from earliest --rack r3")
    shell.after(1)
    assert sources(shell.events(RpcSent)) == ["b1", "b3"]
    assert shell.node("c1")["read_replicas"] == {"t-0": "b3"}
    assert shell.node("c1")["settings"]["client.rack"] == "r3"
    shell.at("producer send p t-0 c:3")
    shell.after(1)
    assert shell.node("c1")["position"] == 3
    assert differences(shell.run) == []


def test_follower_serves_up_to_its_own_high_watermark() -> None:
    shell = racks_run()
    shell.at("consumer follow c1 t-0 --from earliest --rack r3")
    shell.after(1)
    shell.at("hold fetch 3 1")
    shell.at("producer open q --acks 1")
    shell.at("producer send q t-0 c:3")
    shell.after(5)
    assert shell.node("c1")["position"] == 2 and shell.node("c1")["high_watermark"] == 2
    shell.at("release fetch 3 1")
    shell.after(2)
    assert shell.node("c1")["position"] == 3


def test_replica_out_of_the_isr_is_read_until_metadata_max_age_ms_has_passed() -> None:
    shell = racks_run()
    shell.at("consumer follow c1 t-0 --from earliest --rack r3 --metadata-max-age-ms 60000")
    shell.after(1)
    shell.at("hold fetch 3 1")
    shell.at("producer open q --acks 1")
    shell.at("producer send q t-0 c:3")
    shell.after(50)
    assert shell.run.view["replicas"]["t-0@b1"]["isr"] == [1, 2]
    assert shell.node("c1")["position"] == 2
    shell.events()
    shell.after(15)
    assert shell.node("c1")["position"] == 3 and shell.node("c1")["read_replicas"] == {}
    (cleared,) = shell.events(ReadReplicaCleared)
    assert cleared.why == "reason.read_replica_expired"


def test_consumer_returns_to_the_leader_when_the_replica_does_not_respond() -> None:
    shell = racks_run()
    shell.at("consumer follow c1 t-0 --from earliest --rack r3")
    shell.after(1)
    shell.events()
    shell.at("broker kill 3")
    shell.after(30)
    assert shell.events(ReadReplicaCleared)[0].why == "reason.read_replica_disconnected"
    shell.at("producer send p t-0 c:3")
    shell.after(2)
    assert shell.node("c1")["position"] == 3
    assert shell.node("c1")["read_replicas"] == {}
    assert differences(shell.run) == []


def test_consumer_asks_a_new_leader() -> None:
    shell = racks_run()
    shell.at("consumer follow c1 t-0 --from earliest --rack r3 --metadata-max-age-ms 5000")
    shell.after(1)
    assert shell.node("c1")["read_replicas"] == {"t-0": "b3"}
    shell.events()
    shell.at("broker stop 1")
    shell.after(15)
    events = shell.events(ReadReplicaCleared, ReadReplicaNamed)
    assert "FENCED_LEADER_EPOCH" in {e.why for e in events if isinstance(e, ReadReplicaCleared)}
    assert {e.leader for e in events if isinstance(e, ReadReplicaNamed)} == {"b2"}
    shell.at("producer send p t-0 c:3")
    shell.after(2)
    assert shell.node("c1")["position"] == 3


def test_offset_beyond_the_replica_is_read_from_the_leader() -> None:
    shell = racks_run()
    shell.at("consumer start c1 --group g --topic t --rack r3")
    assert shell.at('wait "committed g t-0 == 2" 20s') == []
    assert shell.node("c1")["read_replicas"] == {"t-0": "b3"}
    shell.at("hold fetch 3 1")
    shell.at("broker powerloss 2")
    shell.at("producer open q --acks 1")
    shell.at("producer send q t-0 c:3 d:4")
    shell.events()
    shell.at("consumer seek c1 t-0@3")
    shell.after(0.2)
    assert [event.why for event in shell.events(ReadReplicaCleared)] == ["OFFSET_OUT_OF_RANGE"]
    assert shell.node("c1")["positions"]["t-0"] == 3


def test_revoked_partition_has_no_read_replica() -> None:
    shell = racks_run()
    shell.at("kafka-topics.sh --alter --topic t --partitions 2 --replica-assignment 1:2:3,1:2:3")
    shell.at("consumer start c1 --group g --topic t --rack r2")
    assert shell.at('wait "group g == Stable 1" 30s') == []
    shell.after(1)
    assert shell.node("c1")["read_replicas"] == {"t-0": "b2", "t-1": "b2"}
    shell.at("consumer start c2 --group g --topic t --rack r3")
    assert shell.at('wait "group g == Stable 2" 30s') == []
    shell.after(1)
    assert sorted(shell.node("c1")["read_replicas"]) == shell.node("c1")["assignment"]
    assert set(shell.node("c2")["read_replicas"].values()) == {"b3"}
    assert differences(shell.run) == []


def test_without_a_selector_consumers_read_from_leaders() -> None:
    shell = ShellRun(of_broker=RACKS)
    shell.at("kafka-topics.sh --create --topic t --replica-assignment 1:2:3")
    shell.at("consumer follow c1 t-0 --from earliest --rack r3")
    shell.after(1)
    fetches = [event for event in shell.events(RpcSent) if event.api == "Fetch" and event.source == "c1"]
    assert {event.destination for event in fetches} == {"b1"}


def test_eras_before_2_4_have_no_client_rack() -> None:
    shell = ShellRun(era="1.1")
    assert shell.at("consumer follow c1 t-0 --rack r3") == [refused("shell.no_client_rack", era="1.1")]
    assert shell.at("consumer start c1 --group g --topic t --rack r3") == [refused("shell.no_client_rack", era="1.1")]


def test_selector_that_kafka_does_not_have_is_refused() -> None:
    config = RunConfig(broker_config={"replica.selector.class": "org.apache.kafka.common.replica.LeaderSelector"})
    with pytest.raises(ConfigException, match=r"LeaderSelector could not be found.*RackAwareReplicaSelector"):
        Run(config, disk=SimulatedDisk(), zk=MemoryStore())


def test_topics_are_spread_over_racks() -> None:
    shell = ShellRun(of_broker={1: {"broker.rack": "a"}, 2: {"broker.rack": "a"}, 3: {"broker.rack": "b"}})
    shell.at("kafka-topics.sh --create --topic spread --partitions 6 --replication-factor 2")
    shell.after(1)
    rows = [row["replicas"] for name, row in shell.run.view["partitions"].items() if name.startswith("spread-")]
    assert len(rows) == 6 and all(3 in replicas for replicas in rows)


class Led(NamedTuple):
    """What the choice reads of a partition that broker 1 leads."""

    remotes: dict[int, RemoteReplica]
    isr: tuple[int, ...]
    broker_id: int = 1


@pytest.mark.parametrize(
    ("remotes", "isr", "offset", "only_in_sync", "chosen"),
    [
        ({2: (5, 0, 9_000), 3: (5, 0, 9_000)}, (1, 2, 3), 5, True, 3),  # equal: the greatest id
        ({2: (5, 0, 9_000), 3: (4, 0, 9_000)}, (1, 2, 3), 4, True, 2),  # the greatest log end offset
        ({2: (5, 0, 9_000), 3: (5, 0, 8_000)}, (1, 2, 3), 5, True, 2),  # caught up last
        ({2: (5, 0, 9_000), 3: (5, 0, 8_999)}, (1, 2, 3), 5, True, 2),  # in milliseconds
        ({2: (4, 0, 9_000), 3: (4, 0, 9_000)}, (1, 2, 3), 5, True, LEADER),  # none has the offset
        ({2: (5, 3, 9_000), 3: (5, 3, 9_000)}, (1, 2, 3), 2, True, LEADER),  # both have deleted it
        ({2: (5, 0, 9_000), 3: (5, 0, 9_000)}, (1, 2), 5, True, 2),  # broker 3 is not in sync
        ({2: (5, 0, 9_000), 3: (5, 0, 9_000)}, (1, 2), 5, False, 3),  # which 2.4 does not look at
    ],
)
def test_choice_among_replicas_of_a_rack(
    remotes: dict[int, tuple[int, int, int]], isr: tuple[int, ...], offset: int, only_in_sync: bool, chosen: int
) -> None:
    followers = {
        broker_id: RemoteReplica(log_end_offset=end, log_start_offset=start, last_caught_up_us=caught_up_us)
        for broker_id, (end, start, caught_up_us) in remotes.items()
    }
    led: Any = Led(followers, isr)
    racks = {1: "a", 2: "b", 3: "b"}
    assert preferred_read_replica(led, "b", offset, racks, only_in_sync=only_in_sync) == chosen
    assert preferred_read_replica(led, "a", offset, racks, only_in_sync=only_in_sync) == LEADER
    assert preferred_read_replica(led, "", offset, racks, only_in_sync=only_in_sync) == LEADER
