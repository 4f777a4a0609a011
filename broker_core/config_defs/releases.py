"""The configurations that brokers of older releases have: which of 3.9's they lack, which they have besides, and other
limits.
"""

from collections.abc import Collection, Mapping

import msgspec
from msgspec.structs import replace

from broker_core.config_defs.broker import BROKER_CONFIGS
from broker_core.config_defs.dynamic import DYNAMIC_CONFIGS, QUOTA_CONFIGS, without_listener
from broker_core.config_defs.keys import LONG_MAX, ConfigKey, ConfigType, table
from broker_core.config_defs.topics import TOPIC_CONFIGS


class ReleaseConfigs(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of a release: the configurations of topics and of brokers by name, and the names of those of brokers
    that can change while they run.
    """

    topics: Mapping[str, ConfigKey]
    brokers: Mapping[str, ConfigKey]
    dynamic: frozenset[str] = DYNAMIC_CONFIGS

    def broker_key(self, name: str) -> ConfigKey | None:
        """The definition of a broker configuration, perhaps of one listener; None for a name that is unknown."""
        base = without_listener(name)
        return self.brokers.get(base) or QUOTA_CONFIGS.get(base)

    def knows(self, name: str) -> bool:
        """Whether a name of a broker configuration has its meaning in this release, or means nothing."""
        base = without_listener(name)
        return base in self.brokers or base not in BROKER_CONFIGS


_FAMILIES_SINCE_2_5 = (
    "broker.heartbeat.",
    "broker.session.",
    "compression.gzip.",
    "compression.lz4.",
    "compression.zstd.",
    "controller.listener.",
    "controller.quorum.",
    "controller.quota.",
    "group.consumer.",
    "group.coordinator.",
    "group.share.",
    "log.local.",
    "metadata.",
    "producer.id.",
    "remote.",
    "sasl.login.connect.",
    "sasl.login.read.",
    "sasl.login.retry.",
    "sasl.oauthbearer.",
    "socket.connection.",
    "ssl.allow.",
    "unstable.",
    "zookeeper.metadata.",
    "zookeeper.ssl.",
)
_SINCE_2_5 = (
    "auto.include.jmx.reporter",
    "delegation.token.secret.key",
    "early.start.listeners",
    "eligible.leader.replicas.enable",
    "fetch.max.bytes",
    "initial.broker.registration.timeout.ms",
    "log.dir.failure.timeout.ms",
    "log.initial.task.delay.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "max.connection.creation.rate",
    "max.request.partition.size.limit",
    "node.id",
    "process.roles",
    "sasl.mechanism.controller.protocol",
    "sasl.server.max.receive.size",
    "server.max.startup.time.ms",
    "socket.listen.backlog.size",
    "ssl.engine.factory.class",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
    "telemetry.max.bytes",
    "transaction.partition.verification.enable",
    "unclean.leader.election.interval.ms",
    "zookeeper.clientCnxnSocket",
)
_SINCE_2_0 = (
    "client.quota.callback.class",
    "connection.failed.authentication.delay.ms",
    "connections.max.reauth.ms",
    "control.plane.listener.name",
    "group.max.size",
    "kafka.metrics.polling.interval.secs",
    "kafka.metrics.reporters",
    "log.cleaner.max.compaction.lag.ms",
    "log.message.downconversion.enable",
    "max.connections",
    "replica.selector.class",
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.server.callback.handler.class",
    "security.providers",
    "ssl.principal.mapping.rules",
)
_UNTIL_2_8 = table(
    ConfigKey("advertised.host.name", ConfigType.STRING, None),
    ConfigKey("advertised.port", ConfigType.INT, None),
    ConfigKey("host.name", ConfigType.STRING, ""),
    ConfigKey("port", ConfigType.INT, 9092),
    ConfigKey("quota.consumer.default", ConfigType.LONG, LONG_MAX, 1),
    ConfigKey("quota.producer.default", ConfigType.LONG, LONG_MAX, 1),
    ConfigKey("zookeeper.sync.time.ms", ConfigType.INT, 2000),
)
_TOPICS_SINCE_2_5 = (
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "local.retention.bytes",
    "local.retention.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
)
_TOPICS_SINCE_2_0 = ("max.compaction.lag.ms", "message.downconversion.enable")
_CODECS_1_1 = ("uncompressed", "snappy", "lz4", "gzip", "producer")


def _without(keys: Mapping[str, ConfigKey], absent: Collection[str]) -> dict[str, ConfigKey]:
    return {name: key for name, key in keys.items() if name not in absent}


def _changed(keys: Mapping[str, ConfigKey], *changed: ConfigKey) -> dict[str, ConfigKey]:
    return {**keys, **{key.name: key for key in changed}}


def _up_to(version: str, key: ConfigKey) -> ConfigKey:
    return replace(key, newest_version=version)


def _brokers_2_4() -> dict[str, ConfigKey]:
    here = {name: key for name, key in BROKER_CONFIGS.items() if not name.startswith(_FAMILIES_SINCE_2_5)}
    return _changed(
        {**_without(here, _SINCE_2_5), **_UNTIL_2_8},
        ConfigKey("log.cleaner.min.cleanable.ratio", ConfigType.DOUBLE, 0.5),
        ConfigKey("compression.type", ConfigType.STRING, "producer"),
        _up_to("2.4-IV1", BROKER_CONFIGS["inter.broker.protocol.version"]),
        _up_to("2.4-IV1", BROKER_CONFIGS["log.message.format.version"]),
    )


def _topics_2_4() -> dict[str, ConfigKey]:
    here = _without(TOPIC_CONFIGS, _TOPICS_SINCE_2_5)
    return _changed(here, _up_to("2.4-IV1", TOPIC_CONFIGS["message.format.version"]))


CONFIGS_3_9 = ReleaseConfigs(topics=TOPIC_CONFIGS, brokers=BROKER_CONFIGS)
CONFIGS_2_4 = ReleaseConfigs(topics=_topics_2_4(), brokers=_brokers_2_4())
CONFIGS_1_1 = ReleaseConfigs(
    topics=_changed(
        _without(CONFIGS_2_4.topics, _TOPICS_SINCE_2_0),
        replace(TOPIC_CONFIGS["retention.ms"], minimum=None),
        replace(TOPIC_CONFIGS["segment.ms"], minimum=0),
        replace(TOPIC_CONFIGS["compression.type"], words=_CODECS_1_1),
        _up_to("1.1-IV0", TOPIC_CONFIGS["message.format.version"]),
    ),
    brokers=_changed(
        _without(CONFIGS_2_4.brokers, _SINCE_2_0),
        _up_to("1.1-IV0", BROKER_CONFIGS["inter.broker.protocol.version"]),
        _up_to("1.1-IV0", BROKER_CONFIGS["log.message.format.version"]),
    ),
    dynamic=DYNAMIC_CONFIGS - {"max.connections.per.ip", "max.connections.per.ip.overrides"},
)
