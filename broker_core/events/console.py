"""The console: lines that came in, what they printed."""

from broker_core.events.envelope import Event, kind
from broker_core.texts import render


@kind("console")
class CommandReceived(Event):
    """`command` is dense per branch from 1; `source` says who sent it (a user's name, `play`, `exercise`)."""

    command: int
    line: str
    source: str


@kind("console")
class CommandPrinted(Event):
    """Lines of standard output as they are; lines of standard error begin with `! `, those of the lab are codes of
    texts.
    """

    command: int
    lines: tuple[str, ...]


@kind("console")
class CommandCompleted(Event):
    command: int
    exit_code: int


def shown(line: str) -> str:
    """A line that a command printed, for a terminal: a message of the lab in English, others as they are."""
    return f"! {render(line[2:])}" if line.startswith("! ") else line
