"""Configurations of consumers, validated as in the Java client (`org.apache.kafka.clients.consumer.ConsumerConfig`)."""

from collections.abc import Mapping
from typing import Any

from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.config_defs.keys import ConfigException, ConfigKey, ConfigType, table
from broker_core.controller.topic_names import why_no_topic_name
from broker_core.groups.assignors import ASSIGNORS
from broker_core.shell.java.client_configs import NO_REPORTER, check_connection
from broker_core.shell.java.errors import ERRORS_PACKAGE, JavaException

_STRING, _INT, _LONG, _BOOLEAN, _LIST = (
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.BOOLEAN,
    ConfigType.LIST,
)
_PACKAGE = "org.apache.kafka.clients.consumer."
_ASSIGNOR_CLASSES = {
    _PACKAGE + "RangeAssignor": "range",
    _PACKAGE + "RoundRobinAssignor": "roundrobin",
    _PACKAGE + "StickyAssignor": "sticky",
    _PACKAGE + "CooperativeStickyAssignor": "cooperative-sticky",
}
_DEFAULT_ASSIGNORS = (_PACKAGE + "RangeAssignor", _PACKAGE + "CooperativeStickyAssignor")

NO_ASSIGNOR = (
    "Must configure at least one partition assigner class name to partition.assignment.strategy configuration property"
)
_PROTOCOLS = ("CONSUMER", "CLASSIC")


class NotConstructed(Exception):
    """A consumer cannot be created with its configurations: `causes` as `class: message`, outermost first."""

    def __init__(self, *causes: str) -> None:
        super().__init__(causes[0])
        self.causes = causes


CONSUMER_CONFIGS = table(
    ConfigKey("session.timeout.ms", _INT, 45_000),
    ConfigKey("heartbeat.interval.ms", _INT, 3_000),
    ConfigKey("partition.assignment.strategy", _LIST, _DEFAULT_ASSIGNORS),
    ConfigKey("metadata.max.age.ms", _LONG, 300_000, 0),
    ConfigKey("enable.auto.commit", _BOOLEAN, True),
    ConfigKey("auto.commit.interval.ms", _INT, 5_000, 0),
    ConfigKey("client.rack", _STRING, ""),
    ConfigKey("max.partition.fetch.bytes", _INT, 1_048_576, 0),
    ConfigKey("fetch.min.bytes", _INT, 1, 0),
    ConfigKey("fetch.max.bytes", _INT, 52_428_800, 0),
    ConfigKey("fetch.max.wait.ms", _INT, 500, 0),
    ConfigKey("retry.backoff.ms", _LONG, 100, 0),
    ConfigKey("auto.offset.reset", _STRING, "latest", words=("latest", "earliest", "none")),
    ConfigKey("check.crcs", _BOOLEAN, True),
    ConfigKey("request.timeout.ms", _INT, 30_000, 0),
    ConfigKey("default.api.timeout.ms", _INT, 60_000, 0),
    ConfigKey("max.poll.records", _INT, 500, 1),
    ConfigKey("max.poll.interval.ms", _INT, 300_000, 1),
    ConfigKey("exclude.internal.topics", _BOOLEAN, True),
    ConfigKey("isolation.level", _STRING, "read_uncommitted", words=("read_committed", "read_uncommitted")),
    ConfigKey("allow.auto.create.topics", _BOOLEAN, True),
)
"""The validated configurations, in the order in which the client reads them."""

_NAMES = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "metadata.max.age.ms",
    "enable.auto.commit",
    "auto.commit.interval.ms",
    "max.partition.fetch.bytes",
    "fetch.min.bytes",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "auto.offset.reset",
    "request.timeout.ms",
    "max.poll.records",
    "max.poll.interval.ms",
    "exclude.internal.topics",
    "isolation.level",
    "client.rack",
    "allow.auto.create.topics",
)


def settings_of(given: Mapping[str, str], topics: tuple[str, ...], *, is_pattern: bool) -> GroupConsumerSettings:
    """The settings of a member of the group `group.id` with these configurations. Raises ConfigException with the
    client's message, NotConstructed, or JavaException.
    """
    values: dict[str, Any] = {
        name: key.parse(given[name]) if name in given else key.default for name, key in CONSUMER_CONFIGS.items()
    }
    check_connection(given)
    if given.get("group.instance.id") == "":
        raise ConfigException.of("group.instance.id", "", "String must be non-empty")
    protocol = given.get("group.protocol", "classic")
    if protocol.upper() not in _PROTOCOLS:
        why = f"String must be one of (case insensitive): {', '.join(_PROTOCOLS)}"
        raise ConfigException.of("group.protocol", protocol, why)
    if protocol.upper() == "CLASSIC" and given.get("group.remote.assignor"):
        raise ConfigException("group.remote.assignor cannot be set when group.protocol=CLASSIC")
    why_no_id = why_no_topic_name(given.get("group.instance.id", "valid"))
    if why_no_id is not None:
        raise NotConstructed(
            f"{ERRORS_PACKAGE}InvalidConfigurationException: Group instance id is invalid: {why_no_id}"
        )
    interceptor = next(filter(None, given.get("interceptor.classes", "").split(",")), None)
    if interceptor is not None:
        raise NotConstructed(
            f"org.apache.kafka.common.KafkaException: Class {interceptor.strip()} cannot be found",
            f"java.lang.ClassNotFoundException: {interceptor.strip()}",
        )
    if given.get("metric.reporters"):
        why = "Failed to construct Kafka consumer"
        raise JavaException("org.apache.kafka.common.KafkaException", why, (NO_REPORTER,))
    if not values["partition.assignment.strategy"]:
        raise JavaException("java.lang.IllegalStateException", NO_ASSIGNOR)
    if values["heartbeat.interval.ms"] >= values["session.timeout.ms"]:
        raise NotConstructed("java.lang.IllegalArgumentException: Heartbeat must be set lower than the session timeout")
    return GroupConsumerSettings(
        group_id=given["group.id"],
        topics=topics,
        is_pattern=is_pattern,
        assignors=tuple(_assignor(name) for name in values["partition.assignment.strategy"]),
        group_instance_id=given.get("group.instance.id"),
        **{name.replace(".", "_"): values[name] for name in _NAMES},
    )


def _assignor(class_name: str) -> str:
    name = _ASSIGNOR_CLASSES.get(class_name)
    if name is None or name not in ASSIGNORS:
        raise NotConstructed(
            f"org.apache.kafka.common.KafkaException: {class_name} ClassNotFoundException exception occurred",
            f"java.lang.ClassNotFoundException: {class_name}",
        )
    return name
