"""What exercises ask of a run: each predicate's answer and its sentence, and how offsets are named."""

import pytest

from lab.exercises.loader import exercises
from lab.exercises.log_predicates import Believes, Dumped, Flushed, HighWatermark, Stored
from lab.exercises.message_predicates import Acknowledged, HasRead, Parked, RpcInFlight
from lab.exercises.places import UnresolvedReference, check_offset, offset_of
from lab.exercises.predicate import Moment, Predicate
from lab.exercises.predicates import BrokerIs, Isr, Leader, Paused, ask_all
from lab.exercises.setup import run_setup
from lab.runtime.rehearsal import rehearsal_run
from tests.support.learner import OFFSET, POWER, SLUG, Learner


def test_predicates_report_what_holds_and_what_does_not() -> None:
    learner = Learner()
    moment = learner.moment
    leader = f"b{learner.run.view['partitions']['orders-0']['leader']}"
    assert HighWatermark(replica="orders-0@leader", equals=0).answer(moment).met
    assert HighWatermark(replica="orders-0@leader", at_least=1).answer(moment).says.en == (
        f"The high watermark of broker {leader[1:]} is 0; at least 1 is wanted."
    )
    assert Isr(partition="orders-0", size=2).answer(moment).says.zh.endswith("应有 2 个同步副本。")
    assert Believes(partition="orders-0", follower="orders-0@followers", at_least=5).answer(moment).met is False
    assert Parked(api="Fetch", partition="orders-0").answer(moment).met
    assert "No Produce for orders-0 waits" in Parked(api="Produce", partition="orders-0").answer(moment).says.en
    assert not RpcInFlight(api="Produce", kind="request", source="p1", destination="orders-0@leader").answer(moment).met
    assert not Paused().answer(moment._replace(paused=False)).met
    found = HighWatermark(replica="orders-0@leader", equals=0)
    assert ask_all([found, Paused()], moment).says == found.answer(moment).says
    assert not ask_all([found, Paused()], moment._replace(paused=False)).met


def test_missing_subject_is_a_sentence_not_an_error() -> None:
    run = rehearsal_run(1)
    answer = HighWatermark(replica="nothing-0@leader", equals=0).answer(Moment(run.view, 0, True))
    assert (answer.met, answer.says.en) == (False, "There is no partition nothing-0.")
    assert ask_all([], Moment(run.view, 0, True)).met


def test_where_a_scan_begins_is_read_from_the_index_that_was_dumped() -> None:
    run = rehearsal_run(1)
    run_setup(run, exercises()[OFFSET].setup)

    def moment() -> Moment:
        return Moment(run.view, run.now_us, True)

    wanted = Dumped(replica="archive-0@leader", holds=2490, kind="index")
    assert wanted.answer(moment()).says.en == "No .index of archive-0 on broker 2 was dumped yet."
    with pytest.raises(UnresolvedReference, match="not been dumped"):
        offset_of(run.view, "scan_start(archive-0@b2, 2490)")
    above = max(int(base) for base in run.view["replicas"]["archive-0@b2"]["segments"])
    run.submit(f"kafka-dump-log.sh --files broker-2/archive-0/{above:020d}.index")
    assert wanted.answer(moment()).says.en == f"{above:020d}.index begins above 2490: it cannot hold it."
    below = Dumped(replica="archive-0@b2", holds=above, kind="index")
    assert below.answer(moment()).met
    run.submit("kafka-dump-log.sh --files=broker-2/archive-0/00000000000000000000.index")
    assert wanted.answer(moment()).met
    assert offset_of(run.view, "scan_start(archive-0@b2, 2490)") == 49_111
    assert offset_of(run.view, "scan_start(archive-0@b2, 5)") == 0
    assert offset_of(run.view, "batch_position(archive-0@b2, 2490)") == 49_676
    assert offset_of(run.view, "next_entry(archive-0@b2, 2490)") == 53_631
    with pytest.raises(UnresolvedReference, match="last batches"):
        offset_of(run.view, "batch_position(archive-0@b2, 5)")
    run_setup(run, exercises()[OFFSET].setup)
    assert not wanted.answer(moment()).met, "what was dumped before the table was laid anew counts no more"


