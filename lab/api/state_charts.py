"""State machines as data for the page: read from the tables that the controller and group coordinators go by."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from broker_core.controller import partition_state_machine, replica_state_machine
from broker_core.groups import states as group_states
from broker_core.transactions import states as transaction_states


def state_charts() -> dict[str, Any]:
    """`{name: {states: [state, ...], previous: {state: [state from which it may be entered, ...]}}}`.

    States are in the order of the code, the initial one first.
    """
    return {
        "partition": _chart(partition_state_machine.VALID_PREVIOUS_STATES),
        "replica": _chart(replica_state_machine.VALID_PREVIOUS_STATES),
        "group": _chart(group_states.VALID_PREVIOUS_STATES),
        "transaction": _chart(transaction_states.VALID_PREVIOUS_STATES),
    }


def _chart(previous: Mapping[Any, Collection[StrEnum]]) -> dict[str, Any]:
    states = list(previous)
    return {
        "states": [state.value for state in states],
        "previous": {state.value: [one.value for one in states if one in before] for state, before in previous.items()},
    }
