"""Valid names of topics, and Kafka's messages for invalid ones, which were rewritten twice (`Topic.validate`)."""

import re
from typing import Literal

from broker_core.errors import Errors, KafkaException

MAX_NAME_LENGTH = 249
LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_KINDS = "ASCII alphanumerics, '.', '_' and '-'"

Style = Literal["3.0", "0.11", "0.9"]
"""The release since which the messages are worded like this."""


def why_no_topic_name(name: str) -> str | None:
    """Kafka's message for an invalid topic name; None for a valid one."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not LEGAL_NAME.fullmatch(name):
        return f"'{name}' contains one or more characters other than {_KINDS}"
    return None


def _legacy_message(name: str, style: Style) -> str:
    is_first = style == "0.9"
    topic = "topic name" if is_first else "Topic name"
    it = "" if is_first else "it "
    if not name:
        return f"{topic} is illegal, {it}can't be empty"
    if name in (".", ".."):
        return f'{topic} cannot be "." or ".."'
    if len(name) > MAX_NAME_LENGTH:
        shown = "" if is_first else f", topic name: {name}"
        return f"{topic} is illegal, {it}can't be longer than {MAX_NAME_LENGTH} characters{shown}"
    if not is_first:
        return f'{topic} "{name}" is illegal, it contains a character other than {_KINDS}'
    # Kafka says this at two places, with two blanks if the name has no valid character at all.
    blanks = " " if LEGAL_NAME.search(name) else "  "
    return f"{topic} {name} is illegal,{blanks}contains a character other than {_KINDS}"


def validate_topic_name(name: str, style: Style = "3.0") -> None:
    """Raises KafkaException(INVALID_TOPIC_EXCEPTION) for an invalid name."""
    why = why_no_topic_name(name)
    if why is not None:
        message = f"Topic name is invalid: {why}" if style == "3.0" else _legacy_message(name, style)
        raise KafkaException(Errors.INVALID_TOPIC_EXCEPTION, message)
