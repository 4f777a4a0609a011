"""Messages as data: an id and named values, whose words are looked up in a catalogue of the reader's language.

Events, alarms and refusals carry a message as a code, `reason.member_left?member=c1`, never as prose. A new message is
an id in `en/<family>.json` and `zh-CN/<family>.json` and a call of `text` with that id as a literal, or, where messages
are made often, an f-string of the code whose values need no escaping. tests/project/test_texts.py compares the three.
"""

from broker_core.texts.catalogues import LANGUAGES, TextError, catalogue, register
from broker_core.texts.rejection import Rejection
from broker_core.texts.text import Text, Value, code_of, escape, listed, message_of, render, text

__all__ = [
    "LANGUAGES",
    "Rejection",
    "Text",
    "TextError",
    "Value",
    "catalogue",
    "code_of",
    "escape",
    "listed",
    "message_of",
    "register",
    "render",
    "text",
]
