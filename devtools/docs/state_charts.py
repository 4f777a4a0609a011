"""docs/STATE_CHARTS.md: the state machines of the core, drawn from their transition tables and docstrings."""

import ast
import inspect
from enum import StrEnum
from textwrap import dedent

from broker_core.state_machines import STATE_MACHINES, Transitions

_TITLES = {
    "partition": "Partition, in the controller",
    "replica": "Replica, in the controller",
    "group": "Consumer group, in its coordinator",
    "transaction": "Transactional id, in its coordinator",
    "producer": "Producer with idempotence or transactions",
    "broker": "Process of a broker",
}


def render() -> str:
    """The charts and a table of the states below each, as Markdown."""
    return "\n\n".join(_chart(_TITLES[name], previous) for name, previous in STATE_MACHINES.items())


def _chart(title: str, previous: Transitions) -> str:
    states: type[StrEnum] = type(next(iter(previous)))
    texts = docstrings(states)
    edges = [f"    {_label(one)} --> {_label(state)}" for state in states for one in states if one in previous[state]]
    rows = [f"| `{_label(state)}` | {' | '.join(_columns(texts[state.name]))} |" for state in states]
    return "\n".join(
        [
            f"## {title}",
            "",
            f"`{states.__module__}.{states.__qualname__}`",
            "",
            "```mermaid",
            "stateDiagram-v2",
            f"    [*] --> {_label(next(iter(states)))}",
            *edges,
            "```",
            "",
            "| state | meaning | action | transitions |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def _label(state: StrEnum) -> str:
    """The state's value, or its name if not all values of its machine are words."""
    return state.value if all(each.value.isidentifier() for each in type(state)) else state.name


def docstrings(states: type[StrEnum]) -> dict[str, str]:
    """Member name -> the docstring below it; without the members that have none."""
    (definition,) = ast.parse(dedent(inspect.getsource(states))).body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, follower in zip(definition.body, definition.body[1:], strict=False):
        match statement, follower:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found


def _columns(text: str) -> tuple[str, str, str]:
    """The parts of a state's docstring: meaning, action, transitions."""
    flat = " ".join(text.split())
    meaning, _, rest = flat.partition(" Action: ")
    action, _, transitions = rest.partition(" Transitions: ")
    return meaning, action, transitions
