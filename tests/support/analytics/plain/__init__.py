"""The expected tables of a run, computed by plain Python from the output of `kafka-dump-log.sh`.

Each module reads events one after the other and keeps plain dicts. Nothing of `lab.analytics` is imported, so that the
tables are held against their definitions in docs/TABLES.md and not against themselves.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from tests.support.analytics.plain import (
    failovers,
    faults,
    gold,
    groups,
    messages,
    offsets,
    per_event,
    produces,
    roles,
    topics,
    zookeeper_groups,
)
from tests.support.analytics.plain.dump import Happened, Rows, events_of

MAKERS: dict[str, Callable[["PlainTables"], Rows]] = {
    **{
        name: lambda t, name=name: per_event.rows(name, t.events)  # type: ignore[misc]
        for name in per_event.TABLES
    },
    **topics.MAKERS, **messages.MAKERS, **produces.MAKERS, **groups.MAKERS, **zookeeper_groups.MAKERS,
    **offsets.MAKERS, **faults.MAKERS, **failovers.MAKERS, **roles.MAKERS, **gold.MAKERS,
}  # fmt: skip


class PlainTables:
    """All tables of one run by name, made when they are asked for."""

    def __init__(self, dump: str) -> None:
        self.events: list[Happened] = events_of(dump)
        self._made: dict[str, Rows] = {}

    def __getitem__(self, name: str) -> Rows:
        if name not in self._made:
            self._made[name] = MAKERS[name](self)
        return self._made[name]

    @cached_property
    def end_us(self) -> int:
        """When the last event was."""
        return self.events[-1].at_us if self.events else 0

    def of(self, *kinds: str) -> list[Happened]:
        """The events of some kinds, in order."""
        return [event for event in self.events if event.kind in kinds]

    def total(self, kind: str, value: Callable[[Any], int]) -> int:
        """The sum of something over the events of a kind."""
        return sum(value(event) for event in self.of(kind))
