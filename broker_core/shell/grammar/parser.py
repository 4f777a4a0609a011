"""Lines into words, words into options.

Words split as in a POSIX shell: quotes and backslashes, no expansion, no pipes. Options are parsed as by the option
parser of Kafka's tools (joptsimple), with its error messages.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from broker_core.config_defs.java_text import parse_integer
from broker_core.partitions import partition_name
from broker_core.texts import Rejection

_BITS = {"Short": 16, "Integer": 32, "Long": 64}
UNIT_US = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "": 1_000_000}
_TIME = re.compile(r"(\d{1,11}(?:\.\d+)?)(ms|s|m)?")
"""The most digits of any unit whose microseconds fit into 64 bits."""


class ShellError(Rejection):
    """A line that cannot be run: what is wrong, what was expected, what to do. Nothing has happened."""


class Word(NamedTuple):
    """A word of a line with its position; `end` is where it ends. `open` if a quote in it is not closed."""

    text: str
    start: int
    end: int
    open: bool = False


def words_of(line: str) -> list[Word]:
    """The words of a line, the last one even if its quote is open."""
    words: list[Word] = []
    text: list[str] = []
    start = -1
    quote = ""
    at = 0
    while at < len(line):
        character = line[at]
        if quote:
            escapes = quote == '"' and character == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`")
            if character == quote:
                quote = ""
            elif escapes and at + 1 < len(line):
                at += 1
                text.append(line[at])
            else:
                text.append(character)
        elif character.isspace():
            if start >= 0:
                words.append(Word("".join(text), start, at))
            start, text = -1, []
        else:
            if start < 0:
                start = at
            if character in "'\"":
                quote = character
            elif character == "\\" and at + 1 < len(line):
                at += 1
                text.append(line[at])
            else:
                text.append(character)
        at += 1
    if start >= 0:
        words.append(Word("".join(text), start, len(line), bool(quote)))
    return words


def split(line: str) -> list[str]:
    """The words of a line. Raises ShellError if a quote is not closed."""
    words = words_of(line)
    if words and words[-1].open:
        raise ShellError("shell.quote_open", rest=line[words[-1].start :])
    return [word.text for word in words]


def is_background(line: str) -> bool:
    """Whether a line ends with an unquoted `&`: a script does not wait for that command, as in a POSIX shell."""
    words = words_of(line)
    return bool(words) and line[words[-1].start : words[-1].end] == "&"


def quoted(word: str) -> str:
    """The word with quotes if it needs them."""
    if word and re.fullmatch(r"[\w@%+=:,./^<>\[\]{}*-]+", word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def command_and_input(text: str) -> tuple[str, list[str]]:
    """A command with its standard input: the first line, and the lines below it that begin with `<`, as in a
    transcript.

    Raises ShellError for a further line that is not input.
    """
    line, *rest = text.split("\n")
    stdin = []
    for further in rest:
        if further == "<" or further.startswith("< "):
            stdin.append(further[2:])
        elif further.strip():
            raise ShellError("shell.second_command", line=further)
    return line, stdin


def duration_us(word: str) -> int:
    """`500ms`, `2s`, `1m`, or seconds without a unit, as microseconds. Raises ShellError."""
    match = _TIME.fullmatch(word)
    if match is None:
        raise ShellError("shell.invalid_time", time=word)
    return int(float(match[1]) * UNIT_US[match[2] or ""])


def take_here_strings(words: list[str]) -> tuple[list[str], list[str]]:
    """The words and the lines of input: what follows a `<<<` is input, as in bash. Raises ShellError if nothing
    follows.
    """
    rest: list[str] = []
    lines: list[str] = []
    at = 0
    while at < len(words):
        if words[at] == "<<<":
            if at + 1 == len(words):
                raise ShellError("shell.here_string_empty")
            lines += words[at + 1].split("\n")
            at += 1
        else:
            rest.append(words[at])
        at += 1
    return rest, lines


class Option(msgspec.Struct, frozen=True):
    """An option of a tool. `argument` is the name of its argument, empty for a flag."""

    name: str
    about: str
    argument: str = ""
    kind: Literal["String", "Short", "Integer", "Long"] = "String"
    repeats: bool = False
    #: Whether the argument is optional.
    optional: bool = False
    #: The source of completions: `topic`, `partition`, `broker`, `file`, `log files`, or words separated by `|`.
    values: str = ""


class OptionError(Exception):
    """An error of joptsimple: `java_class` is its exception, `causes` the causes, outermost first."""

    def __init__(self, java_class: str, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.message = message
        self.causes = causes


class ParsedOptions:
    """The given options. Values stay text until requested, so that an invalid number raises its error when joptsimple
    would.
    """

    def __init__(self, options: Sequence[Option]) -> None:
        self._options = {option.name: option for option in options}
        self._given: dict[str, list[str]] = {}
        self.operands: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def values(self, name: str) -> list[str]:
        """All values of an option, in order."""
        return self._given.get(name, [])

    def value(self, name: str) -> str | None:
        """The value of an option that may be given once. Raises OptionError if it was given more often."""
        values = self._given.get(name)
        if not values:
            return None
        if len(values) > 1:
            raise OptionError(
                "joptsimple.MultipleArgumentsForOptionException",
                f"Found multiple arguments for option {name}, but you asked for only one",
            )
        return values[0]

    def integer(self, name: str) -> int | None:
        """The number of an option. Raises OptionError if it is not a number, or too large for its Java type."""
        value = self.value(name)
        if value is None:
            return None
        number = parse_integer(value, _BITS[self._options[name].kind])
        if number is None:
            found = f'java.lang.NumberFormatException: For input string: "{value}"'
            raise OptionError(
                "joptsimple.OptionArgumentConversionException",
                f"Cannot parse argument '{value}' of option {name}",
                ("joptsimple.internal.ReflectionException: " + found, found),
            )
        return number

    def partition(self, default: int | None = None) -> str:
        """The partition of --topic and --partition, which the tool requires. Raises OptionError as `integer` does."""
        topic, number = self.value("topic"), self.integer("partition")
        number = default if number is None else number
        assert topic is not None and number is not None
        return partition_name(topic, number)

    def parse(self, words: Sequence[str]) -> "ParsedOptions":
        """Parses the words. Raises OptionError for an unknown option or a missing argument."""
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == "--":
                self.operands += words[at:]
                break
            if not _is_option(word):
                self.operands.append(word)
                continue
            name, equals, value = word.lstrip("-").partition("=")
            option = self._options.get(name)
            if option is None:
                raise OptionError("joptsimple.UnrecognizedOptionException", f"{name} is not a recognized option")
            given = self._given.setdefault(name, [])
            if option.argument:
                if not equals:
                    if option.optional and (at == len(words) or _is_option(words[at])):
                        continue
                    if at == len(words):
                        raise OptionError(
                            "joptsimple.OptionMissingRequiredArgumentException", f"Option {name} requires an argument"
                        )
                    value = words[at]
                    at += 1
                given.append(value)
        return self


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def usage_lines(options: Sequence[Option]) -> list[str]:
    """The table of options as joptsimple prints it."""
    rows = []
    for option in sorted(options, key=lambda option: option.name):
        name = f"--{option.name}"
        if option.optional:
            name += f" [{option.kind}]"
        elif option.argument:
            name += f" <{option.kind}: {option.argument}>"
        rows.append((name, option.about))
    width = min(40, max(len(name) for name, _ in rows))
    lines = [f"{'Option':<{width}}  Description", f"{'------':<{width}}  -----------"]
    for name, about in rows:
        left = _wrap(name, width)
        right = _wrap(about, 78 - width)
        for row in range(max(len(left), len(right))):
            first = left[row] if row < len(left) else ""
            second = right[row] if row < len(right) else ""
            lines.append(f"{first:<{width}}  {second}".rstrip())
    return lines


def _wrap(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = "  " + word if text.startswith("--") else word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
