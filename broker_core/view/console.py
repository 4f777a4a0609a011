"""The console's transcript: the last commands and their output."""

from broker_core.events import console
from broker_core.view.folding import COMMANDS, folds
from broker_core.view.patch import Patch
from broker_core.view.tree import Command, View

COMMANDS_SHOWN = 50
LINES_SHOWN = 200


@folds
def _received(view: View, event: console.CommandReceived, at_us: int, seq: int) -> Patch:
    command: Command = {
        "line": event.line,
        "source": event.source,
        "state": "running",
        "exit_code": None,
        "output": [],
        "at_us": at_us,
    }
    patch = COMMANDS.put(view, str(event.command), command)
    if len(view["console"]) > COMMANDS_SHOWN:
        patch += COMMANDS.remove(view, next(iter(view["console"])))
    return patch


@folds
def _printed(view: View, event: console.CommandPrinted, at_us: int, seq: int) -> Patch:
    key = str(event.command)
    command = view["console"].get(key)
    if command is None:
        return []
    output = [*command["output"], *event.lines][-LINES_SHOWN:]
    return COMMANDS.set(view, key, {"output": output})


@folds
def _completed(view: View, event: console.CommandCompleted, at_us: int, seq: int) -> Patch:
    key = str(event.command)
    if key not in view["console"]:
        return []
    return COMMANDS.set(view, key, {"state": "done", "exit_code": event.exit_code})
