"""interrupt: Ctrl-C for a running command."""

from collections.abc import Sequence
from typing import Protocol, cast

from broker_core.config_defs.java_text import parse_integer
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, refuse
from broker_core.texts import text


class _Shell(Protocol):
    @property
    def running_commands(self) -> tuple[int, ...]: ...

    def interrupt(self, command: int) -> None: ...


def _shell(cluster: ClusterApi) -> _Shell:
    return cast(_Shell, cluster.kernel.nodes["shell"])


def _interrupt(process: Process, arguments: list[str]) -> Running:
    running = _shell(process.cluster).running_commands
    last = running[-1] if running else 0
    command = parse_integer(arguments[0]) if arguments else last
    if len(arguments) > 1 or command is None or (arguments and command not in running):
        raise UsageError(text("shell.command_not_running", command=" ".join(arguments)))
    return _end(process, command)


def _end(process: Process, command: int) -> Running:
    if not command:
        refuse(process, text("shell.no_command_running"))
        return 1
    _shell(process.cluster).interrupt(command)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    return [str(command) for command in _shell(cluster).running_commands] if len(words) == 1 else []


COMMAND = Command(
    "interrupt",
    text("help.interrupt"),
    (("interrupt [COMMAND]", text("help.interrupt_command")),),
    _interrupt,
    complete=_complete,
)
