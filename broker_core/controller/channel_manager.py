"""The controller's connections to the brokers (`ControllerChannelManager`).

Each broker has a queue, and one request of it is under way: what the controller decided first arrives first. A
request that meets a closed connection is sent again until the broker answers or is no longer registered.
"""

from collections import deque
from typing import NamedTuple

import msgspec

from broker_core.controller.host import ControllerHost

RESEND_TIMER = "controller.resend"
RESEND_BACKOFF_US = 100_000


class ControlRequest(NamedTuple):
    """A request to a broker: LeaderAndIsr, UpdateMetadata or StopReplica."""

    api: str
    body: object


class Channel(msgspec.Struct):
    """The queue of a broker. The first request is the one under way while `sent`."""

    number: int
    queue: deque[ControlRequest] = msgspec.field(default_factory=deque)
    sent: bool = False


class ControllerChannelManager:
    """See the module."""

    def __init__(self, host: ControllerHost) -> None:
        self.host = host
        self.channels: dict[int, Channel] = {}
        # Requests of closed channels that are still to be answered. Their answers come before those of later requests.
        self.abandoned: dict[int, int] = {}
        self._channels_opened = 0

    def add_broker(self, broker_id: int) -> None:
        """Opens an empty queue for a broker that has registered."""
        self._channels_opened += 1
        self.channels[broker_id] = Channel(self._channels_opened)

    def remove_broker(self, broker_id: int) -> None:
        """The broker is gone: what waits for it is void."""
        channel = self.channels.pop(broker_id, None)
        if channel is not None and channel.sent:
            self.abandoned[broker_id] = self.abandoned.get(broker_id, 0) + 1

    def shut_down(self) -> None:
        """The controller resigns."""
        for broker_id in list(self.channels):
            self.remove_broker(broker_id)

    def send(self, broker_id: int, api: str, body: object) -> None:
        """Queues a request. Nothing happens if the broker is offline."""
        channel = self.channels.get(broker_id)
        if channel is not None:
            channel.queue.append(ControlRequest(api, body))
            if len(channel.queue) == 1:
                self._send_first(broker_id, channel)

    def on_response(self, broker_id: int) -> ControlRequest | None:
        """The broker has answered; sends the next request. Returns the one answered, None if nobody cares any more."""
        if self._was_abandoned(broker_id):
            return None
        channel = self.channels[broker_id]
        channel.sent = False
        answered = channel.queue.popleft()
        if channel.queue:
            self._send_first(broker_id, channel)
        return answered

    def on_disconnect(self, broker_id: int) -> None:
        """The connection closed before an answer: the same request again, after a while."""
        if not self._was_abandoned(broker_id):
            channel = self.channels[broker_id]
            channel.sent = False
            self.host.timer(RESEND_BACKOFF_US, RESEND_TIMER, (broker_id, channel.number))

    def on_resend(self, broker_id: int, number: int) -> None:
        """The while is over. `number` tells a channel from its successors."""
        channel = self.channels.get(broker_id)
        if channel is not None and channel.number == number:
            self._send_first(broker_id, channel)

    def _send_first(self, broker_id: int, channel: Channel) -> None:
        channel.sent = True
        request = channel.queue[0]
        self.host.send_to_broker(broker_id, request.api, request.body)

    def _was_abandoned(self, broker_id: int) -> bool:
        left = self.abandoned.get(broker_id, 0)
        if left > 1:
            self.abandoned[broker_id] = left - 1
        elif left == 1:
            del self.abandoned[broker_id]
        return left > 0
