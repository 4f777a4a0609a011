"""A message and its code, one line of ASCII: `id?name=value&name=value`, values escaped as in a URL's query.

A value may be a message itself, in parentheses: `reason.member_removed?member=c1&why=(reason.session_timed_out)`.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import quote, unquote

import msgspec

from broker_core.texts.catalogues import TextError, fill

Value: TypeAlias = "str | int | float | Text"

_ID = re.compile(r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)+")
_VALUE = re.compile(r"([a-z]\w*)=(?:(\()|([^\s&=?()]*))", re.ASCII)
#: The characters that a value keeps besides letters, digits and `_.-~`.
_SAFE = "/:;,@<>[]{}|*+!$'\"^`\\#"
#: The maximum nesting depth of messages; deeper ones are not codes.
_MAX_DEPTH = 16


class Text(msgspec.Struct, frozen=True):
    """A message: its id, and the values of its placeholders."""

    id: str
    values: dict[str, Value] = {}

    @property
    def code(self) -> str:
        """The message on one line, names sorted; `parse` reads it."""
        if not self.values:
            return self.id
        return f"{self.id}?" + "&".join(f"{name}={_written(self.values[name])}" for name in sorted(self.values))

    @staticmethod
    def parse(code: str) -> "Text | None":
        """The message of a code; numbers in it are strings. None if it is not a code."""
        found = _parse(code, 0, 0)
        return found[0] if found is not None and found[1] == len(code) else None

    def __str__(self) -> str:
        return render(self)


def text(id: str, /, **values: Value) -> Text:
    """The message `id`, a literal that a catalogue has, with its values."""
    return Text(id, values)


def listed(items: Sequence[Value]) -> Value:
    """One or more items as an enumeration in the reader's language."""
    first, *rest = items
    return text("list.more", first=first, rest=listed(rest)) if rest else first


def message_of(code: str) -> Text | str:
    """The message of a code, as a value of another message; prose is returned unchanged."""
    return Text.parse(code) or code


def code_of(message: Text | str) -> str:
    """The message as events hold it: a string, which is prose or a code already, is returned unchanged."""
    return message.code if isinstance(message, Text) else message


def escape(value: str) -> str:
    """A value as it is written in a code, for names that may contain any character."""
    return quote(value, safe=_SAFE)


def render(message: Text | str, language: str = "en") -> str:
    """A message in a language. A string is a code, or is shown as it is: prose of an old recording, Kafka's own words.

    Raises:
        TextError: for a `Text` that no catalogue has, or without a value that its template needs.
    """
    if isinstance(message, Text):
        values = {name: _shown(value, language) for name, value in message.values.items()}
        return fill(message.id, values, language)
    parsed = Text.parse(message)
    if parsed is None:
        return message
    try:
        return render(parsed, language)
    except TextError:
        return message


def _written(value: Value) -> str:
    return f"({value.code})" if isinstance(value, Text) else escape(str(value))


def _shown(value: Value, language: str) -> str:
    return render(value, language) if isinstance(value, Text) else str(value)


def _parse(code: str, at: int, depth: int) -> tuple[Text, int] | None:
    """The message that begins at a position of a code, and the position where it ends."""
    id = _ID.match(code, at)
    if id is None or depth > _MAX_DEPTH:
        return None
    values: dict[str, Value] = {}
    at = id.end()
    before = "?"
    while code.startswith(before, at):
        value = _VALUE.match(code, at + 1)
        if value is None:
            return None
        at = value.end()
        if value[2] is None:
            try:
                values[value[1]] = unquote(value[3], errors="strict")
            except UnicodeDecodeError:
                return None
        else:
            inner = _parse(code, at, depth + 1)
            if inner is None or not code.startswith(")", inner[1]):
                return None
            values[value[1]], at = inner[0], inner[1] + 1
        before = "&"
    return Text(id[0], values), at
