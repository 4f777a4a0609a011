"""What can be wrong with a link or a disk, and what can be done to a single message.

A link loses messages for good here, and lets them overtake one another: what TCP would make of that is waiting, and
that is what a cut or latency are for. The sender hears nothing and runs into its own timeout, as with a connection
that hangs.
"""

import msgspec

from broker_core.texts import Text

DISK_MESSAGES = frozenset({("Produce", "request"), ("Fetch", "response")})
"""(api, kind) of the messages that make the receiver append to a log."""


class LinkFault(msgspec.Struct, frozen=True):
    """One direction of a link: how much longer each message takes, and how many of a hundred are lost or overtaken."""

    latency_us: int = 0
    loss_percent: int = 0
    reorder_percent: int = 0

    @property
    def is_none(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.latency_us or self.loss_percent or self.reorder_percent)


class MessageError(ValueError):
    """Something that cannot be done to a message in flight."""

    def __init__(self, message: Text) -> None:
        super().__init__(message)
        self.message = message