def test_file_of_another_broker_or_partition_does_not_count() -> None:
    run = rehearsal_run(1)
    run_setup(run, [*exercises()[SLUG].setup, *exercises()[OFFSET].setup])
    run.submit("kafka-dump-log.sh --files broker-2/orders-0/00000000000000000000.index")
    answer = Dumped(replica="archive-0@b2", holds=2490, kind="index").answer(Moment(run.view, run.now_us, True))
    assert answer.says.zh == "还没有打印过代理 2 上 archive-0 的 .index 文件。"


def test_kill_leaves_the_file_whole_and_a_power_loss_what_was_fsynced() -> None:
    run = rehearsal_run(1)
    run_setup(run, exercises()[POWER].setup)
    run_setup(run, ["producer open p1 --acks all", "producer send p1 payments-0 a:1 b:2"])

    def says(goal: Predicate) -> tuple[bool, str]:
        answer = goal.answer(Moment(run.view, run.now_us, True))
        return answer.met, answer.says.en

    assert says(Acknowledged(client="p1", equals=1)) == (True, "p1: 1 acknowledged")
    assert says(Acknowledged(client="p9", equals=1)) == (False, "There is no producer p9.")
    assert says(Flushed(replica="payments-0@leader", at_least=2)) == (
        False,
        "The recovery point of broker 1 is 0; at least 2 is wanted.",
    )
    assert says(BrokerIs(broker="b3", state="down")) == (False, "Broker 3 is up: it should be down.")
    run_setup(run, ["broker kill 3"])
    assert says(BrokerIs(broker="b3", state="down"))[0]
    assert says(Stored(replica="payments-0@b3", equals=2))[0]
    run_setup(run, ["broker powerloss 3"])
    assert says(Stored(replica="payments-0@b3", equals=2)) == (
        False,
        "The end of the files of broker 3 is 0; 2 is wanted.",
    )
    assert says(Leader(partition="payments-0", broker="b1"))[0]
    assert says(Leader(partition="payments-0", other_than="b1")) == (
        False,
        "payments-0 is still led by broker 1; another broker should lead it.",
    )
    assert says(Leader(partition="payments-0", broker="b2")) == (
        False,
        "payments-0 is led by broker 1; broker 2 should lead it.",
    )


def test_consumer_has_read_offsets_below_its_position() -> None:
    run = rehearsal_run(1)
    run_setup(run, exercises()[OFFSET].setup)
    wanted = HasRead(client="c1", offset=2490)
    assert wanted.answer(Moment(run.view, run.now_us, True)).says.en == "There is no consumer c1."
    run.submit("consumer follow c1 archive-0 --from 2490")
    fetch = RpcInFlight(api="Fetch", kind="request", source="c1", destination="archive-0@leader", fetch_offset=2491)
    for _ in range(3):
        run.step_rpc()
        assert not fetch.answer(Moment(run.view, run.now_us, True)).met, "it asks from another offset"
    assert (
        "c1 has not read offset 9999"
        in HasRead(client="c1", offset=9999).answer(Moment(run.view, run.now_us, True)).says.en
    )
    run.advance(run.now_us + 100_000)
    assert wanted.answer(Moment(run.view, run.now_us, True)).met


@pytest.mark.parametrize(
    "offset",
    ["log_end_offset(orders-0)", "age(orders-0@b1)", "scan_start(orders-0@b1)", "flushed(orders-0@b1, 5)", "HW"],
)
def test_condition_without_an_offset_is_refused(offset) -> None:
    with pytest.raises(ValueError, match="is no"):
        check_offset(offset)
