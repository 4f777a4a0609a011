"""The causal chain of a debrief: from the event that mattered back along its causes to the command behind it."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from broker_core.events import Envelope
from broker_core.events.console import CommandReceived
from broker_core.events.rpc import RpcDelivered, RpcHeld, RpcRescheduled, RpcSent

MAX_LINES = 12
MAX_CAUSES = 2000
CHUNK = 1000
_MESSAGES = (RpcDelivered, RpcHeld, RpcRescheduled)

Events = Callable[[int, int], Iterable[Envelope]]
"""Returns the events from one number to another, both included, in order; numbers that it does not know are left out.
"""


class Part(NamedTuple):
    """A part of a chain, newest first. `gap`: the place of the event before which others are left out; 0 for none."""

    events: list[Envelope]
    gap: int = 0


def chain_of(events: Events, seq: int, via: int = 0) -> list[Part]:
    """The event `seq` and its causes, newest first, in one part or two.

    A part ends with a command of a learner, or where an event has no cause: a periodic check. Then the second part
    follows, from the event `via` on, which is what the check has found; 0 for none. A message that was held arrives
    because of the command that released it. The arrival of a message adds nothing to its sending, and is left out. The
    middle of a chain of more than MAX_LINES is left out.
    """
    first = list(_causes(events, seq))
    parts = [first]
    if via and not _is_command(first):
        parts.append(list(_causes(events, via)))
    most = MAX_LINES // len(parts)
    return [Part(part) if len(part) <= most else _shortened(part, most) for part in parts]


def _is_command(chain: list[Envelope]) -> bool:
    return bool(chain) and isinstance(chain[-1][4], CommandReceived)


def _causes(events: Events, seq: int) -> Iterator[Envelope]:
    is_first = True
    for _ in range(MAX_CAUSES):
        found = _event(events, seq)
        if found is None:
            return
        if is_first or not isinstance(found[4], _MESSAGES):
            yield found
            is_first = False
        if isinstance(found[4], CommandReceived):
            return
        seq = _released_by(events, found) or found[3]


def _event(events: Events, seq: int) -> Envelope | None:
    return next(iter(events(seq, seq)), None) if seq > 0 else None


def _released_by(events: Events, arrival: Envelope) -> int:
    """The cause of the release of a message that arrived later than it was due; 0 otherwise."""
    sent = _event(events, arrival[3]) if isinstance(arrival[4], RpcDelivered) else None
    if sent is None or not isinstance(sent[4], RpcSent) or arrival[1] <= sent[4].due_us:
        return 0
    # The release is close to the arrival; the send may be far back.
    for last in range(arrival[0] - 1, sent[0], -CHUNK):
        for found in reversed(list(events(max(sent[0], last - CHUNK) + 1, last))):
            if isinstance(found[4], RpcRescheduled) and found[4].rpc == sent[4].rpc:
                return found[3]
    return 0


def _shortened(chain: list[Envelope], most: int) -> Part:
    """Leaves out sent messages as far as necessary, then other events, each time those in the middle: what is close to
    the ends explains more.
    """
    out = _middle(
        [place for place in range(1, len(chain) - 1) if isinstance(chain[place][4], RpcSent)], len(chain) - most
    )
    others = [place for place in range(1, len(chain) - 1) if place not in out]
    out |= _middle(others, len(chain) - most - len(out))
    kept = [place for place in range(len(chain)) if place not in out]
    widest = max(range(1, len(kept)), key=lambda at: kept[at] - kept[at - 1])
    return Part([chain[place] for place in kept], widest)


def _middle(places: list[int], count: int) -> set[int]:
    start = max(0, (len(places) - count) // 2)
    return set(places[start : start + max(0, count)])
