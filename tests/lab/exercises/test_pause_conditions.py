"""Conditions at which a run pauses by itself."""

import pytest

from broker_core.events import Envelope
from broker_core.run import Run
from lab.exercises.pause_conditions import proposals, stop_at
from lab.runtime.headless.rehearsal import rehearsal_run
from lab.runtime.stops import StoppingCore

FAR_US = 60_000_000


@pytest.fixture
def run() -> Run:
    made = rehearsal_run(1)
    for line in (
        "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3",
        "kafka-topics.sh --create --topic other --replica-assignment 2:3:1",
        "producer open p1 --acks all",
    ):
        made.submit(line)
        made.advance(made.now_us + 3_000_000)
    made.take()
    return made


def stopped_at(run: Run, condition: str, *lines: str) -> Envelope | None:
    """Executes the lines until the condition is met; returns the event at which the run is paused."""
    stops: list[int] = []
    core = StoppingCore(run, [stop_at(condition, run.view)], lambda: stops.append(run.seq))
    for line in lines:
        run.submit(line)
    run.take()
    core.advance(run.now_us + FAR_US)
    return run.take()[-1][0] if stops else None


def kind(envelope: Envelope | None) -> str:
    return "" if envelope is None else type(envelope[4]).__name__


def test_run_stops_at_the_event_and_not_after_it(run: Run) -> None:
    found = stopped_at(run, "records lost", "producer send p1 orders-0 a:1")
    assert found is None
    found = stopped_at(run, "leader orders-0 elected", "broker kill 1")
    assert found is not None
    assert run.view["partitions"]["orders-0"]["leader"] == 2


def test_only_the_named_partition_counts(run: Run) -> None:
    assert stopped_at(run, "isr other-0 shrinks", "hold fetch 3 1", "producer send p1 orders-0 a:1") is None
    assert run.view["partitions"]["orders-0"]["isr"] == [1, 2]
    assert stopped_at(run, "isr grows", "release fetch 3 1") is not None


def test_comparison_stops_when_it_comes_true_and_not_while_it_holds(run: Run) -> None:
    assert stopped_at(run, "high_watermark(orders-0@b1) >= 2", "producer send p1 orders-0 a:1 b:2") is not None
    assert run.view["replicas"]["orders-0@b1"]["high_watermark"] == 2
    assert stopped_at(run, "high_watermark(orders-0@b1) >= 2", "producer send p1 orders-0 c:3") is None


def test_all_proposals_can_be_awaited(run: Run) -> None:
    proposed = proposals(run.view)
    assert {"isr shrinks", "isr orders-0 shrinks", "high_watermark(orders-0@b2) >= 1"} <= set(proposed)
    for condition in proposed:
        stop_at(condition, run.view)


@pytest.mark.parametrize(
    "condition",
    [
        "isr", "isr orders-0", "isr orders-0 explodes", "isr a b shrinks", "leader(orders-0", "lead(orders-0) == 1",
        "high_watermark(orders-0@b1)", "high_watermark(orders-0@b1) >= x", "high_watermark(orders-0@b1) >= " + "9" * 30,
        "role(orders-0@b1) == leader", "requests(p1) >= 3", "__import__('os')", "<b>", "1 == 1",
    ],
)  # fmt: skip
def test_invalid_condition_is_refused(run: Run, condition: str) -> None:
    with pytest.raises(ValueError):
        stop_at(condition, run.view)
