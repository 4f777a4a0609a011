"""Errors of Kafka's command line tools: usage errors, exceptions, and their log lines."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.config_defs.java_text import CLASSES_WITHOUT_ARGUMENTS, parse_integer
from broker_core.errors import Errors
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions, usage_lines
from broker_core.shell.grammar.process import Process

EXECUTION_EXCEPTION = "java.util.concurrent.ExecutionException"
"""The exception of a future."""
ERRORS_PACKAGE = "org.apache.kafka.common.errors."


_OF_COMMON = ("InvalidRecordException", "KafkaException")


def error_class(name: str) -> str:
    """The full name of an exception class of Kafka's clients."""
    return f"org.apache.kafka.common.{name}" if name in _OF_COMMON else ERRORS_PACKAGE + name


class JavaException(Exception):
    """An exception of a tool: the class, its message, and the causes as `class: message`."""

    def __init__(self, java_class: str, message: str, causes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.message = message
        self.causes = tuple(causes)

    @staticmethod
    def of(error: Errors, message: str | None = None) -> "JavaException":
        """The exception of a protocol error, with the broker's message."""
        return JavaException(error_class(exception_class(error)), exception_message(error, message))

    @staticmethod
    def in_future(error: Errors, message: str | None = None) -> "JavaException":
        """The same as thrown by a future, whose text repeats it."""
        name = error_class(exception_class(error))
        cause = f"{name}: {exception_message(error) if message is None else message}"
        return JavaException("java.util.concurrent.ExecutionException", cause, (cause,))

    @staticmethod
    def thrown(error: "OptionError | JavaException") -> "JavaException":
        """The exception of the tool unchanged, or that of its option parser."""
        if isinstance(error, JavaException):
            return error
        return JavaException(error.java_class, error.message, error.causes)

    def wrapped_in(self, java_class: str) -> "JavaException":
        """The same as the cause of another exception, whose text repeats it."""
        cause = self.stack_trace()[0]
        return JavaException(java_class, cause, (cause, *self.causes))

    def stack_trace(self) -> list[str]:
        """The exception and its causes, without the frames."""
        first = f"{self.java_class}: {self.message}" if self.message else self.java_class
        return [first, *(f"Caused by: {cause}" for cause in self.causes)]


NAMELESS_TOPIC = JavaException(
    ERRORS_PACKAGE + "InvalidTopicException", "The given topic name '' cannot be represented in a request."
)
"""The admin client's error for an empty name, for which it sends nothing."""
ZERO_UUID = "A" * 22


def is_int(text: str) -> bool:
    """Whether `Integer.parseInt` accepts it."""
    return parse_integer(text) is not None


def parse_int(text: str) -> int:
    """`Integer.parseInt`. Raises JavaException for text that is not a number, or too large."""
    number = parse_integer(text)
    if number is None:
        raise JavaException("java.lang.NumberFormatException", f'For input string: "{text}"')
    return number


def parse_uuid(text: str) -> str:
    """Parses a topic id as it is printed (`Uuid.fromString`). Raises JavaException."""
    try:
        if len(text) > 24:
            raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
        decoded = _decode_base64(text)
        if len(decoded) != 16:
            raise ValueError(
                f"Input string `{text}` decoded as {len(decoded)} bytes, which is not equal to the expected 16 bytes "
                "of a base64-encoded UUID"
            )
    except ValueError as error:
        raise JavaException("java.lang.IllegalArgumentException", str(error)) from None
    return urlsafe_b64encode(decoded).decode().rstrip("=")


def _decode_base64(text: str) -> bytes:
    """`Base64.getUrlDecoder().decode`. Raises ValueError with its message."""
    if len(text) == 1:
        raise ValueError("Input byte[] should at least have 2 bytes for base64 bytes")
    digits = text.rstrip("=")
    for character in digits:
        if not (character.isascii() and (character.isalnum() or character in "-_")):
            raise ValueError(f"Illegal base64 character {ord(character):x}")
    padding = len(text) - len(digits)
    if padding and (padding > 2 or len(text) % 4):
        raise ValueError("Input byte array has wrong 4-byte ending unit")
    if len(digits) % 4 == 1:
        raise ValueError("Last unit does not have enough valid bits")
    return urlsafe_b64decode(digits + "=" * (-len(digits) % 4))


def load_properties(process: Process, name: str) -> dict[str, str]:
    """Reads a properties file (`Utils.loadProps`). Raises JavaException if it does not exist."""
    if name not in process.files:
        raise JavaException("java.nio.file.NoSuchFileException", name)
    properties = {}
    for line in process.files[name].splitlines():
        text = line.strip()
        if text and text[0] not in "#!":
            key, _, value = re.sub(r"\s*[=:]\s*|\s+", "=", text, count=1).partition("=")
            properties[key] = value
    return properties


def key_values(given: Sequence[str]) -> dict[str, str]:
    """`name=value` of repeated options; the value may be missing (`CommandLineUtils.parseKeyValueArgs`)."""
    return {name: value for name, _, value in (text.partition("=") for text in given)}


class TerseException(Exception):
    """A message that ends a tool and is printed alone (Kafka: `TerseException`)."""


class ToolUsageError(Exception):
    """The options do not fit together: the tool prints the message and its options."""


def log_error(process: Process, lines: Sequence[str], logger: str) -> None:
    """Prints a message that the tool logs as an error; `logger` follows it on the last line."""
    *before, last = lines
    for number, line in enumerate([*before, f"{last} ({logger})"]):
        process.err(f"ERROR {line}" if number == 0 else line)


def print_usage(process: Process, error: ToolUsageError, options: Sequence[Option]) -> int:
    """Prints a usage error with the table of options (`CommandLineUtils.printUsageAndExit`), or the version of Kafka.
    Returns the exit code.
    """
    if isinstance(error, VersionRequested):
        process.out(KAFKA_VERSION)
        return 0
    if str(error):
        process.err(str(error))
    for line in usage_lines(options):
        process.err(line)
    return 1


HELP = Option("help", "Print usage information.")
VERSION = Option("version", "Display Kafka version.")
KAFKA_VERSION = "3.9.1"


class VersionRequested(ToolUsageError):
    """The tool prints the version of Kafka and ends."""


def check_help(options: ParsedOptions, about: str) -> None:
    """Raises ToolUsageError with what the tool is for, if --help was given, or VersionRequested, if --version was
    (`CommandLineUtils.maybePrintHelpOrVersion`).
    """
    if "help" in options:
        raise ToolUsageError(about)
    if "version" in options:
        raise VersionRequested()


def check_required(options: ParsedOptions, *names: str) -> None:
    """Raises ToolUsageError for the first of these options that is missing (`CommandLineUtils.checkRequiredArgs`)."""
    for name in names:
        if name not in options:
            raise ToolUsageError(f'Missing required argument "[{name}]"')


def check_invalid(options: ParsedOptions, name: str, others: Sequence[str]) -> None:
    """Raises ToolUsageError for an option together with one that excludes it (`CommandLineUtils.checkInvalidArgs`)."""
    if name in options:
        for other in others:
            if other in options:
                raise ToolUsageError(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def not_cast(class_name: str, wanted: str) -> str | None:
    """The message of a `ClassCastException` for a class that Java has, but that is not a `wanted` one; else None."""
    if class_name not in CLASSES_WITHOUT_ARGUMENTS:
        return None
    return (
        f"class {class_name} cannot be cast to class {wanted} ({class_name} is in module java.base of loader "
        f"'bootstrap'; {wanted} is in unnamed module of loader 'app')"
    )


def justified(text: str, width: int) -> list[str]:
    """Wraps a message at `width` characters and justifies all lines but the last (argparse4j)."""
    lines: list[list[str]] = [[]]
    for word in text.split(" "):
        # A word may be broken after its hyphens, as by java.text.BreakIterator.
        parts = re.split(r"(?<=-)(?=[^-\d])", word)
        for place, part in enumerate(parts):
            line = lines[-1]
            longer = [*line[:-1], line[-1] + part] if place and line else [*line, part]
            # The space after a word counts when the word is placed, and the line end after the last one.
            if line and len(" ".join(longer)) + (place == len(parts) - 1) > width:
                lines.append([part])
            else:
                lines[-1] = longer
    return [*(_stretched(words, width) for words in lines[:-1]), " ".join(lines[-1])]


def _stretched(words: list[str], width: int) -> str:
    gaps = len(words) - 1
    if not gaps:
        return words[0]
    each, rest = divmod(width - len(" ".join(words)), gaps)
    first = (gaps - rest + 1) // 2
    spaces = [" " * (1 + each + (first <= gap < first + rest)) for gap in range(gaps)]
    return "".join(word + space for word, space in zip(words, [*spaces, ""], strict=True))
