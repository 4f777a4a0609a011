"""docs/STATE_CHARTS.md: the state machines of the core, drawn from their transition tables and docstrings."""

import ast
import inspect
from collections.abc import Collection, Mapping
from enum import StrEnum
from textwrap import dedent
from typing import Any

from broker_core.controller import partition_state_machine, replica_state_machine
from broker_core.groups import states as group_states
from broker_core.transactions import states as transaction_states

_CHARTS: tuple[tuple[str, type[StrEnum], Mapping[Any, Collection[StrEnum]]], ...] = (
    (
        "Partition, in the controller",
        partition_state_machine.PartitionState,
        partition_state_machine.VALID_PREVIOUS_STATES,
    ),
    ("Replica, in the controller", replica_state_machine.ReplicaState, replica_state_machine.VALID_PREVIOUS_STATES),
    ("Consumer group, in its coordinator", group_states.GroupState, group_states.VALID_PREVIOUS_STATES),
    (
        "Transactional id, in its coordinator",
        transaction_states.TransactionState,
        transaction_states.VALID_PREVIOUS_STATES,
    ),
)


def render() -> str:
    """The charts and a table of the states below each, as Markdown."""
    return "\n\n".join(_chart(title, states, previous) for title, states, previous in _CHARTS)


def _chart(title: str, states: type[StrEnum], previous: Mapping[Any, Collection[StrEnum]]) -> str:
    texts = docstrings(states)
    edges = [f"    {one} --> {state}" for state in states for one in states if one in previous[state]]
    rows = [f"| `{state}` | {' | '.join(_columns(texts[state.name]))} |" for state in states]
    return "\n".join(
        [
            f"## {title}",
            "",
            f"`{states.__module__}.{states.__qualname__}`",
            "",
            "```mermaid",
            "stateDiagram-v2",
            f"    [*] --> {next(iter(states))}",
            *edges,
            "```",
            "",
            "| state | meaning | action | transitions |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def docstrings(states: type[StrEnum]) -> dict[str, str]:
    """Member name -> the docstring below it. Raises `KeyError` later for a member that has none."""
    (definition,) = ast.parse(dedent(inspect.getsource(states))).body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, follower in zip(definition.body, definition.body[1:], strict=False):
        match statement, follower:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found


def _columns(text: str) -> tuple[str, str, str]:
    """Meaning, action and transitions of a docstring of that form."""
    flat = " ".join(text.split())
    meaning, _, rest = flat.partition(" Action: ")
    action, _, transitions = rest.partition(" Transitions: ")
    return meaning, action, transitions
