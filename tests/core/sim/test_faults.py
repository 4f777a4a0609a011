"""Faults typed by hand: links one way, slow, lossy; slow disks; sessions; single messages."""

import pytest

from broker_core.events.client import ProduceAcknowledged, ProduceFailed
from broker_core.events.control import SessionClosed, SessionOpened
from broker_core.events.log import BatchAppended
from broker_core.events.replica import IsrExpanded, IsrShrunk
from broker_core.events.rpc import RpcDelivered, RpcDropped, RpcSent
from broker_core.events.world import BrokerStopped
from broker_core.shell.grammar.parser import ShellError
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused


@pytest.fixture
def shell() -> ShellRun:
    run = ShellRun()
    run.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    run.at("producer open p --acks all")
    run.at("producer send p orders-0 first:0")
    run.after(2)
    run.events()
    return run


def delivered(run: ShellRun, api: str, kind: str, source: str, destination: str) -> int:
    """How many such messages have arrived since the last look."""
    events = run.events(RpcSent, RpcDelivered)
    sent = {
        event.rpc
        for event in events
        if isinstance(event, RpcSent)
        and (event.api, event.kind, event.source, event.destination) == (api, kind, source, destination)
    }
    return sum(event.rpc in sent for event in events if isinstance(event, RpcDelivered))


def test_link_cut_in_one_direction_delivers_in_the_other(shell: ShellRun) -> None:
    assert shell.at("link cut 3 1 --one-way") == []
    assert differences(shell.run) == []
    assert shell.run.view["links"]["b1|b3"]["from"] == "b3"
    shell.at("producer send p orders-0 a:1 &")
    shell.after(2)
    # requests of the controller, broker 1, still reach broker 3, whose fetches do not arrive
    assert delivered(shell, "Fetch", "request", "b3", "b1") == 0
    shell.after(20)
    assert [event.to_isr for event in shell.events(IsrShrunk)] == [(1, 2)]
    assert shell.at("link cut 3 1 --one-way") == [refused("shell.link_cut_one_way", source="b3", destination="b1")]
    assert shell.at("link cut 1 3") == []
    assert shell.run.view["links"]["b1|b3"]["state"] == "cut"
    shell.at("link restore 1 3")
    shell.after(12)
    assert [event.to_isr for event in shell.events(IsrExpanded)] == [(1, 2, 3)]
    assert shell.run.view["links"] == {}
    assert differences(shell.run) == []


def test_latency_makes_an_acknowledgement_wait_for_the_slowest_follower(shell: ShellRun) -> None:
    shell.at("producer send p orders-0 a:1")
    (before,) = shell.events(ProduceAcknowledged)
    shell.at("link latency 1 3 300ms")
    assert shell.run.view["link_faults"]["b3>b1"]["latency_us"] == 300_000
    assert differences(shell.run) == []
    shell.after(2)
    shell.events()
    shell.at("producer send p orders-0 a:2")
    (slow,) = shell.events(ProduceAcknowledged)
    assert slow.latency_us > before.latency_us + 300_000
    shell.at("link latency 1 3 0")
    assert shell.run.view["link_faults"] == {}
    shell.after(2)
    shell.events()
    shell.at("producer send p orders-0 a:3")
    (after,) = shell.events(ProduceAcknowledged)
    assert after.latency_us < 10_000


def test_lost_message_never_arrives_and_its_sender_times_out(shell: ShellRun) -> None:
    shell.at("link loss p 1 100% --one-way")
    assert shell.at("producer send p orders-0 a:1") == [
        "TimeoutException: Expiring 1 record(s) for orders-0:15000 ms has passed since batch creation"
    ]
    events = shell.events(RpcDropped, ProduceFailed, BatchAppended)
    assert {event.why for event in events if isinstance(event, RpcDropped)} == {"reason.link_loss"}
    assert not any(isinstance(event, BatchAppended) for event in events)
    shell.at("link loss p 1 0")
    assert shell.at("producer send p orders-0 a:2") == ["orders-0@1"]


def test_reordering_link_reorders_some_messages(shell: ShellRun) -> None:
    shell.at("link latency p 1 20ms")
    shell.at("link reorder p 1 50 --one-way")
    shell.at("producer stream p orders-0 400")
    shell.after(2)
    events = shell.events(RpcSent, RpcDelivered)
    produced = [e.rpc for e in events if isinstance(e, RpcSent) and e.api == "Produce" and e.kind == "request"]
    arrived = [e.rpc for e in events if isinstance(e, RpcDelivered) and e.rpc in set(produced)]
    assert arrived != [rpc for rpc in produced if rpc in set(arrived)]


