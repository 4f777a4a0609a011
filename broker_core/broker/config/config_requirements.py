"""Requirements on the combination of a broker's values, beyond the limits of each (`KafkaConfig.validateValues`)."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import NamedTuple

from broker_core.config_defs import BROKER_CONFIGS, ConfigException, Value
from broker_core.config_defs.java_text import parse_integer
from broker_core.era_configs import ConfigBehaviour
from broker_core.errors import Errors, KafkaException

_MEBIBYTE = 1024 * 1024
_HOUR_MS = 3_600_000
_PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
"""The only principal builder of a broker that can serialise principals for other brokers."""
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_DEFAULT_LISTENERS = "PLAINTEXT://:9092"
_PROTOCOL_MAP = "listener.security.protocol.map"
_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", re.ASCII)


class _Endpoint(NamedTuple):
    name: str
    host: str
    port: int


def check_requirements(settings: Mapping[str, str], era: ConfigBehaviour) -> None:
    """Raises ConfigException for the first requirement that is not met, in Kafka's order, and KafkaException where the
    check itself fails in Kafka.
    """
    values = _Values(settings)
    overrides = _map_of("max.connections.per.ip.overrides", settings.get("max.connections.per.ip.overrides", ""))
    for count in overrides.values():
        if parse_integer(count) is None:
            raise ConfigException(f'For input string: "{count}"')
    _require(values.span_ms("log.roll") >= 1, f"log.roll.ms must be {era.at_least} 1")
    _require(values.span_ms("log.roll.jitter") >= 0, f"log.roll.jitter.ms must be {era.at_least} 0")
    # Negative means unlimited, whatever the number.
    _require(values.number("log.retention.ms") != 0, f"log.retention.ms must be unlimited (-1) or, {era.at_least} 1")
    threads = values.number("log.cleaner.threads")
    if threads == 0 and era.cleaner_needs_threads:
        raise ConfigException("/ by zero")
    if threads == 0:
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, "/ by zero")
    buffer_size = values.number("log.cleaner.dedupe.buffer.size")
    assert buffer_size is not None and threads is not None
    _require(
        buffer_size // threads > _MEBIBYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    codecs = era.codecs_in_requirements
    codec = settings.get("compression.type", "producer").strip()
    _require(
        not codecs or codec in codecs,
        f"compression.type : {codec} is not valid. Valid options are {','.join(codecs)}",
    )
    _check_listeners(settings, era)
    _require(
        values.number("max.connections.per.ip") != 0 or bool(overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    _require(
        not era.checks_principal_builder
        or settings.get("principal.builder.class", _PRINCIPAL_BUILDER).strip() == _PRINCIPAL_BUILDER,
        "principal.builder.class must implement KafkaPrincipalSerde",
    )


class _Values:
    """Parsed settings; unset ones have their default."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def number(self, name: str) -> int | None:
        """The value of a number; None if neither it nor a default is set."""
        key = BROKER_CONFIGS[name]
        value: Value = key.parse(self._settings[name]) if name in self._settings else key.default
        assert value is None or isinstance(value, int)
        return value

    def span_ms(self, name: str) -> int:
        """A setting in milliseconds or, if that is not set, in hours."""
        span_ms = self.number(f"{name}.ms")
        return (self.number(f"{name}.hours") or 0) * _HOUR_MS if span_ms is None else span_ms


def _require(is_met: bool, why: str) -> None:
    if not is_met:
        raise ConfigException(f"requirement failed: {why}")


def _map_of(name: str, text: str) -> dict[str, str]:
    """`key:value,key:value` (`Csv.parseCsvMap`); keys may hold colons."""
    pairs: dict[str, str] = {}
    if not text.strip():
        return pairs
    parts = re.split(r"\s*,\s*", text.strip())
    while parts and not parts[-1]:
        parts.pop()
    for part in parts:
        key, colon, value = part.rpartition(":")
        if not colon:
            fault = f"begin 0, end -1, length {len(part)}"
            raise ConfigException(f"Error parsing configuration property '{name}': {fault}")
        pairs[key.strip()] = value.strip()
    return pairs


