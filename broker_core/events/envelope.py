"""The envelope of the core's events, their registry and their sentences.

An event is a fact with its result, in the past tense. It travels inside an envelope: a plain tuple, because a tuple
around the struct costs half of what the same fields inside the struct would.
"""

from typing import Any, TypeAlias

from broker_core.events.vocabulary import Event, Vocabulary
from broker_core.texts import Text, Value, catalogue, render

__all__ = ["CORE", "KINDS", "Envelope", "Event", "family_of", "kind", "sentence"]

#: `(seq, at_us, node, cause_seq, event)`. `seq` is dense from 1 within a branch; `at_us` is simulated time since the
#: run began; `node` is the node that emits the event (`b1`, `zk`, a client's name, or `lab`); `cause_seq` is the event
#: that led to this one, 0 when it came from outside.
Envelope: TypeAlias = tuple[int, int, str, int, Event]

CORE: Vocabulary[int] = Vocabulary("Highwater events", int)
KINDS = CORE.kinds
#: Registers an event class under its family. Its sentence is the text `event.<class name>`, whose places are fields.
kind = CORE.kind
family_of = CORE.family_of

#: Fields whose values are those of an enumeration, `power loss`, which are rendered as `value.power_loss`.
_TERMS = frozenset({"change", "how", "repair", "rule", "state", "why"})
ALL_IN_SYNC = -1
"""The value of `acks` in requests for what people write as `all`."""
_OFFSETS = frozenset({"from_offset", "to_offset"})
NO_OFFSET = -1
"""A position or a first unstable offset that does not exist."""


def sentence(event: Event, language: str = "en") -> str:
    """The event as one sentence for people."""
    values: dict[str, Value] = {}
    for name in event.__struct_fields__:
        # an alarm of an old recording brings both languages
        chinese = getattr(event, f"{name}_zh", "") if language == "zh-CN" else ""
        values[name] = _shown(name, chinese or getattr(event, name), language)
    return render(Text(f"event.{type(event).__name__}", values), language)


def _shown(name: str, value: Any, language: str) -> str:
    if name == "acks" and value == ALL_IN_SYNC:
        return "all"
    if name in _OFFSETS and value == NO_OFFSET:
        return catalogue(language)["value.none"]
    if value is None:
        return "null"
    if name == "entries":
        return ", ".join(f"{epoch}@{offset}" for epoch, offset in value) or "—"
    if name == "requests":
        return ", ".join(f"{operation} {path} {result}" for operation, path, result in value)
    if isinstance(value, tuple):
        return f"[{', '.join(_shown('', one, language) for one in value)}]"
    if not isinstance(value, str):
        return str(value)
    if name in _TERMS and (term := f"value.{value.replace(' ', '_')}") in catalogue(language):
        return catalogue(language)[term]
    return render(value, language)
