"""Marks: the events that the timeline points out."""

from functools import cache
from typing import Any

import msgspec

from broker_core.controller.election import ElectionStrategy
from broker_core.events import KINDS, Event
from broker_core.events.control import LeaderElected
from broker_core.texts import LANGUAGES, catalogue
from broker_core.texts.catalogues import PLACE

#: Kinds that get a mark, the most important first. `manage.py gen_events` writes them for the page.
MARKED_KINDS = (
    "InvariantViolated",
    "LogTruncated",
    "BrokerStopped",
    "BrokerExiting",
    "BrokerFrozen",
    "LinkCut",
    "LinkCutOneWay",
    "ClientFrozen",
    "LeaderElected",
    "ControllerElected",
    "ForeignZnodeChanged",
    "IsrShrunk",
    "IsrExpanded",
    "BrokerStarted",
    "BrokerThawed",
    "ClientThawed",
    "LinkRestored",
)
_RANKS = {kind: rank for rank, kind in enumerate(MARKED_KINDS)}


class Mark(msgspec.Struct, array_like=True):
    """A marked event. `values`: the values of its sentence, by field, so that the page can render it in any
    language.
    """

    seq: int
    at_us: int
    kind: str
    values: dict[str, Any]

    @property
    def rank(self) -> int:
        """0 is the most important."""
        return _RANKS[self.kind]


def mark_of(seq: int, at_us: int, event: Event) -> Mark | None:
    """The mark of an event; None for those without one, such as a new partition's first leader, which replaces no
    other.
    """
    kind = type(event).__name__
    if kind not in _RANKS or (isinstance(event, LeaderElected) and event.strategy == ElectionStrategy.NEW):
        return None
    return Mark(seq, at_us, kind, {name: getattr(event, name) for name in named_fields(kind)})


@cache
def named_fields(kind: str) -> tuple[str, ...]:
    """The fields that the sentence of a kind names, and the Chinese text of an old alarm."""
    named = (name for language in LANGUAGES for name in PLACE.findall(catalogue(language)[f"event.{kind}"]))
    fields = KINDS[kind].__struct_fields__
    return tuple(dict.fromkeys(field for name in named for field in (name, f"{name}_zh") if field in fields))
