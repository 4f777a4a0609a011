"""help: the commands and their forms."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import ShellError, usage_lines
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command
from broker_core.texts import text


def _help(commands: Mapping[str, Command], process: Process, arguments: list[str]) -> Running:
    unknown = [name for name in arguments if name not in commands]
    if unknown or len(arguments) > 1:
        names = ", ".join(sorted(commands))
        raise ShellError("shell.unknown_help", words=" ".join(unknown or arguments), commands=names)
    return _one(process, commands[arguments[0]]) if arguments else _all(commands, process)


def _all(commands: Mapping[str, Command], process: Process) -> Running:
    width = max(len(name) for name in commands)
    for name in sorted(commands):
        process.out_message(text("help.line", form=f"{name:<{width}}", what=commands[name].about))
    process.out("")
    process.out_message(text("help.more"))
    process.out_message(text("help.input"))
    yield from ()
    return 0


def _one(process: Process, command: Command) -> Running:
    process.out_message(command.about)
    width = max(len(form) for form, _ in command.forms)
    for form, what in command.forms:
        process.out_message(text("help.line", form=f"  {form:<{width}}", what=what))
    if command.options:
        process.out("")
        for line in usage_lines(command.options):
            process.out(line)
    yield from ()
    return 0


def _complete(commands: Mapping[str, Command], cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    return sorted(commands) if len(words) == 1 else []


def help_on(others: Iterable[Command]) -> Command:
    """The command help, for itself and for these commands."""
    commands = {command.name: command for command in others}
    command = Command(
        "help",
        text("help.help"),
        (("help [COMMAND]", text("help.help_on")),),
        partial(_help, commands),
        complete=partial(_complete, commands),
    )
    commands[command.name] = command
    return command
