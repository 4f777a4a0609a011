"""What an event is, and the registry of its kinds.

An event is a fact with its result, in the past tense. It travels inside an envelope: a plain tuple, because a tuple
around the struct costs half of what the same fields inside the struct would.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=True):
    """Base of all kinds. Encodes as an array whose first element is the kind's name, the rest its fields in order.

    Fields hold primitives and tuples of primitives only, so that an event can be hashed, compared and replayed.
    """


#: `(seq, at_us, node, cause_seq, event)`. `seq` is dense from 1 within a branch; `at_us` is simulated time since the
#: run
#: began; `node` is who states the fact (`b1`, `zk`, a client's name, or `lab`); `cause_seq` is the event that led to
#: this one, 0 when it came from outside.
Envelope: TypeAlias = tuple[int, int, str, int, Event]

KINDS: dict[str, type[Event]] = {}
_LABELS: dict[type[Event], tuple[str, str, str]] = {}

E = TypeVar("E", bound=type[Event])


def kind(family: str, *, en: str, zh: str) -> Callable[[E], E]:
    """Registers an event class under its family with a sentence template in English and Chinese.

    A template names fields in braces: `"{replica}: high watermark {from_offset} to {to_offset}"`.
    """

    def register(cls: E) -> E:
        if cls.__name__ in KINDS:
            raise ValueError(f"event kind {cls.__name__} is registered twice")
        KINDS[cls.__name__] = cls
        _LABELS[cls] = (family, en, zh)
        return cls

    return register


def label(cls: type[Event]) -> tuple[str, str, str]:
    """`(family, English template, Chinese template)` of an event class."""
    return _LABELS[cls]


def sentence(event: Event, language: str = "en") -> str:
    """The event as one sentence for people. `language` is `en` or `zh`."""
    _, en, zh = _LABELS[type(event)]
    fields: dict[str, Any] = {name: getattr(event, name) for name in event.__struct_fields__}
    return (zh if language == "zh" else en).format(**fields)
