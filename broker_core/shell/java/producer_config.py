"""Configurations of producers, validated as in the Java client (`org.apache.kafka.clients.producer.ProducerConfig`)."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from broker_core.clients.producer.producer_settings import ProducerSettings
from broker_core.config_defs.keys import INT_MAX, ConfigException, ConfigKey, ConfigType, table
from broker_core.eras import Era
from broker_core.records.compression import CompressionType
from broker_core.shell.java.client_configs import check_connection
from broker_core.shell.java.errors import JavaException

ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
MAX_IN_FLIGHT_OF_IDEMPOTENT = 5
_STRING, _INT, _LONG, _BOOLEAN = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.BOOLEAN

PRODUCER_CONFIGS = table(
    ConfigKey("buffer.memory", _LONG, 33_554_432, 0),
    ConfigKey("retries", _INT, INT_MAX, 0, INT_MAX),
    ConfigKey("acks", _STRING, "all", words=tuple(ACKS)),
    ConfigKey("compression.type", _STRING, "none", words=("none", "gzip", "snappy", "lz4", "zstd")),
    ConfigKey("compression.gzip.level", _INT, -1, 1, 9, also=-1),
    ConfigKey("compression.lz4.level", _INT, 9, 1, 17),
    ConfigKey("compression.zstd.level", _INT, 3, -131_072, 22),
    ConfigKey("batch.size", _INT, 16_384, 0),
    ConfigKey("linger.ms", _LONG, 0, 0),
    ConfigKey("delivery.timeout.ms", _INT, 120_000, 0),
    ConfigKey("send.buffer.bytes", _INT, 131_072, -1),
    ConfigKey("receive.buffer.bytes", _INT, 32_768, -1),
    ConfigKey("max.request.size", _INT, 1_048_576, 0),
    ConfigKey("retry.backoff.ms", _LONG, 100, 0),
    ConfigKey("retry.backoff.max.ms", _LONG, 1_000, 0),
    ConfigKey("max.block.ms", _LONG, 60_000, 0),
    ConfigKey("request.timeout.ms", _INT, 30_000, 0),
    ConfigKey("metadata.max.age.ms", _LONG, 300_000, 0),
    ConfigKey("max.in.flight.requests.per.connection", _INT, 5, 1),
    ConfigKey("enable.idempotence", _BOOLEAN, True),
    ConfigKey("transaction.timeout.ms", _INT, 60_000),
    ConfigKey("metadata.max.idle.ms", _LONG, 300_000, 5_000),
    ConfigKey("partitioner.adaptive.partitioning.enable", _BOOLEAN, True),
    ConfigKey("partitioner.availability.timeout.ms", _LONG, 0, 0),
    ConfigKey("partitioner.ignore.keys", _BOOLEAN, False),
)
"""The validated configurations, in the order in which the client reads them."""

BUILT_IN = "built-in"
PARTITIONER_CLASSES = {
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "round-robin",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": "sticky",
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "sticky",
}
"""Values of `partitioner.class`, and the lab's partitioners for them."""

_NAMES = (
    "retries",
    "request.timeout.ms",
    "delivery.timeout.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "batch.size",
    "linger.ms",
    "buffer.memory",
    "max.request.size",
    "metadata.max.age.ms",
    "transaction.timeout.ms",
)


def settings_of(given: Mapping[str, str]) -> ProducerSettings:
    """The settings of a producer with these configurations. Raises ConfigException with the client's message.

    As in the client a producer is idempotent unless that was disabled, or conflicts with another configuration.
    """
    values: dict[str, Any] = {
        name: key.parse(given[name]) if name in given else key.default for name, key in PRODUCER_CONFIGS.items()
    }
    check_connection(given)
    acks = ACKS[values["acks"]]
    idempotent = values["enable.idempotence"] and not _obstacle(
        values, acks, is_requested="enable.idempotence" in given
    )
    transactional_id = given.get("transactional.id")
    if transactional_id == "":
        raise ConfigException.of("transactional.id", "", "String must be non-empty")
    if transactional_id is not None and not idempotent:
        raise ConfigException("Cannot set a transactional.id without also enabling idempotence.")
    partitioner = given.get("partitioner.class")
    if partitioner is not None and partitioner not in PARTITIONER_CLASSES:
        raise ConfigException.of("partitioner.class", partitioner, f"Class {partitioner} could not be found.")
    codec = values["compression.type"]
    return ProducerSettings(
        partitioner=PARTITIONER_CLASSES.get(partitioner or "", BUILT_IN),
        acks=acks,
        enable_idempotence=idempotent,
        transactional_id=transactional_id or "",
        compression=CompressionType[codec.upper()],
        compression_level=values.get(f"compression.{codec}.level"),
        **{name.replace(".", "_"): values[name] for name in _NAMES},
    )


def fitted(settings: ProducerSettings, era: Era, *, is_given: bool) -> ProducerSettings:
    """The same with enough time for a delivery: linger.ms may be the only setting given. `is_said`: whether
    delivery.timeout.ms was given, so that Kafka rejects it (`KafkaProducer.configureDeliveryTimeout`); where the era's
    producer has no such setting it is the lab's own, and any value is accepted. Raises JavaException.
    """
    if is_given and not era.producer.has_delivery_timeout:
        return settings
    min_ms = min(settings.linger_ms + settings.request_timeout_ms, INT_MAX)
    if is_given and settings.delivery_timeout_ms < min_ms:
        why = "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"
        raise not_constructed(f"org.apache.kafka.common.config.ConfigException: {why}")
    return structs.replace(settings, delivery_timeout_ms=max(settings.delivery_timeout_ms, min_ms))


def not_constructed(*causes: str) -> JavaException:
    """The exception of the producer's constructor when one of its parts cannot be created."""
    return JavaException("org.apache.kafka.common.KafkaException", "Failed to construct kafka producer", causes)


def _obstacle(values: Mapping[str, Any], acks: int, *, is_requested: bool) -> bool:
    """Whether the other configurations conflict with idempotence. Raises ConfigException if it was requested."""
    complaint = ""
    if values["retries"] == 0:
        complaint = "Must set retries to non-zero when using the idempotent producer."
    elif acks != -1:
        complaint = (
            "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
        )
    elif values["max.in.flight.requests.per.connection"] > MAX_IN_FLIGHT_OF_IDEMPOTENT:
        complaint = "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
    if complaint and is_requested:
        raise ConfigException(complaint)
    return bool(complaint)


def era_settings(settings: ProducerSettings, era: Era) -> ProducerSettings:
    """The same without idempotence if the era's brokers do not support it (KIP-98), and with the era's partitioner
    unless another one was requested.
    """
    idempotent = settings.enable_idempotence and era.transactions.are_supported
    partitioner = era.producer.partitioner if settings.partitioner == BUILT_IN else settings.partitioner
    return structs.replace(
        settings,
        enable_idempotence=idempotent,
        partitioner=partitioner,
        names_disconnected_nodes=era.producer.names_disconnected_nodes,
    )


def with_era_defaults(given: Mapping[str, str], era: Era) -> dict[str, str]:
    """The same, with the era's defaults of acks and idempotence (KIP-679). Idempotence without acks has always implied
    acks=all (`KafkaProducer.configureAcks`).
    """
    requests_ids = "transactional.id" in given or given.get("enable.idempotence", "").lower() == "true"
    defaults = {} if requests_ids else {"acks": era.producer.acks}
    if not era.producer.idempotent and not requests_ids:
        defaults["enable.idempotence"] = "false"
    return {**defaults, **given}
