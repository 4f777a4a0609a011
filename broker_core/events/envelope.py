"""What an event is, and the registry of its kinds.

An event is a fact with its result, in the past tense. It travels inside an envelope: a plain tuple, because a tuple
around the struct costs half of what the same fields inside the struct would.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

from broker_core.texts import Text, Value, catalogue, render


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
_FAMILIES: dict[type[Event], str] = {}

#: Fields whose values are those of an enumeration, `power loss`, which are rendered as `value.power_loss`.
_TERMS = frozenset({"change", "how", "repair", "state", "why"})

E = TypeVar("E", bound=type[Event])


def kind(family: str) -> Callable[[E], E]:
    """Registers an event class under its family. Its sentence is the text `event.<class name>`, whose places are
    fields.
    """

    def register(cls: E) -> E:
        if cls.__name__ in KINDS:
            raise ValueError(f"event kind {cls.__name__} is registered twice")
        KINDS[cls.__name__] = cls
        _FAMILIES[cls] = family
        return cls

    return register


def family_of(cls: type[Event]) -> str:
    """The family of an event class."""
    return _FAMILIES[cls]


def sentence(event: Event, language: str = "en") -> str:
    """The event as one sentence for people."""
    values: dict[str, Value] = {}
    for name in event.__struct_fields__:
        # an alarm of an old recording brings both languages
        chinese = getattr(event, f"{name}_zh", "") if language == "zh-CN" else ""
        values[name] = _shown(name, chinese or getattr(event, name), language)
    return render(Text(f"event.{type(event).__name__}", values), language)


def _shown(name: str, value: Any, language: str) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_shown('', one, language) for one in value)}]"
    if not isinstance(value, str):
        return str(value)
    if name in _TERMS and (term := f"value.{value.replace(' ', '_')}") in catalogue(language):
        return catalogue(language)[term]
    return render(value, language)
