"""Regular expressions of users (`java.util.regex.Pattern`), in the options and properties of Kafka's tools."""

import re
from collections.abc import Callable

from broker_core.config_defs.patterns import MAX_NAME_LENGTH, bounded_pattern
from broker_core.shell.java.errors import JavaException

_PATTERN_FAULTS: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
    ("missing )", "Unclosed group", lambda at, length: length),
    ("unbalanced parenthesis", "Unmatched closing ')'", lambda at, length: at - 1),
    ("unterminated character set", "Unclosed character class", lambda at, length: length - 1),
    ("nothing to repeat", "Dangling meta character '?'", lambda at, length: at),
)
"""The beginning of Python's error for a regular expression, Java's message, and the position that Java reports."""


def compiled(pattern: str, length: int = MAX_NAME_LENGTH, *, is_searched: bool = False) -> re.Pattern[str]:
    """A user's regular expression for subjects of at most `length` characters (`Pattern.compile`). Raises JavaException
    with Java's message for an invalid one, and RefusedPattern for one that the lab does not run.
    """
    try:
        return bounded_pattern(pattern, length, is_searched=is_searched)
    except re.error as error:
        at = error.pos or 0
        what, index = next(
            ((java, place(at, len(pattern))) for ours, java, place in _PATTERN_FAULTS if error.msg.startswith(ours)),
            (error.msg, at),
        )
        where = f" near index {index}" if index >= 0 else ""
        caret = f"\n{' ' * index}^" if 0 <= index < len(pattern) else ""
        message = f"{what.replace('?', pattern[at : at + 1])}{where}\n{pattern}{caret}"
        raise JavaException("java.util.regex.PatternSyntaxException", message) from None


def compiled_list(names: str, error: str) -> re.Pattern[str]:
    """Names of topics or regular expressions, separated by commas (`IncludeList`). `error`: the message for an invalid
    one, which JavaException has. Raises RefusedPattern too.
    """
    try:
        return bounded_pattern(names.replace(",", "|").replace(" ", ""))
    except re.error:
        raise JavaException("java.lang.RuntimeException", error) from None
