"""Which configurations a topic may have, and where values that it does not set come from.

The table and the texts of the errors are those of Kafka 3.9 (`LogConfig`). Times are in the unit that the name ends
with, sizes in bytes. The broker's names differ.
"""

from collections.abc import Mapping

from broker_core.config_defs.broker import BROKER_CONFIGS
from broker_core.config_defs.java_text import hash_map_order
from broker_core.config_defs.keys import (
    CODECS,
    LONG_MAX,
    POLICIES,
    TIMESTAMP_TYPES,
    ConfigException,
    ConfigKey,
    ConfigType,
    InvalidConfigurationException,
    Value,
    table,
)

_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_B, _S, _I, _L, _D, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)

TOPIC_CONFIGS = table(
    ConfigKey("segment.bytes", _I, 1_073_741_824, 14),
    ConfigKey("segment.ms", _L, 604_800_000, 1),
    ConfigKey("segment.jitter.ms", _L, 0, 0),
    ConfigKey("segment.index.bytes", _I, 10_485_760, 4),
    ConfigKey("flush.messages", _L, LONG_MAX, 1),
    ConfigKey("flush.ms", _L, LONG_MAX, 0),
    ConfigKey("retention.bytes", _L, -1),
    ConfigKey("retention.ms", _L, 604_800_000, -1),
    ConfigKey("max.message.bytes", _I, 1_048_588, 0),
    ConfigKey("index.interval.bytes", _I, 4096, 0),
    ConfigKey("delete.retention.ms", _L, 86_400_000, 0),
    ConfigKey("min.compaction.lag.ms", _L, 0, 0),
    ConfigKey("max.compaction.lag.ms", _L, LONG_MAX, 1),
    ConfigKey("file.delete.delay.ms", _L, 60_000, 0),
    ConfigKey("min.cleanable.dirty.ratio", _D, 0.5, 0, 1),
    ConfigKey("cleanup.policy", _LIST, ("delete",), words=POLICIES),
    ConfigKey("unclean.leader.election.enable", _B, False),
    ConfigKey("min.insync.replicas", _I, 1, 1),
    ConfigKey("compression.type", _S, "producer", words=CODECS),
    ConfigKey("compression.gzip.level", _I, -1, 1, 9, also=-1),
    ConfigKey("compression.lz4.level", _I, 9, 1, 17),
    ConfigKey("compression.zstd.level", _I, 3, -131_072, 22),
    ConfigKey("preallocate", _B, False),
    ConfigKey("message.format.version", _S, "3.0-IV1", is_version=True),
    ConfigKey("message.timestamp.type", _S, "CreateTime", words=TIMESTAMP_TYPES),
    ConfigKey("message.timestamp.difference.max.ms", _L, LONG_MAX, 0),
    ConfigKey("message.timestamp.before.max.ms", _L, LONG_MAX, 0),
    ConfigKey("message.timestamp.after.max.ms", _L, LONG_MAX, 0),
    ConfigKey("leader.replication.throttled.replicas", _LIST, (), throttled_replicas=True),
    ConfigKey("follower.replication.throttled.replicas", _LIST, (), throttled_replicas=True),
    ConfigKey("message.downconversion.enable", _B, True),
    ConfigKey("remote.storage.enable", _B, False),
    ConfigKey("local.retention.ms", _L, -2, -2),
    ConfigKey("local.retention.bytes", _L, -2, -2),
    ConfigKey("remote.log.copy.disable", _B, False),
    ConfigKey("remote.log.delete.on.disable", _B, False),
)
"""What a topic may be created with or altered to, in the order in which Kafka checks."""

_SAME_NAME_WITH_LOG = (
    "local.retention.bytes",
    "local.retention.ms",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.difference.max.ms",
    "segment.bytes",
    "retention.bytes",
    "index.interval.bytes",
    "cleanup.policy",
    "preallocate",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
)
_SAME_NAME = (
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
)
_SYNONYMS: Mapping[str, tuple[tuple[str, int], ...]] = {
    **{name: ((f"log.{name}", 1),) for name in _SAME_NAME_WITH_LOG},
    **{name: ((name, 1),) for name in _SAME_NAME},
    "message.format.version": (("log.message.format.version", 1),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR_MS)),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "retention.ms": (("log.retention.ms", 1), ("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)),
    "max.message.bytes": (("message.max.bytes", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
}
"""Topic configuration -> the broker's names for it, of which the first that is set counts, and the factor to multiply
it by (`ServerTopicConfigSynonyms`).
"""


def topic_value(
    name: str,
    broker_configs: Mapping[str, str],
    overrides: Mapping[str, str],
    keys: Mapping[str, ConfigKey] = TOPIC_CONFIGS,
) -> Value:
    """The effective value for a topic: its own, else the broker's, else the default. `keys` is the table of the
    broker's release. Raises ConfigException.
    """
    key = keys.get(name) or TOPIC_CONFIGS[name]
    if name in overrides:
        return key.parse(overrides[name])
    for synonym, factor in _SYNONYMS.get(name, ()):
        if synonym in broker_configs:
            value = BROKER_CONFIGS[synonym].parse(broker_configs[synonym])
            return value * factor if factor != 1 and isinstance(value, int) else value
    return key.default


def broker_name(name: str) -> str | None:
    """The broker's first name for a topic configuration; None if there is none."""
    return next((synonym for synonym, _ in _SYNONYMS.get(name, ())), None)


def topic_values(
    broker_configs: Mapping[str, str], overrides: Mapping[str, str], keys: Mapping[str, ConfigKey] = TOPIC_CONFIGS
) -> dict[str, Value]:
    """All configurations of a topic, in the order of the table; those that the release of `keys` does not have are at
    their defaults. Raises ConfigException.
    """
    values = {name: topic_value(name, broker_configs, overrides, keys) for name in TOPIC_CONFIGS}
    protocol = broker_configs.get("inter.broker.protocol.version", "")
    if not protocol.startswith(("0.", "1.", "2.")):
        # Brokers with an inter-broker protocol of 3.0 or later support only one message format (KIP-724).
        values["message.format.version"] = TOPIC_CONFIGS["message.format.version"].default
    return values


def validate_topic_configs(
    overrides: Mapping[str, str],
    broker_configs: Mapping[str, str] | None = None,
    keys: Mapping[str, ConfigKey] = TOPIC_CONFIGS,
    unknown: str = "Unknown topic config name: {}",
) -> None:
    """Validates the configurations of a topic (`LogConfig.validate`). Raises ConfigException.

    Args:
        broker_configs: those of the broker that checks; None for a tool, which knows no broker.
        keys: the table of the broker's release.
        unknown: the message for a name that is not in it.
    """
    for name in hash_map_order(list(overrides)):
        if name not in keys:
            raise InvalidConfigurationException(unknown.format(name))
    values = topic_values(broker_configs or {}, overrides, keys)
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise InvalidConfigurationException(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
    if broker_configs is not None:
        if values["remote.log.delete.on.disable"] or values["remote.log.copy.disable"]:
            raise InvalidConfigurationException(
                "It is invalid to set `remote.log.delete.on.disable` or "
                "`remote.log.copy.disable` under Zookeeper's mode."
            )
        if values["remote.storage.enable"]:
            raise ConfigException(
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            )
