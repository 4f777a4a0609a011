"""What exercises ask of a run: each predicate's answer and its sentence, and how offsets are named."""

import re
from inspect import signature

import pytest

from broker_core.events.console import CommandCompleted
from broker_core.texts import render
from lab.exercises.happenings import EventHappens, ToolEnded
from lab.exercises.loader import exercises
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved, leader_of
from lab.exercises.predicate import PREDICATES, Bound, GoalState, ask_all
from lab.exercises.predicates import goal_of
from lab.exercises.predicates.brokers import broker_is, paused
from lab.exercises.predicates.logs import believes, dumped, high_watermark
from lab.exercises.predicates.messages import has_read, parked, rpc_in_flight
from lab.exercises.predicates.partitions import isr
from lab.exercises.predicates.partitions import leader as leader_is
from lab.exercises.predicates.settings import cut
from lab.exercises.quantities import check_quantity, number_of
from lab.exercises.setup import run_setup
from lab.runtime.headless.rehearsal import rehearsal_run
from tests.support.learner import OFFSET, POWER, SLUG, Learner


@pytest.mark.parametrize(
    ("event", "english", "chinese"),
    [
        (
            EventHappens(kind="LogCleaned", where={"replica": "prices-0@b1", "to_offset": 9}),
            "compaction of a log (prices-0 on broker 1, to offset 9)",
            "日志压实（broker 1 上的 prices-0，到位移 9）",
        ),
        (EventHappens(kind="SessionClosed", where={"owner": "b3"}), "end of a ZooKeeper session (broker 3)", None),
        (EventHappens(kind="IsrShrunk"), "shrink of an ISR", None),
    ],
)
def test_happenings_name_their_values_as_people_do(event: EventHappens, english: str, chinese: str | None) -> None:
    assert render(event.says()) == english
    if chinese:
        assert render(event.says(), "zh-CN") == chinese


def test_end_of_another_use_of_the_same_tool_does_not_count() -> None:
    described = ToolEnded(line="kafka-topics.sh", option="--describe", failed=False)
    for line, happens in (
        ("kafka-topics.sh --bootstrap-server localhost:9092 --create --topic t", False),
        ("kafka-topics.sh --describe --topic t", True),
    ):
        view = {"console": {"7": {"line": line}}}
        assert described.happens(view, CommandCompleted(command=7, exit_code=0)) is happens  # type: ignore[arg-type]
    assert render(described.says()) == "the completed command kafka-topics.sh --describe"


def test_predicates_report_what_holds_and_what_does_not() -> None:
    learner = Learner()
    moment = learner.moment
    leader = learner.run.view["partitions"]["orders-0"]["leader"]
    assert high_watermark(moment, replica="orders-0@leader", bound=Bound(equals=0)).met
    says = high_watermark(moment, replica="orders-0@leader", bound=Bound(at_least=1)).says
    assert render(says) == f"The high watermark of orders-0 on broker {leader} is 0; expected at least 1."
    assert render(says, "zh-CN") == f"broker {leader} 上 orders-0 的高水位是 0，至少应为 1。"
    assert render(isr(moment, partition="orders-0", size=2).says, "zh-CN").endswith("应有 2 个副本。")
    assert not believes(moment, partition="orders-0", follower="orders-0@followers", bound=Bound(at_least=5)).met
    assert parked(moment, api="Fetch", partition="orders-0").met
    assert "No Produce request for orders-0" in render(parked(moment, api="Produce", partition="orders-0").says)
    # The followers' requests wait there; the sentence is about the client's.
    says = parked(moment, api="Fetch", partition="orders-0", client="c1").says
    assert render(says).startswith("No Fetch request of c1 for orders-0 is in the purgatory")
    says = rpc_in_flight(moment, api="Produce", kind="request", source="p1", destination="orders-0@leader").says
    assert render(says, "zh-CN") == f"p1 → broker {leader}：没有在途的 Produce 请求。"
    assert not paused(moment._replace(paused=False)).met


def test_several_goals_report_the_first_that_is_not_met() -> None:
    moment = Learner().moment
    found = goal_of({"is": "high_watermark", "replica": "orders-0@leader", "equals": 0})
    is_paused = goal_of({"is": "paused"})
    assert ask_all([found, is_paused], moment).says == found.answer(moment).says
    assert ask_all([found, is_paused], moment._replace(paused=False)) == paused(moment._replace(paused=False))


