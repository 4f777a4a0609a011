"""Command lines that are parsed by argparse4j instead of joptsimple: a command, then its options, with that parser's
error messages below the usage of the command.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import KAFKA_VERSION, is_int, justified

_USAGE_WIDTH = 75
_HELP = "help"
_VERSION = "version"
_COMMIT = "f745dfdcee2b9851"
_NEGATIVE_NUMBER = re.compile(r"-\d+(\.\d*)?")
_CHANGED, _ADDED, _LEFT_OUT = 2, 1, 4
_UNLIKE = 7
"""A command at this edit distance from the input is not suggested."""


class BadArguments(Exception):
    """Invalid arguments: `command` is the one whose usage is printed."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(message)
        self.command = command


class Tool(NamedTuple):
    """The arguments of a tool: options before the command, commands with their options, which are required, the usage
    printed for each ("" = the tool's own), the text below it in the help, the short names of options, and whether it
    has a version.
    """

    name: str
    before: tuple[str, ...]
    commands: Mapping[str, tuple[Option, ...]]
    required: Mapping[str, tuple[str, ...]]
    usage: Mapping[str, tuple[str, ...]]
    help: Mapping[str, str]
    short: Mapping[str, str]
    has_version: bool = False

    def flag(self, name: str) -> str:
        """The name of an option in error messages."""
        return f"--{name}/{self.short[name]}" if name in self.short else f"--{name}"


class Parsed(NamedTuple):
    """A command line: the command, its options, and those before it."""

    command: str
    options: ParsedOptions
    before: dict[str, str]


class HelpScreen(BadArguments):
    """The usage is printed, and the tool ends."""

    def __init__(self, command: str) -> None:
        super().__init__(command, "")


class UnknownName(BadArguments):
    """There is no such command, or no such option; `similar`: candidates with a similar name."""

    def __init__(self, command: str, message: str, similar: Sequence[str]) -> None:
        super().__init__(command, message)
        self.similar = similar


class VersionScreen(BadArguments):
    """Kafka's version is printed, and the tool ends."""

    def __init__(self) -> None:
        super().__init__("", "")


def complain(process: Process, tool: Tool, error: BadArguments) -> int:
    """Prints the error, or the requested help. Returns the exit code."""
    if isinstance(error, VersionScreen):
        process.out(f"{KAFKA_VERSION} (Commit:{_COMMIT})")
        return 0
    if isinstance(error, HelpScreen):
        process.out("\n".join((*tool.usage[error.command], "", tool.help[error.command])))
        return 1
    for line in (*tool.usage[error.command], *justified(f"{tool.name}: error: {error}", _USAGE_WIDTH)):
        process.err(line)
    if isinstance(error, UnknownName) and error.similar:
        process.err("\n\t".join(("Did you mean:", *error.similar)))
    return 1


def parse(tool: Tool, arguments: Sequence[str]) -> Parsed:
    """Parses a command line. Raises BadArguments."""
    own = [Option(name.removeprefix("--"), "", "value") for name in tool.before]
    given, words = _read(tool, "", list(arguments), own)
    if not words:
        raise BadArguments("", "too few arguments")
    command = _command(tool, words[0])
    known = tool.commands[command]
    values, rest = _read(tool, command, words[1:], known)
    rest = rest[1:] if rest[:1] == ["--"] else rest
    if rest:
        raise BadArguments(command, f"unrecognized arguments: '{' '.join(rest)}'")
    for name in reversed(tool.required.get(command, ())):
        if name not in values:
            raise BadArguments(command, f"argument {tool.flag(name)} is required")
    # The last of several duplicates counts, unless all do.
    repeats = {option.name for option in known if option.repeats}
    counted = [(name, value) for name in values for value in values[name][0 if name in repeats else -1 :]]
    flags = {option.name for option in known if not option.argument}
    options = ParsedOptions(known)
    options.parse([f"--{name}" if name in flags else f"--{name}={value}" for name, value in counted])
    return Parsed(command, options, {f"--{name}": texts[-1] for name, texts in given.items()})


