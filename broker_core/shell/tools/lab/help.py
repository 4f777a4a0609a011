"""help: what there is to type."""

from collections.abc import Sequence

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import ShellError, usage_lines
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import COMMANDS, Command, register


def _help(process: Process, arguments: list[str]) -> Running:
    unknown = [name for name in arguments if name not in COMMANDS]
    if unknown or len(arguments) > 1:
        raise ShellError(
            f"There is no help on {' '.join(unknown or arguments)!r}.",
            "one of " + ", ".join(sorted(COMMANDS)) + ".",
            "Type help alone.",
        )
    return _one(process, COMMANDS[arguments[0]]) if arguments else _all(process)


def _all(process: Process) -> Running:
    width = max(len(name) for name in COMMANDS)
    for name in sorted(COMMANDS):
        process.out(f"{name:<{width}}  {COMMANDS[name].about}")
    process.out("")
    process.out("help COMMAND tells more. A command's standard input stands behind <<<, one word a line of it,")
    process.out("or below the command on lines that begin with '< '.")
    yield from ()
    return 0


def _one(process: Process, command: Command) -> Running:
    process.out(command.about)
    width = max(len(form) for form, _ in command.forms)
    for form, what in command.forms:
        process.out(f"  {form:<{width}}  {what}")
    if command.options:
        process.out("")
        for line in usage_lines(command.options):
            process.out(line)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    return sorted(COMMANDS) if len(words) == 1 else []


register(
    Command(
        "help",
        "What there is to type.",
        (("help [COMMAND]", "all commands, or one of them"),),
        _help,
        complete=_complete,
    )
)
