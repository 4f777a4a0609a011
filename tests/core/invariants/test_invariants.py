"""Each invariant is broken on purpose: by events that a wrong core would state, and by wrong cores (`mutants`)."""

from collections.abc import Collection, Iterable

import pytest
from msgspec import structs

from broker_core.eras import ERAS
from broker_core.events import Event
from broker_core.events.client import AcknowledgedRecordsLost
from broker_core.events.control import LeaderElected, ZnodeDeleted
from broker_core.events.world import InvariantViolated
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.invariants import INVARIANTS, REPLICATION, Checker
from broker_core.texts import LANGUAGES, render
from broker_core.view.tree import Loss
from broker_core.zk.memory_store import MemoryStore
from tests.support.histories import (
    BROKEN,
    COMMITTED,
    GROUP,
    HEALTHY,
    advance,
    append,
    believes,
    cleaned,
    commit,
    follower,
    group,
    leader,
    loaded,
    numbered,
    opened,
    produce,
    state,
    truncate,
)
from tests.support.mutants import BROKER_CONFIG, MUTANTS, SCRIPTS, Mutant, hunt, play


def findings(events: Iterable[Event], era: str = "3.9", invariants: Collection[str] = INVARIANTS) -> list[Event]:
    checker = Checker(ERAS[era], invariants)
    return [found for seq, event in enumerate(events, 1) for found in checker.observe((seq, 0, "b1", 0, event))]


def alarms(events: Iterable[Event], era: str = "3.9") -> list[InvariantViolated]:
    found = [found for found in findings(events, era) if isinstance(found, InvariantViolated)]
    for alarm in found:
        for code in filter(None, (alarm.detail, alarm.explained_by, alarm.promise)):
            assert all(render(code, language) != code for language in LANGUAGES), code
    return found


def violations(events: Iterable[Event], era: str = "3.9") -> list[tuple[str, str]]:
    return [(alarm.invariant, alarm.explained_by) for alarm in alarms(events, era)]


def test_healthy_history_has_no_alarm() -> None:
    assert violations((*HEALTHY, *GROUP)) == []


def test_events_of_a_replaced_coordinator_violate_nothing() -> None:
    successor = (loaded(2, 1), group("", "Stable", 1, node=2))
    assert violations((*GROUP, *successor, commit(0), group("Stable", "PreparingRebalance", 1))) == []


def test_follower_may_lack_records_that_its_leader_compacted() -> None:
    assert violations((*HEALTHY, numbered(0, 1, node=2), cleaned(1, 3), numbered(2, 3, node=2))) == []
    marker = structs.replace(COMMITTED, replica="t-0@b2", offset=3)
    assert violations((*HEALTHY, numbered(0, 1, node=2), cleaned(1, 3), marker, numbered(2, 4, node=2))) == []


def test_late_request_for_a_deleted_topic_violates_nothing() -> None:
    gone = ZnodeDeleted(path="/brokers/topics/t", zxid=9)
    recreated = (opened("b2"), follower(2, of=-1, epoch=4))
    assert violations((*HEALTHY, state(-1, 4, [1], 1), gone, *recreated)) == []
    assert violations((*HEALTHY, state(-1, 3, [1], 1), gone, *recreated)) == [("I-EPOCHMONO", "")]


@pytest.mark.parametrize("name", BROKEN)
def test_broken_history_is_detected(name: str) -> None:
    invariant, events = BROKEN[name]
    assert invariant in [found for found, _ in violations((*HEALTHY, *events))]


def test_checker_reports_only_the_chosen_invariants() -> None:
    for invariant, events in BROKEN.values():
        everything = findings((*HEALTHY, *events), invariants=REPLICATION)
        found = {alarm.invariant for alarm in everything if isinstance(alarm, InvariantViolated)}
        assert found <= set(REPLICATION)
        assert invariant in found or invariant not in REPLICATION