def _command(tool: Tool, word: str) -> str:
    """The command of a word, or the only one that it is a prefix of."""
    found = [each for each in tool.commands if each.startswith(word)]
    if word in tool.commands or len(found) == 1:
        return word if word in tool.commands else found[0]
    if found:
        raise BadArguments("", f"ambiguous command: {word} could match {', '.join(found)}")
    choices = ", ".join(f"'{each}'" for each in tool.commands)
    raise UnknownName("", f"invalid choice: '{word}' (choose from {choices})", _similar(word, tool.commands))


def _similar(word: str, names: Iterable[str]) -> list[str]:
    """The names at the least edit distance, if that is small."""
    costs = {each: _edits(word, each) for each in names}
    least = min(costs.values())
    return [each for each in costs if costs[each] == least < _UNLIKE]


def _edits(word: str, other: str) -> int:
    """The edit distance of two words. Swapping adjacent characters costs nothing."""
    rows = [[_ADDED * at for at in range(len(other) + 1)]]
    for at, letter in enumerate(word):
        row = [_LEFT_OUT * (at + 1)]
        for place, wanted in enumerate(other):
            cost = min(
                rows[-1][place] + _CHANGED * (letter != wanted), rows[-1][place + 1] + _LEFT_OUT, row[-1] + _ADDED
            )
            if at and place and (word[at - 1], letter) == (wanted, other[place - 1]):
                cost = min(cost, rows[-2][place - 1])
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word != "--" and word[0] == "-" and _NEGATIVE_NUMBER.fullmatch(word) is None


def _read(
    tool: Tool, command: str, words: list[str], options: Sequence[Option]
) -> tuple[dict[str, list[str]], list[str]]:
    """Parses options up to the first word that is not one; returns the remaining words."""
    known = {option.name: option for option in options} | {_HELP: Option(_HELP, "")}
    if tool.has_version and not command:
        known[_VERSION] = Option(_VERSION, "")
    given: dict[str, list[str]] = {}
    while words and _is_flag(words[0]):
        word = words.pop(0)
        flag, has_value, value = word.partition("=")
        option = known[_name(tool, command, flag, known, word)]
        complaint = f"argument {tool.flag(option.name)}: "
        if not option.argument and has_value:
            raise BadArguments(command, f"{complaint}ignore implicit argument '{value}'")
        if option.name == _HELP:
            raise HelpScreen(command)
        if option.name == _VERSION:
            raise VersionScreen
        if option.argument and not has_value:
            if not words or _is_flag(words[0]):
                raise BadArguments(command, f"{complaint}expected one argument")
            value = words.pop(0)
        _check_number(command, option, value, complaint)
        given.setdefault(option.name, []).append(value)
    return given, words


def _name(tool: Tool, command: str, flag: str, known: Mapping[str, Option], word: str) -> str:
    """The option of a flag, or the only one that it is a prefix of."""
    names = {f"--{name}": name for name in known}
    names |= {short: name for name, short in {_HELP: "-h", _VERSION: "-v", **tool.short}.items() if name in known}
    if flag in names:
        return names[flag]
    found = [each for each in names if flag.startswith("--") and each.startswith(flag)]
    if len(found) > 1:
        raise BadArguments(command, f"ambiguous option: {flag} could match {', '.join(found)}")
    if not found:
        similar = _similar(word.lstrip("-"), sorted(known)) if len(word.lstrip("-")) > 1 else []
        raise UnknownName(command, f"unrecognized arguments: '{word}'", [f"--{each}" for each in similar])
    return names[found[0]]


def _check_number(command: str, option: Option, value: str, complaint: str) -> None:
    if option.kind == "String":
        return
    try:
        ParsedOptions([option]).parse([f"--{option.name}={value}"]).integer(option.name)
    except OptionError:
        why = f'For input string: "{value}"'
        if option.kind == "Short" and is_int(value):
            why = f'Value out of range. Value:"{value}" Radix:10'
        what = f"could not convert '{value}' to {option.kind} ({why})"
        raise BadArguments(command, complaint + what) from None
