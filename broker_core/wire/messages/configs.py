"""Configurations and log directories."""

from typing import Literal, TypeAlias

import msgspec

from broker_core.errors import Errors

ResourceType = Literal["TOPIC", "BROKER", "BROKER_LOGGER"]
ConfigSource = Literal[
    "DYNAMIC_TOPIC_CONFIG",
    "DYNAMIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER_CONFIG",
    "DEFAULT_CONFIG",
    "DYNAMIC_BROKER_LOGGER_CONFIG",
]
"""The source of a value, in the order of precedence, and a logger's level (`ConfigEntry.ConfigSource`)."""


class ConfigResource(msgspec.Struct, frozen=True, gc=False):
    """A resource with a configuration. An empty name of a BROKER means all brokers of the cluster."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type}, name='{self.name}')"


class DescribeConfigsRequest(msgspec.Struct, frozen=True, gc=False):
    resources: tuple[ConfigResource, ...]


class ConfigSynonym(msgspec.Struct, frozen=True, gc=False):
    """One of the sources of a value. `value` None = it is not returned."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(msgspec.Struct, frozen=True, gc=False):
    """An effective configuration. `value` None = there is none, or it is sensitive."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


class DescribeConfigsResult(msgspec.Struct, frozen=True, gc=False):
    resource: ConfigResource
    error: Errors = Errors.NONE
    message: str = ""
    configs: tuple[ConfigEntry, ...] = ()


class DescribeConfigsResponse(msgspec.Struct, frozen=True, gc=False):
    results: tuple[DescribeConfigsResult, ...]


Operation: TypeAlias = Literal["SET", "DELETE", "APPEND", "SUBTRACT", "UNKNOWN"]


class AlterConfigOp(msgspec.Struct, frozen=True, gc=False):
    """One change of an incremental alteration (KIP-339). APPEND and SUBTRACT are for lists."""

    name: str
    value: str | None
    operation: Operation = "SET"


class IncrementalAlterConfigsRequest(msgspec.Struct, frozen=True, gc=False):
    resources: tuple[tuple[ConfigResource, tuple[AlterConfigOp, ...]], ...]
    validate_only: bool = False


class AlterConfigsRequest(msgspec.Struct, frozen=True, gc=False):
    """The complete configuration of a resource: what is not listed is reset to its default."""

    resources: tuple[tuple[ConfigResource, tuple[tuple[str, str], ...]], ...]
    validate_only: bool = False


class AlterConfigsResult(msgspec.Struct, frozen=True, gc=False):
    resource: ConfigResource
    error: Errors = Errors.NONE
    message: str | None = None


class AlterConfigsResponse(msgspec.Struct, frozen=True, gc=False):
    """The response to both AlterConfigs and IncrementalAlterConfigs."""

    results: tuple[AlterConfigsResult, ...]


class DescribeLogDirsRequest(msgspec.Struct, frozen=True, gc=False):
    """`topics` None = all."""

    topics: tuple[str, ...] | None = None


class LogDirReplica(msgspec.Struct, frozen=True, gc=False):
    """A replica in a log directory. `offset_lag`: how far the log ends below the high watermark."""

    partition: str
    size: int
    offset_lag: int
    is_future: bool = False


class LogDirDescription(msgspec.Struct, frozen=True, gc=False):
    log_dir: str
    replicas: tuple[LogDirReplica, ...]
    error: Errors = Errors.NONE
    total_bytes: int = -1
    usable_bytes: int = -1


class DescribeLogDirsResponse(msgspec.Struct, frozen=True, gc=False):
    log_dirs: tuple[LogDirDescription, ...]