def test_unclean_election_explains_a_lost_record() -> None:
    unclean = LeaderElected(
        partition="t-0", leader=2, leader_epoch=1, isr=(2,), strategy="OfflinePartition", unclean=True
    )
    events = (
        append(1, 1),
        state(1, 0, [1], 1),
        leader(1, isr=(1,)),
        advance(1, 2, before=1),
        unclean,
        state(2, 1, [2], 2),
        leader(2, 1, (2,)),
    )
    explained = dict(violations((*HEALTHY, *events)))
    assert explained["I-COMMIT"] == "cause.watermark_unclean?leader=2&leader_epoch=1"


def test_each_invariant_is_broken_by_a_history() -> None:
    broken = {invariant for invariant, _ in BROKEN.values()} | {"I-COMPLETE"}
    assert broken == set(INVARIANTS)


#: b1 committed offset 1 and acknowledged it; b2 takes over after it has truncated at its own high watermark
LOST_BY_A_CUT = (
    produce("request", ("acks", -1)),
    append(1, 1),
    append(2, 1),
    believes(2),
    advance(1, 2, before=1),
    produce("response", ("t-0", 1)),
    truncate(2, 2, 1),
    LeaderElected(partition="t-0", leader=2, leader_epoch=1, isr=(2,), strategy="OfflinePartition", unclean=False),
    state(2, 1, [2], 1),
    leader(2, 1, (2,)),
)


def test_lost_record_is_explained_by_the_era_whose_followers_cut_at_their_high_watermark() -> None:
    raised = {alarm.invariant: alarm for alarm in alarms((*HEALTHY, *LOST_BY_A_CUT), "0.10")}
    assert set(raised) >= {"I-COMPLETE", "I-COMMIT"}
    commit = raised["I-COMMIT"]
    assert commit.explained_by == "cause.truncation_hw?era=0.10"
    assert "Kafka 0.10" in render(commit.explained_by, "zh-CN") and "位移 1 已提交" in render(commit.detail, "zh-CN")
    assert render(commit.promise) == "b1 acknowledged offsets 1 to 1 to p, acks=all"
    assert commit.cause == len(HEALTHY) + 7, "the truncation"
    assert [alarm for alarm in raised.values() if not alarm.explained_by] == []


def test_same_loss_is_unexplained_in_a_later_era() -> None:
    unexplained = {invariant for invariant, explained_by in violations((*HEALTHY, *LOST_BY_A_CUT)) if not explained_by}
    assert {"I-COMPLETE", "I-COMMIT"} <= unexplained


def test_unclean_election_does_not_explain_other_violations() -> None:
    unclean = LeaderElected(
        partition="t-0", leader=2, leader_epoch=1, isr=(2,), strategy="OfflinePartition", unclean=True
    )
    for name in ("an offset twice", "two leaders of one epoch", "an index that falls"):
        invariant, events = BROKEN[name]
        assert (invariant, "") in violations((*HEALTHY, unclean, *events), "0.10"), name


def test_records_acknowledged_by_the_leader_alone_are_counted_when_they_are_lost() -> None:
    events = (
        produce("request", ("acks", 1)),
        append(1, 1),
        produce("response", ("t-0", 1)),
        state(2, 1, [2], 1),
        leader(2, 1, (2,)),
    )
    found = findings((*HEALTHY, *events))
    assert [type(event) for event in found] == [AcknowledgedRecordsLost]
    lost = found[0]
    assert isinstance(lost, AcknowledgedRecordsLost)
    assert (lost.first_offset, lost.count, lost.acknowledged_by, lost.leader) == (1, 1, "b1", "b2")


