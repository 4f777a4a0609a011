"""Which of a broker's configurations can change while it runs (KIP-226; `DynamicBrokerConfig`)."""

import re

from broker_core.config_defs.broker import BROKER_CONFIGS
from broker_core.config_defs.keys import LONG_MAX, ConfigKey, ConfigType, table

QUOTA_CONFIGS = table(
    ConfigKey("leader.replication.throttled.rate", ConfigType.LONG, LONG_MAX, 0),
    ConfigKey("follower.replication.throttled.rate", ConfigType.LONG, LONG_MAX, 0),
    ConfigKey("replica.alter.log.dirs.io.max.bytes.per.second", ConfigType.LONG, LONG_MAX, 0),
)
"""What can be set while a broker runs, but not at its start: bytes per second (`QuotaConfigs`)."""

CLUSTER_WIDE_CONFIGS = frozenset(
    {
        "background.threads",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.delete.retention.ms",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleaner.threads",
        "log.cleanup.policy",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "log.message.downconversion.enable",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.difference.max.ms",
        "log.message.timestamp.type",
        "log.preallocate",
        "log.retention.bytes",
        "log.retention.ms",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "message.max.bytes",
        "metric.reporters",
        "min.insync.replicas",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "producer.id.expiration.ms",
        "remote.fetch.max.wait.ms",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.fetch.max.bytes.per.second",
        "transaction.partition.verification.enable",
        "unclean.leader.election.enable",
    }
)
"""What can change while brokers run, for one broker or for all."""

PER_BROKER_CONFIGS = frozenset(
    {
        "advertised.listeners",
        "listener.security.protocol.map",
        "listeners",
        "principal.builder.class",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.key.password",
        "ssl.keymanager.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""What can change while a broker runs, for that broker only."""

DYNAMIC_CONFIGS = CLUSTER_WIDE_CONFIGS | PER_BROKER_CONFIGS

_LOG_ROLL = ("log.roll.ms", "log.roll.hours")
_LOG_ROLL_JITTER = ("log.roll.jitter.ms", "log.roll.jitter.hours")
_LOG_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_LOG_FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_SYNONYMS = {name: group for group in (_LOG_ROLL, _LOG_ROLL_JITTER, _LOG_RETENTION) for name in group}


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names under which a value may be set, in order of precedence (`DynamicBrokerConfig.brokerConfigSynonyms`)."""
    return _LOG_FLUSH if name == _LOG_FLUSH[0] else _SYNONYMS.get(name, (name,))


_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]*\.")
_CLUSTER_WIDE_FOR_LISTENERS = frozenset({"max.connections", "max.connection.creation.rate", "num.network.threads"})


def without_listener(name: str) -> str:
    """The configuration that a name with a listener is a value of: of `listener.name.x.ssl.keystore.type` the last
    three words.
    """
    prefix = _LISTENER_PREFIX.match(name)
    return name[prefix.end() :] if prefix is not None else name


def is_of_one_broker(name: str) -> bool:
    """Whether it cannot be set for all brokers (`DynamicBrokerConfig.perBrokerConfigs`)."""
    base = without_listener(name)
    return name in PER_BROKER_CONFIGS or (base != name and base not in _CLUSTER_WIDE_FOR_LISTENERS)


def broker_key(name: str) -> ConfigKey | None:
    """The definition of a broker configuration, perhaps of one listener; None for a name that Kafka does not know."""
    base = without_listener(name)
    return BROKER_CONFIGS.get(base) or QUOTA_CONFIGS.get(base)
