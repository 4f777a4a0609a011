"""The causal chain of a debrief: from the event that mattered back along its causes to the command behind it."""

from collections.abc import Callable

from broker_core.events import Envelope
from broker_core.events.console import CommandReceived
from broker_core.events.rpc import RpcDelivered, RpcHeld, RpcRescheduled, RpcSent

MAX_LINES = 12
MAX_CAUSES = 2000
_MESSAGES = (RpcDelivered, RpcHeld, RpcRescheduled)


def chain_of(event: Callable[[int], Envelope | None], seq: int) -> list[Envelope]:
    """The event `seq` and what led to it, newest first, at most MAX_LINES.

    `event` gives the event of a number, None where there is none. The chain ends with the command of a learner, or
    where an event has no cause. The arrival of a message says no more than that it was sent, and is left out; of a
    longer chain the middle is.
    """
    chain: list[Envelope] = []
    for _ in range(MAX_CAUSES):
        found = event(seq) if seq > 0 else None
        if found is None:
            break
        if not isinstance(found[4], _MESSAGES) or not chain:
            chain.append(found)
        if isinstance(found[4], CommandReceived):
            break
        seq = found[3]
    return chain if len(chain) <= MAX_LINES else _shortened(chain)


def _shortened(chain: list[Envelope]) -> list[Envelope]:
    """Without messages that were sent between the ends, as far as that is needed; then without the middle."""
    first, *middle, last = chain
    surplus = len(chain) - MAX_LINES
    kept = []
    for found in middle:
        if surplus and isinstance(found[4], RpcSent):
            surplus -= 1
        else:
            kept.append(found)
    if surplus:
        half = (MAX_LINES - 2) // 2
        kept = [*kept[:half], *kept[len(kept) - (MAX_LINES - 2 - half) :]]
    return [first, *kept, last]
