"""How Kafka's command line tools complain: usage errors, exceptions, and what they log of them."""

from collections.abc import Sequence

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.errors import KafkaError
from broker_core.shell.parser import Option, OptionError, ParsedOptions, usage_lines
from broker_core.shell.process import Process

ERRORS_PACKAGE = "org.apache.kafka.common.errors."


class JavaException(Exception):
    """What a tool would throw: the class, its message, and the exceptions behind it as `class: message`."""

    def __init__(self, java_class: str, message: str, causes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.message = message
        self.causes = tuple(causes)

    @staticmethod
    def of(error: KafkaError, message: str | None = None) -> "JavaException":
        """The exception of a protocol error, with what the broker said about it."""
        return JavaException(ERRORS_PACKAGE + exception_class(error), exception_message(error, message))

    @staticmethod
    def in_future(error: KafkaError, message: str | None = None) -> "JavaException":
        """The same as it comes out of a future, whose text repeats it."""
        name = ERRORS_PACKAGE + exception_class(error)
        cause = f"{name}: {exception_message(error) if message is None else message}"
        return JavaException("java.util.concurrent.ExecutionException", cause, (cause,))

    @staticmethod
    def option(error: OptionError) -> "JavaException":
        """What the option parser throws."""
        return JavaException(error.java_class, error.message, error.causes)

    def stack_trace(self) -> list[str]:
        """The exception and its causes, without the frames."""
        first = f"{self.java_class}: {self.message}" if self.message else self.java_class
        return [first, *(f"Caused by: {cause}" for cause in self.causes)]


def split(text: str, separator: str) -> list[str]:
    """`String.split`: without the empty parts at the end."""
    parts = text.split(separator)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


class UsageError(Exception):
    """The options do not fit together: the tool prints the message and its options."""


def log_error(process: Process, lines: Sequence[str], logger: str) -> None:
    """A message that the tool logs as an error; `logger` stands behind it on the last line."""
    *before, last = lines
    for number, line in enumerate([*before, f"{last} ({logger})"]):
        process.err(f"ERROR {line}" if number == 0 else line)


def print_usage(process: Process, error: UsageError, options: Sequence[Option]) -> int:
    """Prints a usage error with the table of options (`CommandLineUtils.printUsageAndExit`). Returns the exit code."""
    process.err(str(error))
    for line in usage_lines(options):
        process.err(line)
    return 1


HELP = Option("help", "Print usage information.")


def check_help(options: ParsedOptions, about: str) -> None:
    """Raises UsageError with what the tool is for, if --help was given (`CommandLineUtils.maybePrintHelpOrVersion`)."""
    if "help" in options:
        raise UsageError(about)


def check_required(options: ParsedOptions, *names: str) -> None:
    """Raises UsageError for the first of these that is not given (`CommandLineUtils.checkRequiredArgs`)."""
    for name in names:
        if name not in options:
            raise UsageError(f'Missing required argument "[{name}]"')


def check_invalid(options: ParsedOptions, name: str, others: Sequence[str]) -> None:
    """Raises UsageError when an option stands with one that excludes it (`CommandLineUtils.checkInvalidArgs`)."""
    if name in options:
        for other in others:
            if other in options:
                raise UsageError(f'Option "[{name}]" can\'t be used with option "[{other}]"')