def test_slow_disk_delays_every_append(shell: ShellRun) -> None:
    shell.at("disk slow 2 400ms")
    assert shell.node("b2")["disk_latency_us"] == 400_000
    shell.at("producer send p orders-0 a:1")
    (slow,) = shell.events(ProduceAcknowledged)
    assert slow.latency_us > 400_000
    assert shell.at("disk slow 2 400ms") == [refused("shell.disk_as_slow", broker=2)]
    shell.at("disk slow 2 0")
    shell.after(2)
    shell.events()
    shell.at("producer send p orders-0 a:1")
    (quick,) = shell.events(ProduceAcknowledged)
    assert quick.latency_us < 10_000
    assert shell.at("disk slow 2 0") == [refused("shell.disk_not_slow", broker=2)]


def test_slow_fsync_delays_appends_that_are_flushed(shell: ShellRun) -> None:
    shell.at("kafka-topics.sh --create --topic safe --replica-assignment 1:2 --config flush.messages=1")
    shell.at("producer open q --acks all")
    shell.at("producer send q safe-0 a:1")
    latencies = []
    for line in ("disk fsync 1 30ms", "disk fsync 2 30ms", "disk fsync 1 0"):
        shell.at(line)
        shell.after(1)
        shell.events()
        shell.at("producer send q safe-0 a:1")
        (acknowledged,) = shell.events(ProduceAcknowledged)
        latencies.append(acknowledged.latency_us)
    leader, both, follower = latencies
    assert 30_000 <= leader < 40_000
    assert 60_000 <= both < 70_000
    assert 30_000 <= follower < 40_000
    assert shell.node("b2")["fsync_latency_us"] == 30_000
    shell.at("producer send p orders-0 a:1")
    (unflushed,) = shell.events(ProduceAcknowledged)
    assert unflushed.latency_us < 10_000


def test_fsync_time_that_changes_nothing_is_refused(shell: ShellRun) -> None:
    assert shell.at("disk fsync 2 0") == [refused("shell.fsync_not_slow", broker=2)]
    shell.at("disk fsync 2 5ms")
    assert shell.at("disk fsync 2 5ms") == [refused("shell.fsync_as_slow", broker=2)]


def test_session_expires_while_its_process_runs(shell: ShellRun) -> None:
    epoch = shell.node("b2")["broker_epoch"]
    shell.at("session expire 2")
    shell.after(1)
    events = shell.events(SessionClosed, SessionOpened, BrokerStopped)
    assert [type(event) for event in events] == [SessionClosed, SessionOpened]
    assert events[0].why == "expired"
    assert shell.node("b2")["state"] == "up"
    assert shell.node("b2")["broker_epoch"] > epoch
    assert shell.at("producer send p orders-0 a:1") == ["orders-0@1"]
    assert differences(shell.run) == []


def test_controller_loses_its_session_and_another_one_takes_over(shell: ShellRun) -> None:
    assert shell.run.view["controller"]["broker"] == 1
    before = shell.run.view["controller"]["controller_epoch"]
    shell.at("session expire 1")
    shell.after(8)
    assert shell.run.view["controller"]["controller_epoch"] == before + 1
    assert shell.at("producer send p orders-0 a:1") == ["orders-0@1"]
    assert differences(shell.run) == []


def test_session_of_a_dead_broker_can_be_expired_early(shell: ShellRun) -> None:
    shell.at("broker kill 3")
    shell.at("session expire 3")
    shell.after(0.2)
    assert "/brokers/ids/3" not in shell.run.view["zk"]
    assert shell.at("session expire 3") == [refused("shell.no_session", broker=3)]


def produce_request(shell: ShellRun) -> str:
    """The RPC id of a Produce that has just been sent."""
    shell.at("producer burst p orders-0 1")
    sent = [e.rpc for e in shell.events(RpcSent) if e.api == "Produce" and e.kind == "request"]
    return str(sent[-1])


def test_message_is_dropped(shell: ShellRun) -> None:
    rpc = produce_request(shell)
    assert shell.at(f"message drop {rpc}") == []
    shell.after(4)
    assert not shell.events(BatchAppended)
    # request.timeout.ms is 5 s; then it is tried again
    shell.after(3)
    assert len(shell.events(BatchAppended)) == 3
    assert shell.at(f"message drop {rpc}") == [refused("shell.message_not_in_flight", rpc=rpc)]


