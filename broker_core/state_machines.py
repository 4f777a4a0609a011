"""The state machines of the core as tables: docs/STATE_CHARTS.md and charts of the page are drawn from them."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from broker_core.broker.common import process_state
from broker_core.clients.producer import states as producer_states
from broker_core.controller import partition_state_machine, replica_state_machine
from broker_core.groups import states as group_states
from broker_core.transactions import states as transaction_states

#: the states, the initial one first, each with those from which it may be entered
Transitions: TypeAlias = Mapping[Any, Collection[StrEnum]]

STATE_MACHINES: Mapping[str, Transitions] = {
    "partition": partition_state_machine.VALID_PREVIOUS_STATES,
    "replica": replica_state_machine.VALID_PREVIOUS_STATES,
    "group": group_states.VALID_PREVIOUS_STATES,
    "transaction": transaction_states.VALID_PREVIOUS_STATES,
    "producer": producer_states.VALID_PREVIOUS_STATES,
    "broker": process_state.VALID_PREVIOUS_STATES,
}
"""Partitions and replicas in the controller, groups and transactional ids in their coordinators, producers, brokers."""
