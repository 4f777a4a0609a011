"""Faults of links and disks, and errors of operations on single messages.

A faulty link drops or reorders messages. TCP would turn both into delays, for which there are cuts and latency. The
sender of a dropped message is not notified and runs into its own timeout, as with a connection that hangs.
"""

import msgspec

from broker_core.texts import Text

DISK_MESSAGES = frozenset({("Produce", "request"), ("Fetch", "response")})
"""(api, kind) of the messages that make the receiver append to a log."""


class LinkFault(msgspec.Struct, frozen=True):
    """One direction of a link: the extra latency of each message, and the percentages of lost and reordered ones."""

    latency_us: int = 0
    loss_percent: int = 0
    reorder_percent: int = 0

    @property
    def is_none(self) -> bool:
        """Whether there is no fault."""
        return not (self.latency_us or self.loss_percent or self.reorder_percent)


class MessageInFlightError(ValueError):
    """Something that cannot be done to a message in flight."""

    def __init__(self, message: Text) -> None:
        super().__init__(message)
        self.message = message
