"""State machines as data for the page: the tables that the controller and the coordinators follow."""

from typing import Any

from broker_core.state_machines import STATE_MACHINES, Transitions

DRAWN = ("partition", "replica", "group", "transaction")
"""The machines that the page draws."""


def state_charts() -> dict[str, Any]:
    """`{name: {states: [state, ...], previous: {state: [state from which it may be entered, ...]}}}`.

    States are in the order of the code, the initial one first.
    """
    return {name: _chart(STATE_MACHINES[name]) for name in DRAWN}


def _chart(previous: Transitions) -> dict[str, Any]:
    states = list(previous)
    return {
        "states": [state.value for state in states],
        "previous": {state.value: [one.value for one in states if one in before] for state, before in previous.items()},
    }
