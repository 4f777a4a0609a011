"""Conditions at which a run pauses by itself: an event that matters, or a comparison that comes true.

isr orders-0 shrinks            an event, of one partition, group or node; without a name of any
high_watermark(orders-0@b1) >= 50       a quantity of lessons, compared with a number
"""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from broker_core.events import Envelope, Event
from broker_core.events.client import AcknowledgedRecordsLost
from broker_core.events.control import ControllerElected, LeaderElected, SessionClosed
from broker_core.events.group import GroupTransitioned
from broker_core.events.log import LogTruncated, SegmentRolled
from broker_core.events.replica import IsrExpanded, IsrShrunk
from broker_core.events.world import InvariantViolated
from broker_core.partitions import broker_node, partition_of
from broker_core.view.tree import View
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved
from lab.exercises.quantities import is_word, parse, value_of

Stops: TypeAlias = Callable[[View, Envelope], bool]
Test: TypeAlias = Callable[[Moment], bool]

_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_COUNTED = frozenset({"requests", "chosen", "read", "answer_of", "elapsed_ms", "measured", "lists", "readers"})
"""Quantities that a lesson counts; outside of a lesson they are unknown."""
_COMPARISON = re.compile(r"([a-z_]+\([^()]*\)(?: [+-] \d+)?)\s*(>=|<=|==|!=|>|<)\s*(-?\d{1,18})")
_REBALANCE = "PreparingRebalance"

Subject = Callable[[Any], str]


def _partition_of(event: Any) -> str:
    return partition_of(event.replica)


_EVENTS: dict[tuple[str, str], tuple[type[Event], Subject]] = {
    ("isr", "shrinks"): (IsrShrunk, _partition_of),
    ("isr", "grows"): (IsrExpanded, _partition_of),
    ("leader", "elected"): (LeaderElected, lambda event: str(event.partition)),
    ("log", "truncated"): (LogTruncated, _partition_of),
    ("segment", "rolled"): (SegmentRolled, _partition_of),
    ("records", "lost"): (AcknowledgedRecordsLost, lambda event: str(event.partition)),
    ("group", "rebalances"): (
        GroupTransitioned,
        lambda event: str(event.group) if event.to_state == _REBALANCE else "",
    ),
    ("controller", "elected"): (ControllerElected, lambda event: broker_node(event.broker)),
    ("session", "closed"): (SessionClosed, lambda event: str(event.owner)),
    ("invariant", "violated"): (InvariantViolated, lambda event: str(event.invariant)),
}
_OF_PARTITIONS = ("isr", "leader", "log", "segment", "records")
_COMPARED = ("high_watermark", "log_end_offset")


def stop_at(condition: str, view: View) -> Stops:
    """Whether to pause at an event. `view` is the current one: a comparison that already holds must become true again.
    Raises ValueError for an invalid condition.
    """
    words = condition.split()
    found = _EVENTS.get((words[0].lower(), words[-1].lower())) if 2 <= len(words) <= 3 else None
    if found is not None:
        return _event_stop(*found, words[1] if len(words) == 3 else "")
    return _comparison_stop(test_of(condition), view)


def test_of(condition: str) -> Test:
    """Whether a comparison holds at an instant. Raises ValueError for an invalid one."""
    match = _COMPARISON.fullmatch(condition.strip())
    if match is None or is_word(match[1]) or is_counted(match[1]):
        raise ValueError(condition)
    quantity, compare, number = match[1], _OPERATORS[match[2]], int(match[3])

    def holds(moment: Moment) -> bool:
        try:
            found = value_of(moment, quantity)
        except Unresolved:
            return False
        return isinstance(found, int) and compare(found, number)

    return holds


def is_counted(quantity: str) -> bool:
    """Whether only lessons count this quantity. Raises ValueError if the text is not a quantity."""
    return parse(quantity).name in _COUNTED


def proposals(view: View) -> list[str]:
    """Conditions to choose from in a run, most common ones first."""
    return list(_proposals(view))


def forms() -> str:
    """The accepted forms."""
    return " · ".join(
        [*(f"{noun} [{_subject(noun)}] {verb}" for noun, verb in _EVENTS), "high_watermark(orders-0@b1) >= 50"]
    )


def _subject(noun: str) -> str:
    return "T-P" if noun in _OF_PARTITIONS else {"group": "G", "invariant": "I"}.get(noun, "bN")


def _event_stop(kind: type[Event], subject: Subject, wanted: str) -> Stops:
    def stops(view: View, envelope: Envelope) -> bool:
        if not isinstance(envelope[4], kind):
            return False
        found = subject(envelope[4])
        return found == wanted if wanted else bool(found)

    return stops


def _comparison_stop(holds: Test, view: View) -> Stops:
    held = [holds(Moment(view, 0, False))]

    def stops(view: View, envelope: Envelope) -> bool:
        before, held[0] = held[0], holds(Moment(view, envelope[1], False))
        return held[0] and not before

    return stops


def _proposals(view: View) -> Iterator[str]:
    partitions = sorted(name for name in view["partitions"] if not name.startswith("__"))
    groups = sorted({group["group"] for group in view["groups"].values()})
    for noun, verb in _EVENTS:
        yield f"{noun} {verb}"
    for partition in partitions:
        for noun, verb in _EVENTS:
            if noun in _OF_PARTITIONS:
                yield f"{noun} {partition} {verb}"
    yield from (f"group {group} rebalances" for group in groups)
    for name, replica in sorted(view["replicas"].items()):
        if replica["partition"] in partitions:
            for quantity in _COMPARED:
                end = replica["log_end_offset" if quantity == "log_end_offset" else "high_watermark"]
                yield f"{quantity}({name}) >= {end + 1}"
