"""Which fetches of followers are events: those that change what a leader shows of them."""

from collections.abc import Sequence

from broker_core.events.log import BatchAppended
from broker_core.events.replica import RemoteReplicaUpdated
from broker_core.run import Made, Run
from tests.support.tcp_conversation import SECOND_US, ask, batch, produce_fields, started


def with_topic() -> Run:
    run = started()
    run.submit("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
    run.advance(run.now_us + 5 * SECOND_US)
    return run


def reports(made: Sequence[Made]) -> list[tuple[int, RemoteReplicaUpdated]]:
    return [(seq, event) for (seq, _, _, _, event), _, _ in made if isinstance(event, RemoteReplicaUpdated)]


def test_followers_that_stay_at_the_end_of_an_idle_partition_are_not_reported() -> None:
    run = with_topic()
    run.take()
    run.advance(run.now_us + 60 * SECOND_US)
    assert reports(run.take()) == []


def test_append_reports_when_followers_were_last_caught_up() -> None:
    run = with_topic()
    run.advance(run.now_us + 60 * SECOND_US)
    run.take()
    began_us = run.now_us
    leader = run.view["partitions"]["orders-0"]["leader"]
    ask(run, run.connect(leader, "127.0.0.1"), "Produce", 9, **produce_fields("orders", batch(b"x")))
    made = run.take()
    first_append = next(seq for (seq, _, _, _, event), _, _ in made if isinstance(event, BatchAppended))
    before = [event for seq, event in reports(made) if seq < first_append]
    assert len({event.follower for event in before}) == 2
    for event in before:
        assert event.log_end_offset == event.from_offset == 0
        # replica.fetch.wait.max.ms, and the way there and back
        assert began_us - SECOND_US < event.last_caught_up_us <= began_us


def test_followers_of_an_idle_partition_stay_in_the_isr() -> None:
    run = with_topic()
    run.advance(run.now_us + 120 * SECOND_US)
    assert len(run.view["replicas"][f"orders-0@b{run.view['partitions']['orders-0']['leader']}"]["isr"]) == 3
