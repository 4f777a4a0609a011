"""The console: lines that came in, what they printed."""

from broker_core.events.envelope import Event, kind
from broker_core.texts import render


@kind("console")
class CommandReceived(Event):
    """`command` is dense per branch from 1; `source` is its sender (a user's name, `play`, `exercise`)."""

    command: int
    line: str
    # Since there are classes: a participant's number such as `p7`. Only recordings of before hold users' names.
    source: str


@kind("console")
class CommandPrinted(Event):
    """Lines of standard output as they are, and lines of standard error after `! `.

    A message of the lab is a code of a text, on standard output after `* `.
    """

    command: int
    lines: tuple[str, ...]


@kind("console")
class CommandCompleted(Event):
    command: int
    exit_code: int


ERROR_MARK, MESSAGE_MARK = "! ", "* "


def shown(line: str) -> str:
    """A line that a command printed, for a terminal: a message of the lab in English, others as they are."""
    mark, printed = line[:2], line[2:]
    if mark == ERROR_MARK:
        return ERROR_MARK + render(printed)
    said = render(printed) if mark == MESSAGE_MARK else printed
    return line if said == printed else said
