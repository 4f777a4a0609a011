"""Producers and brokers take the transitions of their tables, in random schedules."""

import pytest

from broker_core.broker.common.process_state import VALID_PREVIOUS_STATES as BROKER_TABLE
from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.process.broker import Broker
from broker_core.clients.producer.states import VALID_PREVIOUS_STATES as PRODUCER_TABLE
from broker_core.clients.producer.states import ProducerState
from broker_core.clients.producer.transaction_manager import TransactionManager
from devtools.sim.draw import draw
from devtools.sim.player import play

SCHEDULES = ((2, "1.1"), (24, "3.9"), (33, "2.4"), (54, "3.9"))


def watch(monkeypatch, owner, seen) -> None:
    """Collects the transitions of an attribute `state`."""

    def store(subject, state) -> None:
        if "_watched" in subject.__dict__:
            seen.add((subject._watched, state))
        subject.__dict__["_watched"] = state

    monkeypatch.setattr(owner, "state", property(lambda subject: subject._watched, store), raising=False)


@pytest.fixture(scope="module")
def taken() -> tuple[set, set]:
    producers: set[tuple[ProducerState, ProducerState]] = set()
    brokers: set[tuple[ProcessState, ProcessState]] = set()
    with pytest.MonkeyPatch.context() as monkeypatch:
        watch(monkeypatch, TransactionManager, producers)
        watch(monkeypatch, Broker, brokers)
        for seed, era in SCHEDULES:
            assert play(draw(seed, era)).failure is None
    return producers, brokers


def test_producers_take_transitions_of_their_table(taken) -> None:
    producers, _ = taken
    assert {pair for pair in producers if pair[0] not in PRODUCER_TABLE[pair[1]]} == set()
    assert {state for pair in producers for state in pair} >= {
        ProducerState.INITIALIZING,
        ProducerState.READY,
        ProducerState.IN_TRANSACTION,
        ProducerState.COMMITTING_TRANSACTION,
        ProducerState.ABORTING_TRANSACTION,
    }


def test_brokers_take_transitions_of_their_table(taken) -> None:
    _, brokers = taken
    assert {pair for pair in brokers if pair[0] not in BROKER_TABLE[pair[1]]} == set()
    assert {state for pair in brokers for state in pair} >= {ProcessState.UP, ProcessState.STOPPING}


def test_states_have_the_values_that_events_hold() -> None:
    assert [state.value for state in ProducerState] == [
        "",
        "initializing",
        "ready",
        "in transaction",
        "committing",
        "aborting",
        "abortable error",
        "fatal error",
    ]
