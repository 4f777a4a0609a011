"""What the network layer and the broker's request router exchange besides requests and responses."""

import msgspec

from broker_core.errors import Errors

CLIENT_PREFIX = "tcp-"
"""The prefix of the node names of connections."""


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """The body of a request whose response the connection already holds, and of that response on its way back."""


class Failed(msgspec.Struct, frozen=True, gc=False):
    """The answer to a request that could not be handled."""

    error: Errors