def test_delayed_message_is_delivered(shell: ShellRun) -> None:
    rpc = produce_request(shell)
    shell.at(f"message delay {rpc} 2s")
    shell.after(1.5)
    assert not shell.events(BatchAppended)
    shell.at(f"message deliver {rpc}")
    shell.after(0.1)
    assert len(shell.events(BatchAppended)) == 3
    assert differences(shell.run) == []


def test_duplicated_produce_is_stored_twice_without_idempotence(shell: ShellRun) -> None:
    shell.at("producer close p")
    shell.at("producer open p --idempotence false")
    shell.at("producer send p orders-0 second:0")
    shell.after(2)
    shell.events()
    rpc = produce_request(shell)
    shell.at(f"message duplicate {rpc}")
    shell.after(2)
    events = shell.events(BatchAppended, ProduceAcknowledged)
    assert sorted(e.base_offset for e in events if isinstance(e, BatchAppended)) == [2, 2, 2, 3, 3, 3]
    assert [e.base_offset for e in events if isinstance(e, ProduceAcknowledged)] == [2]
    assert differences(shell.run) == []


def test_duplicated_produce_is_stored_once_with_idempotence(shell: ShellRun) -> None:
    rpc = produce_request(shell)
    shell.at(f"message duplicate {rpc}")
    shell.after(2)
    events = shell.events(BatchAppended, ProduceAcknowledged)
    assert [e.base_offset for e in events if isinstance(e, BatchAppended)] == [1, 1, 1]
    assert [e.base_offset for e in events if isinstance(e, ProduceAcknowledged)] == [1]
    assert differences(shell.run) == []


def test_message_can_be_delivered_through_a_cut_link(shell: ShellRun) -> None:
    shell.at("link cut p 1")
    rpc = produce_request(shell)
    assert shell.at(f"message delay {rpc} 1s") == [refused("shell.message_held_delay", rpc=rpc)]
    assert shell.at(f"message duplicate {rpc}") == [refused("shell.message_held_duplicate", rpc=rpc)]
    shell.at(f"message deliver {rpc}")
    shell.after(1)
    assert len(shell.events(BatchAppended)) == 3
    assert differences(shell.run) == []


def test_messages_in_the_socket_of_a_frozen_broker_cannot_be_changed(shell: ShellRun) -> None:
    shell.at("broker freeze 1")
    rpc = produce_request(shell)
    shell.after(0.5)
    assert shell.at(f"message drop {rpc}") == [refused("shell.message_in_socket", rpc=rpc, node="b1")]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("link latency 1 2", "not_understood"),
        ("link latency 1 2 soon", "invalid_time"),
        ("link latency 1 2 2m", "over_a_minute"),
        ("link loss 1 2 101%", "invalid_percentage"),
        ("link loss 1 1 10%", "link_to_itself"),
        ("link restore 1 2 --one-way", "not_understood"),
        ("link cut 1 9", "unknown_node"),
        ("disk slow 9 1s", "unknown_broker"),
        ("disk fast 1", "not_understood"),
        ("session expire 9", "unknown_broker"),
        ("session end 1", "not_understood"),
        ("message drop", "not_understood"),
        ("message delay r1", "not_understood"),
    ],
)
def test_invalid_faults_are_refused(shell: ShellRun, line: str, complaint: str) -> None:
    with pytest.raises(ShellError) as caught:
        shell.run.submit(line)
    assert caught.value.id == f"shell.{complaint}"


def test_messages_of_zookeeper_cannot_be_dropped(shell: ShellRun) -> None:
    assert shell.at("link loss 1 zk 10") == [refused("shell.zookeeper_link")]


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("link ", {"latency", "loss", "reorder"}),
        ("link cut 1 2 ", {"--one-way"}),
        ("link loss 1 2 ", {"50%"}),
        ("disk slow ", {"1", "2", "3"}),
        ("session expire ", {"1", "2", "3"}),
        ("message ", {"drop", "delay", "duplicate", "deliver"}),
    ],
)
def test_completion_offers_faults(shell: ShellRun, line: str, offers: set[str]) -> None:
    _, items = shell.run.complete(line, len(line))
    assert offers <= set(items)
