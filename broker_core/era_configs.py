"""How older releases describe and alter configurations (`AdminManager`), where that differs from 3.9."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from broker_core.config_defs.releases import CONFIGS_1_1, CONFIGS_2_4, CONFIGS_3_9, ReleaseConfigs
from broker_core.errors import Errors


class ConfigBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """DescribeConfigs, AlterConfigs and IncrementalAlterConfigs.

    Attributes:
        tables: the configurations of topics and brokers.
        describes_absent_topics: whether a topic that does not exist has the configuration of one without overrides
            (before 2.0), or is an error.
        described_without_error: the message of DescribeConfigs with success.
        describes_no_names: whether a list of no names means all settings (2.6), or none.
        names_defaults: whether version 0 of DescribeConfigs says which values are defaults (until 2.4).
        writable_synonyms: whether a broker's setting is shown as writable if a synonym of it is (before 2.0).
        refused_types: the types of resources with a name that have no configurations (1.1); others are UNKNOWN.
        describes_loggers: whether brokers' loggers are a type of resource (2.4).
        logger_levels: the levels of loggers, in the order in which messages list them.
        accepts_unnamed_loggers: whether a change of loggers with an empty name applies to the broker that receives it
            (until 2.4), or is an error.
        unexpected_logger_broker: the message for a change of the loggers of broker `{name}` at broker `{own}`.
        reads_negative_types: whether a negative type is unknown, or makes the request unreadable (before 2.0).
        names_unknown_types: whether messages have the name UNKNOWN of a type.
        resource_text: how messages show a resource.
        broker_called: what messages call a broker.
        received_broker: how they show the name of another broker.
        names_broker_resource: whether errors of a broker's settings name the resource.
        invalid_value: the error for a topic's configuration with an invalid value.
        names_repeated_settings: whether the message for a setting that is named twice says which one (2.4).
        refuses_repeated_names: whether AlterConfigs refuses a setting that is named twice, or the last one counts.
        fails_on_repetition: whether AlterConfigs fails on a resource that is named twice, or the last one counts.
        null_values: what becomes of AlterConfigs with a setting that is null: it is refused, the request is unreadable
            (2.4), or it fails. From 2.4 on the incremental one fails, or since 2.5 it is refused.
        changes_lists_as_set: whether APPEND and SUBTRACT start from the default of a list that is not set and leave no
            value twice (2.4.2), or fail and keep repetitions.
        explains_unknown_operations: whether a failure on an unknown operation has the text of its exception (2.4).
        checks_topic_path_first: whether an incremental change of a topic with an empty name fails on its path (2.4).
        at_least: how requirements on numbers are worded.
        requires_listeners: whether at least one advertised listener is required, or only the one between brokers.
        cleaner_needs_threads: whether 0 threads of the cleaner are an invalid setting, or the request fails.
        codecs_in_requirements: the valid compression types of a broker where they are a requirement (2.4), not the type
            of the setting.
        of_listeners: how the settings of listeners are shown (`Set` until 2.4).
        connections_limit: the value in the message for an invalid limit of connections (`$listenerMax` in 2.4).
        checks_principal_builder: whether the principal builder must serialise principals (2.8).
    """

    tables: ReleaseConfigs = CONFIGS_3_9
    describes_absent_topics: bool = False
    described_without_error: str | None = ""
    describes_no_names: bool = True
    names_defaults: bool = False
    writable_synonyms: bool = False
    refused_types: Mapping[int, str] = {}
    describes_loggers: bool = True
    logger_levels: tuple[str, ...] = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
    accepts_unnamed_loggers: bool = False
    # Kafka inserts its own id twice.
    unexpected_logger_broker: str = "Unexpected node id. Expected {own}, but received {own}"
    reads_negative_types: bool = True
    names_unknown_types: bool = False
    resource_text: str = "ConfigResource(type={type}, name='{name}')"
    broker_called: str = "Node"
    received_broker: str = "{name}"
    names_broker_resource: bool = False
    invalid_value: Errors = Errors.INVALID_CONFIG
    names_repeated_settings: bool = False
    refuses_repeated_names: bool = True
    fails_on_repetition: bool = True
    null_values: Literal["refused", "unreadable", "failing"] = "refused"
    changes_lists_as_set: bool = True
    explains_unknown_operations: bool = False
    checks_topic_path_first: bool = False
    at_least: str = "greater than or equal to"
    requires_listeners: bool = True
    cleaner_needs_threads: bool = True
    codecs_in_requirements: tuple[str, ...] = ()
    of_listeners: Literal["HashSet", "Set"] = "HashSet"
    connections_limit: str = "{limit}"
    checks_principal_builder: bool = True


CONFIG_CHANGES_2_4 = ConfigBehaviour(
    tables=CONFIGS_2_4,
    described_without_error=None,
    describes_no_names=False,
    names_defaults=True,
    names_unknown_types=True,
    logger_levels=("TRACE", "ERROR", "INFO", "FATAL", "DEBUG", "WARN"),
    accepts_unnamed_loggers=True,
    unexpected_logger_broker="Unexpected broker id, expected {own}, but received {name}",
    broker_called="Broker",
    names_broker_resource=True,
    invalid_value=Errors.INVALID_REQUEST,
    names_repeated_settings=True,
    refuses_repeated_names=False,
    fails_on_repetition=False,
    null_values="unreadable",
    changes_lists_as_set=False,
    explains_unknown_operations=True,
    checks_topic_path_first=True,
    at_least="equal or greater than",
    requires_listeners=False,
    cleaner_needs_threads=False,
    codecs_in_requirements=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    of_listeners="Set",
    connections_limit="$listenerMax",
    checks_principal_builder=False,
)
CONFIG_CHANGES_1_1 = replace(
    CONFIG_CHANGES_2_4,
    tables=CONFIGS_1_1,
    describes_absent_topics=True,
    writable_synonyms=True,
    resource_text="Resource(type={type}, name='{name}'}}",
    received_broker="Resource(type=BROKER, name='{name}'}}.name",
    refused_types={1: "ANY", 3: "GROUP"},
    describes_loggers=False,
    reads_negative_types=False,
    codecs_in_requirements=("uncompressed", "snappy", "lz4", "gzip", "producer"),
    null_values="failing",
)