def test_missing_subject_is_a_sentence_not_an_error() -> None:
    moment = Moment(rehearsal_run(1).view, 0, True)
    answer = high_watermark(moment, replica="nothing-0@leader", bound=Bound(equals=0))
    assert (answer.met, render(answer.says)) == (False, "There is no partition nothing-0.")
    assert render(isr(moment, partition="nothing-0", size=1).says) == "There is no partition nothing-0."
    assert render(broker_is(moment, broker="b7", state="up").says) == "There is no node b7."
    assert ask_all([], moment).met


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"is": "sleeping"}, "'sleeping' is not a predicate; `is` names one of acknowledged, "),
        ({"partition": "orders-0"}, "None is not a predicate"),
        ({"is": "isr", "partition": "orders-0"}, "isr: Object missing required field `size`"),
        ({"is": "isr", "partition": "orders-0", "size": 1, "equals": 1}, "isr: Object contains unknown field `equals`"),
        ({"is": "isr", "partition": "orders", "size": 1}, "'orders' is not a partition; write orders-0"),
        ({"is": "broker_is", "broker": "b1", "state": "idle"}, "'idle' is not accepted; write up or down"),
        ({"is": "stored", "replica": "orders-0@b1"}, "exactly one of equals, at_least, below is needed"),
        ({"is": "stored", "replica": "orders-0@b1", "below": "HW"}, "'HW' is not a quantity"),
    ],
)
def test_invalid_goal_is_refused_when_it_is_loaded(table, says) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        goal_of(table)


def test_every_predicate_has_a_docstring_and_typed_arguments() -> None:
    assert len(PREDICATES) > 20
    for name, predicate in PREDICATES.items():
        assert predicate.ask.__doc__, name
        assert set(predicate.arguments.__struct_fields__) == set(signature(predicate.ask).parameters) - {"moment"}


def test_where_a_scan_begins_is_read_from_the_index_that_was_dumped() -> None:
    run = rehearsal_run(1)
    run_setup(run, exercises()[OFFSET].setup)

    def moment() -> Moment:
        return Moment(run.view, run.now_us, True)

    def wanted() -> GoalState:
        return dumped(moment(), replica="archive-0@leader", holds=2490, kind="index")

    assert render(wanted().says) == "No .index file of archive-0 on broker 2 has been dumped yet."
    with pytest.raises(Unresolved, match="index_not_dumped"):
        number_of(Moment(run.view, run.now_us, True), "scan_start(archive-0@b2, 2490)")
    above = max(int(base) for base in run.view["replicas"]["archive-0@b2"]["segments"])
    run.submit(f"kafka-dump-log.sh --files broker-2/archive-0/{above:020d}.index")
    assert render(wanted().says) == f"{above:020d}.index begins above 2490, so it does not contain this offset."
    assert dumped(moment(), replica="archive-0@b2", holds=above, kind="index").met
    run.submit("kafka-dump-log.sh --files=broker-2/archive-0/00000000000000000000.index")
    assert wanted().met
    assert number_of(Moment(run.view, run.now_us, True), "scan_start(archive-0@b2, 2490)") == 49_111
    assert number_of(Moment(run.view, run.now_us, True), "scan_start(archive-0@b2, 5)") == 0
    assert number_of(Moment(run.view, run.now_us, True), "batch_position(archive-0@b2, 2490)") == 49_676
    assert number_of(Moment(run.view, run.now_us, True), "next_entry(archive-0@b2, 2490)") == 53_631
    with pytest.raises(Unresolved, match="not_in_last_batches"):
        number_of(Moment(run.view, run.now_us, True), "batch_position(archive-0@b2, 5)")
    run_setup(run, exercises()[OFFSET].setup)
    assert not wanted().met, "what was dumped before the set-up does not count"


def test_file_of_another_broker_or_partition_does_not_count() -> None:
    run = rehearsal_run(1)
    run_setup(run, [*exercises()[SLUG].setup, *exercises()[OFFSET].setup])
    run.submit("kafka-dump-log.sh --files broker-2/orders-0/00000000000000000000.index")
    says = dumped(Moment(run.view, run.now_us, True), replica="archive-0@b2", holds=2490, kind="index").says
    assert render(says, "zh-CN") == "还没有打印过 broker 2 上 archive-0 的 .index 文件。"


def test_kill_leaves_the_file_whole_and_a_power_loss_what_was_fsynced() -> None:
    run = rehearsal_run(1)
    run_setup(run, exercises()[POWER].setup)
    run_setup(run, ["producer open p1 --acks all", "producer send p1 payments-0 a:1 b:2"])

    def says(predicate: str, **arguments: str | int) -> tuple[bool, str]:
        answer = goal_of({"is": predicate, **arguments}).answer(Moment(run.view, run.now_us, True))
        return answer.met, render(answer.says)

    assert says("acknowledged", client="p1", equals=1) == (True, "p1: offset 1 acknowledged")
    assert says("acknowledged", client="p9", equals=1) == (False, "There is no producer p9.")
    assert says("flushed", replica="payments-0@leader", at_least=2) == (
        False,
        "The recovery point of payments-0 on broker 1 is 0; expected at least 2.",
    )
    assert says("broker_is", broker="b3", state="down") == (False, "Expected broker 3 to be down; it is up.")
    run_setup(run, ["broker kill 3"])
    assert says("broker_is", broker="b3", state="down") == (True, "broker 3 is down")
    assert says("stored", replica="payments-0@b3", equals=2)[0]
    run_setup(run, ["broker powerloss 3"])
    assert says("stored", replica="payments-0@b3", equals=2) == (
        False,
        "The end of the files of payments-0 on broker 3 is 0; expected 2.",
    )
    assert says("leader", partition="payments-0", broker="b1")[0]
    assert says("other_leader", partition="payments-0", than="b1") == (
        False,
        "payments-0 is still led by broker 1; expected another broker.",
    )
    assert says("leader", partition="payments-0", broker="b2") == (
        False,
        "payments-0 is led by broker 1; expected broker 2.",
    )


