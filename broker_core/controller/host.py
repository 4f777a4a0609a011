"""The broker interface that a controller needs."""

from collections.abc import Mapping
from typing import Protocol

from broker_core.eras import Era
from broker_core.events.envelope import Event
from broker_core.sim.rng import RandomStream
from broker_core.sim.zookeeper import ZkClient


class ControllerConfig(Protocol):
    """The broker's settings that its controller uses, with `_` for `.`."""

    @property
    def num_partitions(self) -> int: ...

    @property
    def default_replication_factor(self) -> int: ...

    @property
    def auto_leader_rebalance_enable(self) -> bool: ...

    @property
    def leader_imbalance_check_interval_seconds(self) -> int: ...

    @property
    def leader_imbalance_per_broker_percentage(self) -> int: ...

    @property
    def delete_topic_enable(self) -> bool: ...

    @property
    def settings(self) -> Mapping[str, str]:
        """The configured values, by Kafka's names: the defaults of topics."""
        ...


class ControllerHost(Protocol):
    """The broker, as used by its controller."""

    @property
    def broker_id(self) -> int: ...

    @property
    def name(self) -> str:
        """The broker's node, such as "b1"."""
        ...

    @property
    def now_us(self) -> int: ...

    @property
    def wall_ms(self) -> int:
        """Calendar time, for the timestamps in znodes."""
        ...

    @property
    def zk(self) -> ZkClient:
        """The current session; another one after an expiry."""
        ...

    @property
    def era(self) -> Era: ...

    @property
    def config(self) -> ControllerConfig: ...

    @property
    def stream(self) -> RandomStream:
        """Random numbers for assignments and topic ids."""
        ...

    def emit(self, event: Event) -> int: ...

    def knows_topic(self, topic: str) -> bool:
        """Whether the broker's metadata contains a topic."""
        ...

    def send_to_broker(self, broker_id: int, channel: int, api: str, body: object) -> None:
        """Sends a request. Exactly one of `Controller.on_response` and `Controller.on_disconnect` follows, with the
        number of the channel, unless this broker dies.
        """
        ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int:
        """Calls `Controller.timers[name](data)` after a delay."""
        ...

    def controller_changed(self, broker_id: int, controller_epoch: int) -> None:
        """Reports the current controller, -1 for none. The epoch is 0 if it is another broker's and not known here."""
        ...
