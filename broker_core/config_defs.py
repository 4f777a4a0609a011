"""Which configurations there are, of which type, with which defaults and limits, and what Kafka says of a bad value.

The tables are those of Kafka 3.9 (`LogConfig`, `KafkaConfig`, `ConfigDef`); so are the texts of the errors. Times are
in the unit that the name ends with, sizes in bytes. A topic takes what it has no value for from the broker, whose
names differ.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000

Value = bool | int | float | str | tuple[str, ...] | None


class ConfigException(ValueError):
    """A value cannot be taken. The message is Kafka's own."""

    @staticmethod
    def of(name: str, value: object, why: str) -> "ConfigException":
        """`Invalid value abc for configuration retention.ms: Not a number of type LONG`."""
        return ConfigException(f"Invalid value {_java(value)} for configuration {name}: {why}")


class ConfigType(StrEnum):
    """How a value is written."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"


_LIMITS = {ConfigType.SHORT: 2**15, ConfigType.INT: 2**31, ConfigType.LONG: 2**63}
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_THROTTLED_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")


class ConfigKey(msgspec.Struct, frozen=True):
    """One configuration: a row of Kafka's table."""

    name: str
    type: ConfigType
    default: Value
    minimum: int | None = None
    maximum: int | None = None
    words: tuple[str, ...] = ()
    also: int | None = None
    """One more value that is allowed although it lies outside of the limits."""
    throttled_replicas: bool = False

    def parse(self, text: str) -> Value:
        """The value of a text. Raises ConfigException for one of the wrong type or beyond the limits."""
        value = self._read(text)
        self._check(value)
        return value

    def _read(self, text: str) -> Value:
        trimmed = text.strip()
        if self.type is ConfigType.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise ConfigException.of(self.name, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        if self.type is ConfigType.LIST:
            return tuple(re.split(r"\s*,\s*", trimmed)) if trimmed else ()
        if self.type is ConfigType.STRING:
            return trimmed
        if self.type is ConfigType.DOUBLE:
            try:
                return float(trimmed)
            except ValueError:
                raise self._no_number(text) from None
        limit = _LIMITS[self.type]
        if not _WHOLE_NUMBER.fullmatch(trimmed) or not -limit <= int(trimmed) < limit:
            raise self._no_number(text)
        return int(trimmed)

    def _check(self, value: Value) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool) and value != self.also:
            if self.also is not None and not (self.minimum or 0) <= value <= (self.maximum or 0):
                why = f"Value must be between {self.minimum} and {self.maximum} or equal to {self.also}"
                raise ConfigException.of(self.name, value, why)
            if self.minimum is not None and value < self.minimum:
                raise ConfigException.of(self.name, value, f"Value must be at least {self.minimum}")
            if self.maximum is not None and value > self.maximum:
                raise ConfigException.of(self.name, value, f"Value must be no more than {self.maximum}")
        if self.words:
            for word in value if isinstance(value, tuple) else (value,):
                if word not in self.words:
                    raise ConfigException.of(self.name, word, "String must be one of: " + ", ".join(self.words))
        if self.throttled_replicas and isinstance(value, tuple) and not _names_replicas(value):
            why = (
                f"{self.name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )
            raise ConfigException.of(self.name, value, why)

    def _no_number(self, text: str) -> ConfigException:
        return ConfigException.of(self.name, text, f"Not a number of type {self.type}")


def _names_replicas(value: tuple[str, ...]) -> bool:
    return value == ("*",) or all(_THROTTLED_REPLICA.fullmatch(replica) for replica in value)


def _java(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(value) + "]"
    return str(value)


def _table(*keys: ConfigKey) -> Mapping[str, ConfigKey]:
    return {key.name: key for key in keys}


_B, _S, _I, _L, _D, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)
_POLICIES = ("compact", "delete")
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

TOPIC_CONFIGS = _table(
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
    ConfigKey("cleanup.policy", _LIST, ("delete",), words=_POLICIES),
    ConfigKey("unclean.leader.election.enable", _B, False),
    ConfigKey("min.insync.replicas", _I, 1, 1),
    ConfigKey("compression.type", _S, "producer", words=_CODECS),
    ConfigKey("compression.gzip.level", _I, -1, 1, 9, also=-1),
    ConfigKey("compression.lz4.level", _I, 9, 1, 17),
    ConfigKey("compression.zstd.level", _I, 3, -131_072, 22),
    ConfigKey("preallocate", _B, False),
    ConfigKey("message.format.version", _S, "3.0-IV1"),
    ConfigKey("message.timestamp.type", _S, "CreateTime", words=_TIMESTAMP_TYPES),
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

BROKER_CONFIGS = _table(
    ConfigKey("broker.id", _I, -1),
    ConfigKey("reserved.broker.max.id", _I, 1000, 0),
    ConfigKey("broker.rack", _S, None),
    ConfigKey("listeners", _S, "PLAINTEXT://:9092"),
    ConfigKey("advertised.listeners", _S, None),
    ConfigKey("zookeeper.connect", _S, None),
    ConfigKey("zookeeper.session.timeout.ms", _I, 18_000),
    ConfigKey("zookeeper.connection.timeout.ms", _I, None),
    ConfigKey("inter.broker.protocol.version", _S, "3.9-IV0"),
    ConfigKey("log.dir", _S, "/tmp/kafka-logs"),
    ConfigKey("log.dirs", _S, None),
    ConfigKey("num.partitions", _I, 1, 1),
    ConfigKey("default.replication.factor", _I, 1, 1),
    ConfigKey("auto.create.topics.enable", _B, True),
    ConfigKey("delete.topic.enable", _B, True),
    ConfigKey("min.insync.replicas", _I, 1, 1),
    ConfigKey("unclean.leader.election.enable", _B, False),
    ConfigKey("replica.lag.time.max.ms", _L, 30_000),
    ConfigKey("replica.fetch.wait.max.ms", _I, 500),
    ConfigKey("replica.fetch.min.bytes", _I, 1),
    ConfigKey("replica.fetch.max.bytes", _I, 1_048_576, 0),
    ConfigKey("replica.fetch.response.max.bytes", _I, 10_485_760, 0),
    ConfigKey("replica.fetch.backoff.ms", _I, 1000, 0),
    ConfigKey("replica.socket.timeout.ms", _I, 30_000),
    ConfigKey("num.replica.fetchers", _I, 1),
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", _L, 5000),
    ConfigKey("replica.selector.class", _S, None),
    ConfigKey("fetch.purgatory.purge.interval.requests", _I, 1000),
    ConfigKey("producer.purgatory.purge.interval.requests", _I, 1000),
    ConfigKey("auto.leader.rebalance.enable", _B, True),
    ConfigKey("leader.imbalance.check.interval.seconds", _L, 300, 1),
    ConfigKey("leader.imbalance.per.broker.percentage", _I, 10),
    ConfigKey("controlled.shutdown.enable", _B, True),
    ConfigKey("controlled.shutdown.max.retries", _I, 3),
    ConfigKey("controlled.shutdown.retry.backoff.ms", _L, 5000),
    ConfigKey("controller.socket.timeout.ms", _I, 30_000),
    ConfigKey("request.timeout.ms", _I, 30_000),
    ConfigKey("message.max.bytes", _I, 1_048_588, 0),
    ConfigKey("log.segment.bytes", _I, 1_073_741_824, 14),
    ConfigKey("log.roll.ms", _L, None),
    ConfigKey("log.roll.hours", _I, 168, 1),
    ConfigKey("log.roll.jitter.ms", _L, None),
    ConfigKey("log.roll.jitter.hours", _I, 0, 0),
    ConfigKey("log.index.interval.bytes", _I, 4096, 0),
    ConfigKey("log.index.size.max.bytes", _I, 10_485_760, 4),
    ConfigKey("log.preallocate", _B, False),
    ConfigKey("log.flush.interval.messages", _L, LONG_MAX, 1),
    ConfigKey("log.flush.interval.ms", _L, None),
    ConfigKey("log.flush.scheduler.interval.ms", _L, LONG_MAX),
    ConfigKey("log.flush.offset.checkpoint.interval.ms", _I, 60_000, 0),
    ConfigKey("log.flush.start.offset.checkpoint.interval.ms", _I, 60_000, 0),
    ConfigKey("log.initial.task.delay.ms", _L, 30_000, 0),
    ConfigKey("log.cleanup.policy", _LIST, ("delete",), words=_POLICIES),
    ConfigKey("log.retention.ms", _L, None),
    ConfigKey("log.retention.minutes", _I, None),
    ConfigKey("log.retention.hours", _I, 168),
    ConfigKey("log.retention.bytes", _L, -1),
    ConfigKey("log.retention.check.interval.ms", _L, 300_000, 1),
    ConfigKey("log.segment.delete.delay.ms", _L, 60_000, 0),
    ConfigKey("log.cleaner.enable", _B, True),
    ConfigKey("log.cleaner.threads", _I, 1, 0),
    ConfigKey("log.cleaner.dedupe.buffer.size", _L, 134_217_728),
    ConfigKey("log.cleaner.io.buffer.size", _I, 524_288, 0),
    ConfigKey("log.cleaner.io.buffer.load.factor", _D, 0.9),
    ConfigKey("log.cleaner.backoff.ms", _L, 15_000, 0),
    ConfigKey("log.cleaner.min.cleanable.ratio", _D, 0.5, 0, 1),
    ConfigKey("log.cleaner.min.compaction.lag.ms", _L, 0, 0),
    ConfigKey("log.cleaner.max.compaction.lag.ms", _L, LONG_MAX, 1),
    ConfigKey("log.cleaner.delete.retention.ms", _L, 86_400_000, 0),
    ConfigKey("log.message.timestamp.type", _S, "CreateTime", words=_TIMESTAMP_TYPES),
    ConfigKey("log.message.timestamp.before.max.ms", _L, LONG_MAX, 0),
    ConfigKey("log.message.timestamp.after.max.ms", _L, LONG_MAX, 0),
    ConfigKey("compression.type", _S, "producer", words=_CODECS),
    ConfigKey("num.recovery.threads.per.data.dir", _I, 1, 1),
    ConfigKey("offsets.topic.num.partitions", _I, 50, 1),
    ConfigKey("offsets.topic.replication.factor", ConfigType.SHORT, 3, 1),
    ConfigKey("offsets.topic.segment.bytes", _I, 104_857_600, 1),
    ConfigKey("offsets.retention.minutes", _I, 10_080, 1),
    ConfigKey("offsets.retention.check.interval.ms", _L, 600_000, 1),
    ConfigKey("offset.metadata.max.bytes", _I, 4096),
    ConfigKey("offsets.commit.required.acks", ConfigType.SHORT, -1),
    ConfigKey("offsets.commit.timeout.ms", _I, 5000, 1),
    ConfigKey("group.initial.rebalance.delay.ms", _I, 3000),
    ConfigKey("group.min.session.timeout.ms", _I, 6000),
    ConfigKey("group.max.session.timeout.ms", _I, 1_800_000),
    ConfigKey("group.max.size", _I, INT_MAX, 1),
    ConfigKey("transaction.state.log.num.partitions", _I, 50, 1),
    ConfigKey("transaction.state.log.replication.factor", ConfigType.SHORT, 3, 1),
    ConfigKey("transaction.state.log.min.isr", _I, 2, 1),
    ConfigKey("transaction.max.timeout.ms", _I, 900_000, 1),
    ConfigKey("transactional.id.expiration.ms", _I, 604_800_000, 1),
    ConfigKey("transaction.abort.timed.out.transaction.cleanup.interval.ms", _I, 10_000, 1),
    ConfigKey("transaction.partition.verification.enable", _B, True),
    ConfigKey("producer.id.expiration.ms", _I, 86_400_000, 1),
    ConfigKey("producer.id.expiration.check.interval.ms", _I, 600_000, 1),
    ConfigKey("num.network.threads", _I, 3, 1),
    ConfigKey("num.io.threads", _I, 8, 1),
    ConfigKey("queued.max.requests", _I, 500, 1),
    ConfigKey("socket.request.max.bytes", _I, 104_857_600, 1),
    ConfigKey("fetch.max.bytes", _I, 57_671_680, 1024),
    ConfigKey("eligible.leader.replicas.enable", _B, False),
)
"""What a broker may be started with, as far as the lab speaks of it."""

_SAME_NAME_WITH_LOG = (
    "segment.bytes",
    "retention.bytes",
    "index.interval.bytes",
    "cleanup.policy",
    "preallocate",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
)
_SYNONYMS: Mapping[str, tuple[tuple[str, int], ...]] = {
    **{name: ((f"log.{name}", 1),) for name in _SAME_NAME_WITH_LOG},
    **{name: ((name, 1),) for name in ("unclean.leader.election.enable", "min.insync.replicas", "compression.type")},
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
"""Topic configuration -> the broker's names for it, the first that is set counts, and what to multiply it by
(`ServerTopicConfigSynonyms`)."""


def topic_value(name: str, broker_configs: Mapping[str, str], overrides: Mapping[str, str]) -> Value:
    """The value that counts for a topic: its own, else the broker's, else the default. Raises ConfigException."""
    key = TOPIC_CONFIGS[name]
    if name in overrides:
        return key.parse(overrides[name])
    for synonym, factor in _SYNONYMS.get(name, ()):
        if synonym in broker_configs:
            value = BROKER_CONFIGS[synonym].parse(broker_configs[synonym])
            return value * factor if factor != 1 and isinstance(value, int) else value
    return key.default


def is_set_for(name: str, broker_configs: Mapping[str, str]) -> bool:
    """Whether the brokers were started with a value for this configuration of topics."""
    return any(synonym in broker_configs for synonym, _ in _SYNONYMS.get(name, ()))


def text_of(value: Value) -> str:
    """A value as Kafka's tools show it (`ConfigDef.convertToString`)."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def topic_values(broker_configs: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, Value]:
    """All configurations of a topic, in the order of the table. Raises ConfigException."""
    return {name: topic_value(name, broker_configs, overrides) for name in TOPIC_CONFIGS}


def validate_topic_configs(overrides: Mapping[str, str], broker_configs: Mapping[str, str] | None = None) -> None:
    """Checks the names and values that a topic shall have (`LogConfig.validate`). Raises ConfigException.

    Args:
        broker_configs: those of the broker that checks; None for a tool, which knows no broker.
    """
    for name in overrides:
        if name not in TOPIC_CONFIGS:
            raise ConfigException(f"Unknown topic config name: {name}")
    values = topic_values(broker_configs or {}, overrides)
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise ConfigException(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
    if broker_configs is not None:
        if values["remote.log.delete.on.disable"] or values["remote.log.copy.disable"]:
            raise ConfigException(
                "It is invalid to set `remote.log.delete.on.disable` or "
                "`remote.log.copy.disable` under Zookeeper's mode."
            )
        if values["remote.storage.enable"]:
            raise ConfigException(
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            )
