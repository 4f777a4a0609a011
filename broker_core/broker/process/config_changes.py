"""How a broker is notified of new configurations, and applies them (`ZkConfigManager`, `ConfigHandler`).

A write of a configuration below /config is followed by a child of /config/changes that names it. Every broker watches
for these, reads the configuration and applies it.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from broker_core.broker.admin.scram_admin import SCRAM_MECHANISMS
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.config.dynamic_config import DynamicBrokerConfig
from broker_core.broker.config.entity_configs import CLIENT_ENTITIES, read_entity
from broker_core.broker.replicas.partition_factory import min_insync_replicas
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.config_defs import LONG_MAX, Value
from broker_core.config_defs.java_text import parse_integer
from broker_core.controller.controller import Controller
from broker_core.eras import Era
from broker_core.events.control import ConfigurationApplied
from broker_core.events.envelope import Event
from broker_core.partitions import topic_of
from broker_core.replication.partition import Partition
from broker_core.replication.quota import ReplicationQuotas
from broker_core.sim.zookeeper import ZkClient
from broker_core.zk.store import NoNode
from broker_core.zk.znodes import ConfigChangeZnode, ConfigZnode, EntityType, ZnodeDataError

EXPIRATION_MS = 15 * 60 * 1000
UNCLEAN = "unclean.leader.election.enable"


class ConfigHost(Protocol):
    """The broker that is configured."""

    broker_id: int
    name: str
    config: BrokerConfig
    controller: Controller
    replicas: ReplicaManager
    era: Era

    @property
    def zk(self) -> ZkClient: ...

    @property
    def wall_ms(self) -> int: ...

    @property
    def partitions(self) -> dict[str, Partition]: ...

    @property
    def quotas(self) -> ReplicationQuotas: ...

    def emit(self, event: Event) -> int: ...


class ConfigChanges:
    """Applies configurations: see the module. `dynamic` is the broker's configuration with its dynamic changes."""

    def __init__(self, host: ConfigHost) -> None:
        self.host = host
        self.dynamic = DynamicBrokerConfig(host.config, host.era.configs)
        self._last_executed = -1
        # Path of a notification -> when this broker first saw it (ms): by its own clock, since the znode's creation
        # time differs between two runs of the same history.
        self._seen_ms: dict[str, int] = {}

    def load(self) -> None:
        """Loads the broker's configuration from ZooKeeper at startup."""
        self.dynamic.update(defaults=read_entity(self.host.zk, "brokers", ConfigZnode.DEFAULT_ENTITY))
        self.dynamic.update(own=read_entity(self.host.zk, "brokers", str(self.host.broker_id)))
        self._use()

    def listen(self) -> None:
        """Watches for changes from now on. Earlier notifications are ignored: everything is read at startup."""
        numbers = (_number(path) for path in self._notifications())
        self._last_executed = max([self._last_executed, *(number for number in numbers if number is not None)])

    def on_change(self) -> None:
        """Handles changed children of /config/changes."""
        now_ms = self.host.wall_ms
        paths = self._notifications()
        for path in paths:
            number = _number(path)
            if number is None:
                # Kafka fails here: notifications after such a name are never processed.
                return
            if number > self._last_executed:
                self._execute(path)
                self._last_executed = number
        self._purge(paths, now_ms)

    def _notifications(self) -> list[str]:
        """The paths in the order of their names; watches for the next one."""
        parent = ConfigChangeZnode.PARENT
        try:
            paths = sorted(f"{parent}/{name}" for name in self.host.zk.children(parent, watch=True))
        except NoNode:
            return []
        now_ms = self.host.wall_ms
        for path in paths:
            self._seen_ms.setdefault(path, now_ms)
        return paths

    def _purge(self, paths: list[str], now_ms: int) -> None:
        for path in paths:
            if now_ms - self._seen_ms[path] > EXPIRATION_MS:
                # Another broker may have deleted it already.
                with suppress(NoNode):
                    self.host.zk.delete(path)
                del self._seen_ms[path]

    def _execute(self, path: str) -> None:
        try:
            data, _ = self.host.zk.get(path)
            names_topics = self.host.era.zookeeper.config_changes == "topic names" and data.startswith(b'"')
            change = ConfigChangeZnode.decode_topic(data) if names_topics else ConfigChangeZnode.decode(path, data)
        except (NoNode, ZnodeDataError):
            return
        kind, _, name = change.entity_path.partition("/")
        if kind == "topics":
            self._topic_changed(name)
        elif kind == "brokers":
            self._brokers_changed(name)
        for of_clients in CLIENT_ENTITIES:
            if kind == of_clients:
                self._clients_changed(of_clients, name)

    # what changes

    def _topic_changed(self, topic: str) -> None:
        """`TopicConfigHandler.processConfigChanges`."""
        overrides = read_entity(self.host.zk, "topics", topic)
        self._applied(f"topics/{topic}", overrides)
        self.host.quotas.throttle(topic, self._configure_logs(topic), self.host.broker_id)
        if overrides.get(UNCLEAN, "").strip().lower() == "true":
            self.host.controller.unclean_election_enabled(topic)

    def _brokers_changed(self, name: str) -> None:
        """`BrokerConfigHandler.processConfigChanges`, and what depends on a broker's configuration."""
        host = self.host
        overrides = read_entity(self.host.zk, "brokers", name)
        allowed_before = host.config.unclean_leader_election_enable
        if name == ConfigZnode.DEFAULT_ENTITY:
            self.dynamic.update(defaults=overrides)
        elif name == str(host.broker_id):
            self.dynamic.update(own=overrides)
        else:
            return
        self._applied(f"brokers/{name}", overrides)
        self._use()
        for topic in sorted({topic_of(partition) for partition in host.partitions}):
            self._configure_logs(topic)
        if host.config.unclean_leader_election_enable and not allowed_before:
            host.controller.unclean_election_enabled()

    def _clients_changed(self, kind: EntityType, name: str) -> None:
        """Quotas, which the lab does not enforce, and credentials, whose values stay hidden as in a broker's log."""
        configs = read_entity(self.host.zk, kind, name)
        shown = {key: "[hidden]" if key in SCRAM_MECHANISMS.values() else text for key, text in configs.items()}
        self._applied(f"{kind}/{name}", shown)

    def _use(self) -> None:
        host = self.host
        host.config = self.dynamic.current
        host.quotas.leader.bytes_per_second = self._rate("leader.replication.throttled.rate")
        host.quotas.follower.bytes_per_second = self._rate("follower.replication.throttled.rate")

    def _rate(self, name: str) -> int:
        value = self.dynamic.own.get(name) or self.dynamic.defaults.get(name)
        rate = parse_integer(value.strip(), 64) if value else None
        return LONG_MAX if rate is None else rate

    def _configure_logs(self, topic: str) -> Mapping[str, Value]:
        """Applies the new configuration to a topic's open logs: a segment that exceeds it rolls at the next append.
        Returns the configuration.
        """
        factory = self.host.replicas.factory
        configs = factory.topic_values(topic)
        config = factory.log_config(configs)
        for name, partition in self.host.partitions.items():
            if topic_of(name) == topic:
                partition.log.config = config
                partition.min_insync_replicas = min_insync_replicas(configs)
        return configs

    def _applied(self, entity: str, overrides: dict[str, str]) -> None:
        self.host.emit(
            ConfigurationApplied(broker=self.host.name, entity=entity, configs=tuple(sorted(overrides.items())))
        )


def _number(path: str) -> int | None:
    """The number at the end of a notification's name; None if there is none."""
    return parse_integer(path[len(ConfigChangeZnode.SEQUENCE_PATH) :], 64)