def losses(*lines: tuple[str, int]) -> list[Loss]:
    run = Run(RunConfig(seed=3), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(3_000_000)
    for line, pause_ms in lines:
        run.submit(line, "script")
        run.advance(run.now_us + pause_ms * 1_000)
    return list(run.view["losses"].values())


def test_records_acknowledged_by_a_deposed_leader_are_counted_when_it_acknowledges_them() -> None:
    (loss,) = losses(
        ("kafka-topics.sh --create --topic t --replica-assignment 1:2:3", 1_000),
        ("producer open p1 --acks 1", 10),
        ("producer open pa --acks all --timeout 60000", 10),
        ("producer send p1 t-0 a:1", 500),
        ("link cut 1 zk", 0),
        ("link cut 1 2", 0),
        ("link cut 1 3", 20_000),
        ("producer send p1 t-0 lost:1", 100),
        ("producer send pa t-0 safe:1", 3_000),
    )
    assert (loss["acknowledged_by"], loss["leader"], loss["why"]) == ("b1", "b2", "deposed leader")
    assert (loss["first_offset"], loss["count"], loss["acks"], loss["committed"]) == (1, 1, 1, 0)


@pytest.mark.parametrize(("acks", "strongest"), [("1", 1), ("all", -1)])
def test_records_that_a_leader_loses_with_its_power_are_counted_when_it_leads_again(acks: str, strongest: int) -> None:
    (loss,) = losses(
        ("kafka-topics.sh --create --topic t --replica-assignment 2", 1_000),
        (f"producer open p --acks {acks}", 10),
        ("producer send p t-0 a:1 b:2 c:3", 1_000),
        ("broker powerloss 2", 1_000),
        ("broker start 2", 30_000),
    )
    assert (loss["acknowledged_by"], loss["leader"], loss["why"]) == ("b2", "b2", "restart")
    assert (loss["first_offset"], loss["count"], loss["acks"], loss["committed"]) == (0, 3, strongest, 3)


def test_records_that_were_deleted_are_not_lost() -> None:
    assert not losses(
        ("kafka-topics.sh --create --topic t --replica-assignment 1:2", 1_000),
        ("producer open p --acks 1", 10),
        ("producer send p t-0 a:1 b:2 c:3", 1_000),
        ('file f <<< \'{"version":1,"partitions":[{"topic":"t","partition":0,"offset":3}]}\'', 0),
        ("kafka-delete-records.sh --bootstrap-server localhost:9092 --offset-json-file f", 2_000),
        ("broker powerloss 1", 20_000),
        ("broker start 1", 5_000),
        ("broker kill 2", 20_000),
    )


def test_each_message_of_an_old_format_counts() -> None:
    events = (
        produce("request", ("acks", 1), ("partition", "t-0"), ("records", 2)),
        append(1, 1),
        append(1, 2),
        produce("response", ("t-0", 1)),
        state(2, 1, [2], 1),
        leader(2, 1, (2,)),
    )
    (lost,) = findings((*HEALTHY, *events), "0.10")
    assert isinstance(lost, AcknowledgedRecordsLost)
    assert (lost.first_offset, lost.count, lost.why) == (1, 2, "election")


# wrong cores


@pytest.mark.parametrize("script", SCRIPTS)
def test_unmodified_core_raises_no_alarm(script: str) -> None:
    assert play(script) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_planted_bug_is_caught(mutant: Mutant) -> None:
    assert hunt(mutant) is not None


def test_each_invariant_has_a_mutant() -> None:
    assert sorted(mutant.invariant for mutant in MUTANTS) == sorted(INVARIANTS)


def test_run_counts_what_was_acknowledged_with_acks_1_and_lost() -> None:
    run = Run(RunConfig(seed=3, broker_config=BROKER_CONFIG), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(500_000)
    for line, pause_ms in SCRIPTS["parting"]:
        run.submit(line, "script")
        run.advance(run.now_us + pause_ms * 1_000)
    (loss,) = run.view["losses"].values()
    assert (loss["partition"], loss["acknowledged_by"], loss["leader"]) == ("t-0", "b1", "b2")
    assert loss["count"] == 15 and loss["first_offset"] == 41
    assert run.view["alarms"] == {}
