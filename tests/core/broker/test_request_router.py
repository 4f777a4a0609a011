"""What a broker does with timers and responses: each goes to the part that registered its name."""

from collections.abc import Mapping

import pytest

from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.process.broker import Broker
from broker_core.broker.replicas.alter_partition_manager import CONTEXT, RETRY_TIMER
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.handlers import ResponseHandler, TimerHandler
from broker_core.zk.memory_store import MemoryStore


class Part:
    """Notes what it is called with."""

    def __init__(self, timer: str, request: str) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.timers: Mapping[str, TimerHandler] = {timer: lambda data: self.calls.append(("timer", data))}
        self.responses: Mapping[str, ResponseHandler] = {
            request: ResponseHandler(
                lambda data, body: self.calls.append(("response", data, body)),
                lambda data: self.calls.append(("disconnect", data)),
            )
        }


@pytest.fixture
def broker() -> Broker:
    run = Run(RunConfig(brokers=(1,)), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(1_000_000)
    return run._cluster.brokers[1]


def play(broker: Broker) -> None:
    broker.router.on_timer("a timer", 7)
    broker.router.on_response("Fetch", "body", ("a request", 8))
    broker.router.on_disconnect("Fetch", ("a request", 9), "closed")


def test_part_receives_the_timers_it_registered(broker: Broker) -> None:
    part = Part("a timer", "a request")
    broker.router.register(timers=[part], requests=[part])
    play(broker)
    assert part.calls == [("timer", 7), ("response", 8, "body"), ("disconnect", 9)]


def test_exiting_broker_handles_nothing_more(broker: Broker) -> None:
    part = Part("a timer", "a request")
    broker.router.register(timers=[part], requests=[part])
    broker.state = ProcessState.EXITING
    play(broker)
    assert part.calls == []


def test_duplicate_registration_is_refused(broker: Broker) -> None:
    with pytest.raises(ValueError, match=RETRY_TIMER):
        broker.router.register(timers=[Part(RETRY_TIMER, "a request")], requests=[])
    with pytest.raises(ValueError, match=CONTEXT):
        broker.router.register(timers=[], requests=[Part("a timer", CONTEXT)])


def test_timer_that_no_part_has_registered_is_an_error(broker: Broker) -> None:
    with pytest.raises(KeyError, match="unknown"):
        broker.router.on_timer("unknown", None)
