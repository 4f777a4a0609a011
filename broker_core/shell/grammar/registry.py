"""What a command is, and how a line finds its command."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from broker_core.config_defs.java_text import parse_integer
from broker_core.partitions import partition_name
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import Option, ShellError
from broker_core.shell.grammar.process import Process, Running

TOPIC = r"(?!\.\.?(?:\s|$))[a-zA-Z0-9._-]{1,249}"
"""A topic's name: it becomes a folder and a znode."""
PARTITION = r"(?!\.\.?-\d+(?:\s|$))[a-zA-Z0-9._-]{1,249}-[0-9]{1,10}"
"""A partition: a topic, a minus and a number."""


class Command(NamedTuple):
    """A tool or verb.

    `start` checks the arguments and returns the running command; it raises ShellError for what cannot be run at all.
    `missing` names options that Kafka's tool has and this one has not.
    `forms` are what may be typed, a line each, with what it does. `complete` gives the words that may stand after the
    given ones, for what options do not say.
    """

    name: str
    about: str
    forms: tuple[tuple[str, str], ...]
    start: Callable[[Process, list[str]], Running]
    options: tuple[Option, ...] = ()
    missing: tuple[str, ...] = ()
    complete: Callable[[ClusterApi, Sequence[str]], list[str]] | None = None


_FORMS_READABLE = 200
"""So many characters of forms are read through in a complaint."""


class UsageError(Exception):
    """Arguments that a command does not accept, and why. The shell adds what the command accepts."""

    def __init__(self, what: str) -> None:
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
        """The command that a line names. Raises ShellError."""
        if not words:
            raise ShellError("The line is empty.", "a command.", "Type help for the list of commands.")
        command = self.commands.get(words[0])
        if command is None:
            raise ShellError(
                f"There is no command {words[0]!r}.",
                "one of " + ", ".join(sorted(self.commands)) + ".",
                "Type help for what each does.",
            )
        for word in words[1:]:
            if word.startswith("--") and word[2:].partition("=")[0] in command.missing:
                raise ShellError(
                    f"{command.name} has no {word.partition('=')[0]} here yet.",
                    "one of " + ", ".join(f"--{option.name}" for option in command.options) + ".",
                    "Leave it out.",
                )
        return command


def usage_error(command: Command, what: str) -> ShellError:
    """The complaint of a verb whose arguments are wrong, with its forms. Of one with many only those that were meant,
    where `what` begins with what was typed; else by which words they begin.
    """
    name = command.name
    forms = [form for form, _ in command.forms]
    expected = " | ".join(forms)
    typed = what.split(" ")
    if len(expected) > _FORMS_READABLE and typed[0] == name and len(typed) > 1:
        by_verb: dict[str, list[str]] = {}
        for form in forms:
            words = form.split(" ")
            verb = words[1] if words[0] == name else next(reversed(by_verb))  # "..." goes on with the form above
            by_verb.setdefault(verb, []).append(form)
        if typed[1] in by_verb:
            expected = " | ".join(by_verb[typed[1]])
        elif not any(typed[1] in form.split(" ") for form in forms):
            expected = "one of " + ", ".join(f"{name} {verb}" for verb in by_verb) + "."
    return ShellError(what, expected, f"Type help {name} for what each does.")


def refuse(process: Process, sentence: str) -> None:
    """What the lab itself says on the standard error of a command that runs, in a sentence that has its Chinese.
    Kafka's own words go there as they are.
    """
    process.err(sentence)


def broker_of(name: str, process: Process, word: str) -> int:
    """The broker that an argument names. Raises ShellError for one that the run does not have."""
    ids = process.cluster.broker_ids
    broker_id = parse_integer(word)
    if broker_id not in ids:
        raise ShellError(
            f"There is no broker {word!r}.",
            "one of " + ", ".join(map(str, ids)) + ".",
            f"Name one of these, as in: {name} ... {ids[0]}.",
        )
    return broker_id


def partition_of(word: str) -> str:
    """An argument that must be a topic-partition. Raises UsageError."""
    topic, _, number = word.rpartition("-")
    if not re.fullmatch(PARTITION, word):
        raise UsageError(f"{word!r} is no partition: a topic, a minus and a number, such as orders-0.")
    return partition_name(topic, int(number))
