"""The console's transcript: the last commands and what they printed."""

from typing import Any

from broker_core.events import console
from broker_core.view.patch import Patch, View
from broker_core.view.rules import folds

COMMANDS_SHOWN = 50
LINES_SHOWN = 200


@folds(console.CommandReceived)
def _received(view: View, event: console.CommandReceived, seq: int, at_us: int, node: str) -> Patch:
    key = str(event.command)
    command: dict[str, Any] = {
        "line": event.line,
        "source": event.source,
        "state": "running",
        "exit_code": None,
        "output": [],
        "at_us": at_us,
    }
    commands = view["console"]
    commands[key] = command
    patch: Patch = [[f"/console/{key}", dict(command)]]
    if len(commands) > COMMANDS_SHOWN:
        oldest = next(iter(commands))
        del commands[oldest]
        patch.append([f"/console/{oldest}"])
    return patch


@folds(console.CommandPrinted)
def _printed(view: View, event: console.CommandPrinted, seq: int, at_us: int, node: str) -> Patch:
    key = str(event.command)
    command = view["console"].get(key)
    if command is None:
        return []
    command["output"] = output = (command["output"] + list(event.lines))[-LINES_SHOWN:]
    return [[f"/console/{key}/output", output]]


@folds(console.CommandCompleted)
def _completed(view: View, event: console.CommandCompleted, seq: int, at_us: int, node: str) -> Patch:
    key = str(event.command)
    command = view["console"].get(key)
    if command is None:
        return []
    command["state"] = "done"
    command["exit_code"] = event.exit_code
    return [[f"/console/{key}/state", "done"], [f"/console/{key}/exit_code", event.exit_code]]
