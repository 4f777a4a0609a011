"""Marks: the events that the time line points out."""

from functools import cache
from string import Formatter
from typing import Any

import msgspec

from broker_core.controller.election import ElectionStrategy
from broker_core.events import KINDS, Event, label
from broker_core.events.control import LeaderElected

#: Kinds that get a mark, the most telling first. `manage.py gen_events` writes them for the page, too.
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
    """A marked event. `values`: what its labels name, by field, so that the page can say it in any language."""

    seq: int
    at_us: int
    kind: str
    values: dict[str, Any]

    @property
    def rank(self) -> int:
        """0 is the most telling."""
        return _RANKS[self.kind]


def mark_of(seq: int, at_us: int, event: Event) -> Mark | None:
    """The mark of an event; None for those that get none, such as a new partition's first leader: nobody had to go."""
    kind = type(event).__name__
    if kind not in _RANKS or (isinstance(event, LeaderElected) and event.strategy == ElectionStrategy.NEW):
        return None
    return Mark(seq, at_us, kind, {name: getattr(event, name) for name in _named(kind)})


@cache
def _named(kind: str) -> tuple[str, ...]:
    """The fields that the labels of a kind name."""
    _, en, zh = label(KINDS[kind])
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(en + zh) if name))