def protocols_of(settings: Mapping[str, str]) -> dict[str, str]:
    """The security protocol of each listener name."""
    default = ",".join(f"{each}:{each}" for each in _PROTOCOLS)
    protocols = {}
    for name, protocol in _map_of(_PROTOCOL_MAP, settings.get(_PROTOCOL_MAP, default)).items():
        if protocol not in _PROTOCOLS:
            raise ConfigException(f"Invalid security protocol `{protocol}` defined in {_PROTOCOL_MAP}")
        protocols[name.upper()] = protocol
    return protocols


def listener_names(settings: Mapping[str, str]) -> list[str]:
    """The names of the listeners."""
    return [each.name for each in _endpoints(settings.get("listeners", _DEFAULT_LISTENERS), protocols_of(settings))]


def _check_listeners(settings: Mapping[str, str], era: ConfigBehaviour) -> None:
    protocols = protocols_of(settings)
    listeners = settings.get("listeners", _DEFAULT_LISTENERS)
    listed = settings.get("advertised.listeners")
    if listed is None:
        advertised = _endpoints(listeners, protocols)
    else:
        advertised = _endpoints(listed, protocols, advertised=True)
    own = [each.name for each in _endpoints(listeners, protocols)]
    names = [each.name for each in advertised]
    _require(bool(names) or not era.requires_listeners, "There must be at least one broker advertised listener.")
    between_brokers = settings.get("inter.broker.listener.name", "PLAINTEXT").upper()
    _require(
        between_brokers in names,
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
        f"The valid options based on currently configured listeners are {','.join(names)}",
    )
    _require(
        set(names) <= set(own),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
        f"Found {','.join(names)}. The valid options based on the current configuration are {','.join(own)}",
    )
    _require(
        all(each.host != "0.0.0.0" for each in advertised),
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
    )


def _endpoints(listeners: str, protocols: Mapping[str, str], *, advertised: bool = False) -> list[_Endpoint]:
    """Addresses in the format of `listeners`; advertised ones may share a port."""
    found = []
    for text in filter(None, (each.strip() for each in listeners.split(","))):
        read = _ENDPOINT.fullmatch(text)
        if read is None:
            raise _no_listeners(listeners, f"Unable to parse {text} to a broker endpoint")
        name = read[1].upper()
        if name not in protocols:
            raise _no_listeners(listeners, f"No security protocol defined for listener {name}")
        port = parse_integer(read[3])
        if port is None:
            raise _no_listeners(listeners, f'For input string: "{read[3]}"')
        found.append(_Endpoint(name, read[2], port))
    names = {each.name for each in found}
    _require(len(names) == len(found), f"Each listener must have a different name, listeners: {listeners}")
    if not advertised:
        _check_ports(found, listeners)
    return found


def _check_ports(endpoints: list[_Endpoint], listeners: str) -> None:
    """Each listener has its own port, or shares it with one of the other IP version (KIP-797)."""
    ports = [each.port for each in endpoints if each.port]
    for port in dict.fromkeys(each for each in ports if ports.count(each) > 1):
        versions = [_ip_version(each.host) for each in endpoints if each.port == port]
        named = versions.count(None)
        own_port = "Each listener must have a different port"
        _require(named < 2, f"{own_port}, listeners: {listeners}")
        where = f"listeners: {listeners}, port: {port}"
        if len(versions) - named != 2:
            unless = "unless exactly one listener has an IPv4 address and the other IPv6 address"
            raise ConfigException(f"{own_port} {unless}, {where}")
        both = f"If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, {where}"
        _require({4, 6} <= set(versions), both)
        if named:
            raise ConfigException(both)


def _ip_version(host: str) -> int | None:
    """4 or 6; None for a name."""
    try:
        return ip_address(host).version
    except ValueError:
        return None


def _no_listeners(listeners: str, why: str) -> ConfigException:
    return ConfigException(f"Error creating broker listeners from '{listeners}': {why}")
