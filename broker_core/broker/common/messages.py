"""What the network layer and the broker's request router exchange, besides the requests and responses themselves."""

import msgspec

from broker_core.errors import Errors

CLIENT_PREFIX = "tcp-"
"""The names of connections, as nodes, begin with it."""


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """The body of a request whose response the connection already holds, and of that response on its way back."""


class Failed(msgspec.Struct, frozen=True, gc=False):
    """The answer to a request that could not be handled."""

    error: Errors
