"""The definition of a configuration: its type, default and limits, and Kafka's messages for invalid values
(`ConfigDef`).
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from broker_core.config_defs.java_text import java_double, parse_double, parse_integer

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

RELEASES = (
    "0.8.0",
    "0.8.1",
    "0.8.2",
    "0.9.0",
    "0.10.0",
    "0.10.0-IV0",
    "0.10.0-IV1",
    "0.10.1",
    "0.10.1-IV0",
    "0.10.1-IV1",
    "0.10.1-IV2",
    "0.10.2",
    "0.10.2-IV0",
    "0.11.0",
    "0.11.0-IV0",
    "0.11.0-IV1",
    "0.11.0-IV2",
    "1.0",
    "1.0-IV0",
    "1.1",
    "1.1-IV0",
    "2.0",
    "2.0-IV0",
    "2.0-IV1",
    "2.1",
    "2.1-IV0",
    "2.1-IV1",
    "2.1-IV2",
    "2.2",
    "2.2-IV0",
    "2.2-IV1",
    "2.3",
    "2.3-IV0",
    "2.3-IV1",
    "2.4",
    "2.4-IV0",
    "2.4-IV1",
    "2.5",
    "2.5-IV0",
    "2.6",
    "2.6-IV0",
    "2.7",
    "2.7-IV0",
    "2.7-IV1",
    "2.7-IV2",
    "2.8",
    "2.8-IV0",
    "2.8-IV1",
    "3.0",
    "3.0-IV0",
    "3.0-IV1",
    "3.1",
    "3.1-IV0",
    "3.2",
    "3.2-IV0",
    "3.3",
    "3.3-IV0",
    "3.3-IV1",
    "3.3-IV2",
    "3.3-IV3",
    "3.4",
    "3.4-IV0",
    "3.5",
    "3.5-IV0",
    "3.5-IV1",
    "3.5-IV2",
    "3.6",
    "3.6-IV0",
    "3.6-IV1",
    "3.6-IV2",
    "3.7",
    "3.7-IV0",
    "3.7-IV1",
    "3.7-IV2",
    "3.7-IV3",
    "3.7-IV4",
    "3.8",
    "3.8-IV0",
    "3.9",
    "3.9-IV0",
    "4.0",
    "4.0-IV0",
    "4.0-IV1",
)
"""The versions of Kafka and of its inter-broker protocol that 3.9 knows, in order (`MetadataVersion`)."""

Value = bool | int | float | str | tuple[str, ...] | None


class ConfigException(ValueError):
    """An invalid value. The message is Kafka's own."""

    @staticmethod
    def of(name: str, value: object, why: str = "") -> "ConfigException":
        """`Invalid value abc for configuration retention.ms: Not a number of type LONG`."""
        return ConfigException(f"Invalid value {_java(value)} for configuration {name}{why and f': {why}'}")


class InvalidConfigurationException(ConfigException):
    """An invalid name or combination of values. Kafka has a separate error for it."""


class ConfigType(StrEnum):
    """The type of a value."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_THROTTLED_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")


class ConfigKey(msgspec.Struct, frozen=True):
    """One configuration: a row of Kafka's table."""

    name: str
    type: ConfigType
    default: Value
    minimum: int | None = None
    maximum: float | None = None
    words: tuple[str, ...] = ()
    also: int | None = None
    """An additional valid value outside of the limits."""
    throttled_replicas: bool = False
    is_version: bool = False
    """The value is a version of Kafka."""
    newest_version: str = ""
    """The newest valid one of an older release."""
    internal: bool = False
    """Internal: not shown to administrators."""

    def parse(self, text: str) -> Value:
        """Parses a text. Raises ConfigException for a value of the wrong type or outside of the limits."""
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
        if self.type in (ConfigType.STRING, ConfigType.CLASS, ConfigType.PASSWORD):
            return trimmed
        is_double = self.type is ConfigType.DOUBLE
        number = parse_double(trimmed) if is_double else parse_integer(trimmed, _BITS[self.type])
        if number is None:
            raise ConfigException.of(self.name, text, f"Not a number of type {self.type}")
        return number

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
        if self.is_version:
            self._check_version(str(value))
        if self.throttled_replicas and isinstance(value, tuple) and not _names_replicas(value):
            why = (
                f"{self.name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )
            raise ConfigException.of(self.name, value, why)

    def _check_version(self, version: str) -> None:
        known = RELEASES[: RELEASES.index(self.newest_version) + 1] if self.newest_version else RELEASES
        if _release(version) not in known:
            shown = f"`{version}`" if self.newest_version else version
            raise ConfigException.of(self.name, version, f"Version {shown} is not a valid version")


def _release(version: str) -> str:
    """The release of a version: 2.8 for 2.8.1; 2.8-IV1 is its own release."""
    parts = version.split(".")
    return ".".join(parts[: 3 if version.startswith("0.") else 2])


def _names_replicas(value: tuple[str, ...]) -> bool:
    return value == ("*",) or all(_THROTTLED_REPLICA.fullmatch(replica) for replica in value)


def _java(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(value) + "]"
    return java_double(value) if isinstance(value, float) else str(value)


def table(*keys: ConfigKey) -> Mapping[str, ConfigKey]:
    """Keys by name, in this order."""
    return {key.name: key for key in keys}


def text_of(value: Value) -> str:
    """A value as Kafka's tools show it (`ConfigDef.convertToString`)."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return java_double(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


POLICIES = ("compact", "delete")
CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
