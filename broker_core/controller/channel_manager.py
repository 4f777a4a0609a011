"""The controller's connections to the brokers (`ControllerChannelManager`).

Each broker has a queue with one request in flight, so requests arrive in the order of the decisions. A request on a
closed connection is sent again until the broker responds or is no longer registered.
"""

from collections import deque
from typing import NamedTuple

import msgspec

from broker_core.controller.host import ControllerHost
from broker_core.sim.handlers import TimerHandler, Unpacked

RESEND_TIMER = "controller.resend"
RESEND_BACKOFF_US = 100_000


class ControlRequest(NamedTuple):
    """A request to a broker: LeaderAndIsr, UpdateMetadata or StopReplica."""

    api: str
    body: object


class Channel(msgspec.Struct):
    """The queue of a registered broker. The first request is the one in flight."""

    number: int
    queue: deque[ControlRequest] = msgspec.field(default_factory=deque)


class ControllerChannelManager:
    """See the module."""

    def __init__(self, host: ControllerHost) -> None:
        self.host = host
        self.channels: dict[int, Channel] = {}
        self._channels_opened = 0

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its timers is due."""
        return {RESEND_TIMER: Unpacked(self._resend)}

    def add_broker(self, broker_id: int) -> None:
        """Opens an empty queue for a broker that has registered."""
        self._channels_opened += 1
        self.channels[broker_id] = Channel(self._channels_opened)

    def remove_broker(self, broker_id: int) -> None:
        """Closes the channel of a failed broker, and drops its queue."""
        self.channels.pop(broker_id, None)

    def shut_down(self) -> None:
        """Closes all channels when the controller resigns."""
        self.channels.clear()

    def send(self, broker_id: int, api: str, body: object) -> None:
        """Queues a request. Nothing happens if the broker is offline."""
        channel = self.channels.get(broker_id)
        if channel is not None:
            channel.queue.append(ControlRequest(api, body))
            if len(channel.queue) == 1:
                self._send_first(broker_id, channel)

    def on_response(self, broker_id: int, number: int) -> ControlRequest | None:
        """Handles a response and sends the next request. Returns the answered one, None for a closed channel."""
        channel = self._channel(broker_id, number)
        if channel is None:
            return None
        answered = channel.queue.popleft()
        if channel.queue:
            self._send_first(broker_id, channel)
        return answered

    def on_disconnect(self, broker_id: int, number: int) -> None:
        """Schedules the request again after the connection closed before a response."""
        if self._channel(broker_id, number) is not None:
            self.host.timer(RESEND_BACKOFF_US, RESEND_TIMER, (broker_id, number))

    def _resend(self, broker_id: int, number: int) -> None:
        """Sends the request again after the back-off."""
        channel = self._channel(broker_id, number)
        if channel is not None:
            self._send_first(broker_id, channel)

    def _channel(self, broker_id: int, number: int) -> Channel | None:
        """The channel of that number, None if it was closed.

        Requests of a closed channel may end at any time: a lost one times out when the next channel is long in use.
        """
        channel = self.channels.get(broker_id)
        return channel if channel is not None and channel.number == number else None

    def _send_first(self, broker_id: int, channel: Channel) -> None:
        request = channel.queue[0]
        self.host.send_to_broker(broker_id, channel.number, request.api, request.body)
