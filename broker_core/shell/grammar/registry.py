"""The definition of a command, and the lookup of a line's command."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from broker_core.config_defs.java_text import parse_integer
from broker_core.config_defs.patterns import RefusedPattern
from broker_core.partitions import TopicPartition
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import Option, ShellError
from broker_core.shell.grammar.process import Process, Running
from broker_core.texts import Text, text

TOPIC = r"(?!\.\.?(?:\s|$))[a-zA-Z0-9._-]{1,249}"
"""A topic's name: it becomes a folder and a znode."""
PARTITION = r"(?!\.\.?-\d+(?:\s|$))[a-zA-Z0-9._-]{1,249}-[0-9]{1,10}"
"""A partition: a topic, a minus and a number."""


class Command(NamedTuple):
    """A tool or verb.

    `start` checks the arguments and returns the running command; it raises ShellError for a line that cannot be run.
    `missing` names options of Kafka's tool that this one lacks. `forms` are the accepted forms, one per line, with a
    description. `complete` returns the words that may follow the given ones, other than options.
    """

    name: str
    about: Text
    forms: tuple[tuple[str, Text], ...]
    start: Callable[[Process, list[str]], Running]
    options: tuple[Option, ...] = ()
    missing: tuple[str, ...] = ()
    complete: Callable[[ClusterApi, Sequence[str]], list[str]] | None = None


MAX_FORMS_LENGTH = 200
"""The limit of the characters of forms in an error; if a command's forms are longer, the error names its verbs."""

MAX_NEAR_NAMES = 3
"""Commands that the error for an unknown one names."""


class UsageError(Exception):
    """Arguments that a command does not accept, and why. The shell adds the accepted forms."""

    def __init__(self, what: Text) -> None:
        super().__init__(what)
        self.what = what


class Grammar:
    """The commands of a shell, by name."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands: dict[str, Command] = {}
        for command in commands:
            if command.name in self.commands:
                raise ValueError(f"two commands are called {command.name}")
            self.commands[command.name] = command

    def find(self, words: Sequence[str]) -> Command:
        """The command of a line. Raises ShellError."""
        if not words:
            raise ShellError("shell.line_empty")
        command = self.commands.get(words[0])
        if command is None:
            raise self._unknown(words[0])
        for word in words[1:]:
            if word.startswith("--") and word[2:].partition("=")[0] in command.missing:
                raise ShellError(
                    "shell.option_not_supported",
                    command=command.name,
                    option=word.partition("=")[0],
                    options=", ".join(f"--{option.name}" for option in command.options),
                )
        return command

    def _unknown(self, word: str) -> ShellError:
        """The error for an unknown command, with the closest names and forms."""
        verbs = [form for command in self.commands.values() for form, _ in command.forms if word in form.split()[1:2]]
        near = get_close_matches(word, self.commands, MAX_NEAR_NAMES)
        if found := (verbs or near)[:MAX_NEAR_NAMES]:
            return ShellError("shell.unknown_command_near", command=word, commands=" | ".join(found))
        return ShellError("shell.unknown_command", command=word)


def not_understood(name: str, arguments: Sequence[str]) -> UsageError:
    """The error for arguments that match none of a command's forms."""
    return UsageError(text("shell.not_understood", line=" ".join([name, *arguments])))


def usage_error(command: Command, what: Text, verb: str = "") -> ShellError:
    """The error of a line whose arguments the command does not accept, with its forms: those of `verb`, or, where it
    has no such verb and many forms, its verbs.
    """
    name = command.name
    forms = [form for form, _ in command.forms]
    by_verb: dict[str, list[str]] = {}
    for form in forms:
        words = form.split(" ")
        # "..." continues the form above
        by_verb.setdefault(words[1] if words[0] == name else next(reversed(by_verb)), []).append(form)
    expected = text("shell.usage", forms=" | ".join(by_verb.get(verb, forms)))
    is_known = any(verb in form.split(" ") for form in forms)
    if verb and not is_known and len(" | ".join(forms)) > MAX_FORMS_LENGTH:
        expected = text("shell.one_of", names=", ".join(f"{name} {verb}" for verb in by_verb))
    return ShellError.of(what, expected, text("shell.type_help", command=name))


def refuse(process: Process, message: Text) -> None:
    """Prints a message of the lab to the standard error of a running command, as a code; Kafka's own messages are
    printed there unchanged.
    """
    process.err(message.code)


def bounded(process: Process, running: Running) -> Running:
    """The command; it ends with an error at a regular expression that the lab does not run."""
    try:
        return (yield from running)
    except RefusedPattern as refused:
        refuse(process, refused.what)
        return 1


def broker_of(name: str, process: Process, word: str) -> int:
    """The broker that an argument names. Raises ShellError for one that the run does not have."""
    ids = process.cluster.broker_ids
    broker_id = parse_integer(word)
    if broker_id not in ids:
        raise ShellError(
            "shell.unknown_broker", broker=word, brokers=", ".join(map(str, ids)), example=f"{name} ... {ids[0]}"
        )
    return broker_id


def partition_of(word: str) -> str:
    """An argument that must be a topic-partition. Raises UsageError."""
    if not re.fullmatch(PARTITION, word):
        raise UsageError(text("shell.invalid_partition", partition=word))
    return str(TopicPartition.parse(word))