def test_consumer_has_read_offsets_below_its_position() -> None:
    run = rehearsal_run(1)
    run_setup(run, exercises()[OFFSET].setup)

    def moment() -> Moment:
        return Moment(run.view, run.now_us, True)

    assert render(has_read(moment(), client="c1", offset=2490).says) == "There is no consumer c1."
    run.submit("consumer follow c1 archive-0 --from 2490")
    for _ in range(3):
        run.step_rpc()
        fetch = {"is": "rpc_in_flight", "api": "Fetch", "kind": "request", "source": "c1", "fetch_offset": 2491}
        asked = goal_of({**fetch, "destination": "archive-0@leader"})
        assert not asked.answer(moment()).met, "it asks from another offset"
    assert render(has_read(moment(), client="c1", offset=9999).says) == "c1 has not read offset 9999 yet."
    run.advance(run.now_us + 100_000)
    assert has_read(moment(), client="c1", offset=2490).met


@pytest.mark.parametrize(
    "offset",
    ["log_end_offset(orders-0)", "age(orders-0@b1)", "scan_start(orders-0@b1)", "flushed(orders-0@b1, 5)", "HW"],
)
def test_condition_without_an_offset_is_refused(offset) -> None:
    with pytest.raises(ValueError, match=r"is not a quantity|is not a replica|takes \d arguments"):
        check_quantity(offset)


def test_elected_leader_that_is_not_notified_yet_is_named_and_so_is_one_that_is_down() -> None:
    learner = Learner()
    run, first = learner.run, learner.run.view["partitions"]["orders-0"]["leader"]
    run.submit(f"broker kill {first}")
    says = high_watermark(learner.moment, replica="orders-0@leader", bound=Bound(equals=0)).says
    assert render(says) == (
        f"The leader of orders-0 according to ZooKeeper, broker {first}, is down; no other leader has been elected yet."
    )
    for _ in range(200):
        if (following := run.view["partitions"]["orders-0"]["leader"]) != first:
            break
        run.step_rpc()
    says = high_watermark(learner.moment, replica="orders-0@leader", bound=Bound(equals=0)).says
    assert render(says) == (
        f"orders-0: broker {following} has been elected leader, but the controller has not notified it yet."
    )


@pytest.mark.parametrize("state", ["frozen", "starting", "up"])
def test_elected_leader_that_cannot_be_notified_is_not_said_to_be_down(state: str) -> None:
    view = {"partitions": {"t-0": {"leader": 1}}, "replicas": {}, "nodes": {"b1": {"state": state}}}
    with pytest.raises(Unresolved) as unresolved:
        leader_of(view, "t-0")  # type: ignore[arg-type]
    assert unresolved.value.why.id == "goal.leader_waits"


def test_names_of_brokers_stand_apart_in_chinese_sentences() -> None:
    moment = Learner().moment
    found = moment.view["partitions"]["orders-0"]["leader"]
    other = found % 3 + 1
    says = leader_is(moment, partition="orders-0", broker=f"b{other}").says
    assert render(says, "zh-CN") == f"orders-0 的首领是 broker {found}，应为 broker {other}。"
    assert render(cut(moment, a="b1", b="b2").says, "zh-CN") == "broker 1 与 broker 2 之间的链路没有断开。"


def test_member_is_at_what_its_group_has_committed_until_it_has_read() -> None:
    member = {"kind": "consumer", "assignment": ["t-0", "t-1"], "positions": {"t-1": 6}, "settings": {"group.id": "g"}}
    group = {"group": "g", "coordinator": "b1", "partition": "__consumer_offsets-0", "offsets": {"t-0": 3, "t-2": 2}}
    view = {"nodes": {"c1": member}, "groups": {"g@b1": group}, "partitions": {"__consumer_offsets-0": {"leader": 1}}}
    moment = Moment(view, 0, True)  # type: ignore[arg-type]
    found = [number_of(moment, f"position_in(c1, {name})") for name in ("t-0", "t-1", "t-2")]
    assert found == [3, 6, -1]
