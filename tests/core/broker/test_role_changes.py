"""LeaderAndIsr requests for many partitions, which a broker handles in slices."""

import pytest

from broker_core.broker.process.role_changes import NEW_PER_SLICE, PARTITIONS_PER_SLICE
from broker_core.run import Run
from tests.support.tcp_conversation import SECOND_US, started

PARTITIONS = 3 * PARTITIONS_PER_SLICE + 2


def creating() -> Run:
    """A run in which the first brokers have begun to create the replicas of a large topic."""
    run = started()
    run.submit(f"kafka-topics.sh --create --topic wide --partitions {PARTITIONS} --replication-factor 3")
    while not any(name.startswith("wide-") for name in run.view["replicas"]):
        assert run.step_event()
    return run


def replicas(run: Run, broker: int) -> int:
    return sum(name.startswith("wide-") and name.endswith(f"@b{broker}") for name in run.view["replicas"])


def test_other_events_happen_between_the_slices() -> None:
    run = creating()
    counts = set()
    while replicas(run, 0) < PARTITIONS:
        run.advance(run.now_us + 500)
        counts.add(replicas(run, 0))
    assert counts >= {NEW_PER_SLICE * number for number in (1, 2, 3)}


def test_all_partitions_get_leaders_and_no_alarm_is_raised() -> None:
    run = creating()
    run.advance(run.now_us + 10 * SECOND_US)
    assert [replicas(run, broker) for broker in (0, 1, 2)] == [PARTITIONS] * 3
    leaders = [state["leader"] for name, state in run.view["partitions"].items() if name.startswith("wide-")]
    assert len(leaders) == PARTITIONS and -1 not in leaders
    assert not run.view["alarms"]


@pytest.mark.parametrize(
    "fault", ["broker kill {controller}", "broker kill {other}", "session expire {controller}", "link cut {other} zk"]
)
def test_failures_between_two_slices_are_survived(fault: str) -> None:
    run = creating()
    controller = run.view["controller"]["broker"]
    other = (controller + 1) % 3
    run.submit(fault.format(controller=controller, other=other))
    run.advance(run.now_us + 60 * SECOND_US)
    if fault.startswith("link"):
        run.submit(f"link restore {other} zk")
    for broker in (controller, other):
        if run.view["nodes"][f"b{broker}"]["state"] == "down":
            run.submit(f"broker start {broker}")
    run.advance(run.now_us + 60 * SECOND_US)
    assert [replicas(run, broker) for broker in (0, 1, 2)] == [PARTITIONS] * 3
    for name, state in run.view["partitions"].items():
        if name.startswith("wide-"):
            leader = run.view["replicas"][f"{name}@b{state['leader']}"]
            assert leader["role"] == "leader" and sorted(leader["isr"]) == [0, 1, 2], name
    assert not run.view["alarms"]
