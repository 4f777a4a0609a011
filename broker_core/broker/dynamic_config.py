"""A broker's configuration while it runs (`kafka.server.DynamicBrokerConfig`, KIP-226).

What the broker was started with may be overridden in ZooKeeper, for all brokers (/config/brokers/<default>) and for
this one (/config/brokers/N). What stands there and cannot be taken is passed over, as Kafka does.
"""

import re
from collections.abc import Mapping

from broker_core.broker.config import BrokerConfig
from broker_core.config_defs import (
    BROKER_CONFIGS,
    DYNAMIC_CONFIGS,
    PER_BROKER_CONFIGS,
    ConfigException,
    ConfigType,
    Value,
    broker_key,
    broker_synonyms,
    topic_value,
)
from broker_core.config_defs.java_text import is_integer, scala_set

THREAD_POOLS = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)
"""Pools that may at most double or halve at once."""

_OF_LISTENERS = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""What changes for single listeners only (`SslConfigs.RECONFIGURABLE_CONFIGS`)."""

_AS_THE_WHOLE = -2
_OUR_CLASSES = ("org.apache.kafka.", "kafka.")
"""Where classes are that a broker finds: nobody adds any to it here."""
_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", re.ASCII)


class DynamicBrokerConfig:
    """`own` and `defaults` are this broker's and all brokers' overrides, `current` is what counts."""

    def __init__(self, static: BrokerConfig) -> None:
        self.static = static
        self.started_with = {
            name: text for name, text in static.settings.items() if static.release_defaults.get(name) != text
        }
        """What was set when the broker was started, without the defaults of its release."""
        self.defaults: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.current = static

    def update(self, *, defaults: Mapping[str, str] | None = None, own: Mapping[str, str] | None = None) -> None:
        """Takes over what ZooKeeper has now, as far as it can be taken."""
        if defaults is not None:
            self.defaults = acceptable(defaults, per_broker=False)
        if own is not None:
            self.own = acceptable(own, per_broker=True)
        try:
            self.current = BrokerConfig.of(self._merged(self.defaults, self.own), self.static.release_defaults)
        except ConfigException:
            return

    def validate(self, configs: Mapping[str, str], *, per_broker: bool) -> None:
        """Checks what this broker, or all, shall have instead of what they have. Raises ConfigException."""
        check(configs, per_broker=per_broker)
        defaults, own = (self.defaults, configs) if per_broker else (configs, self.own)
        merged = self._merged(defaults, own)
        BrokerConfig.of(merged)
        _check_requirements(merged)
        why = self._check_threads(merged) or _local_retention_refusal(merged) or _reporters_refusal(merged)
        if why is not None:
            raise ConfigException.of(
                "Invalid dynamic configuration", f"org.apache.kafka.common.config.ConfigException: {why}"
            )

    def _merged(self, defaults: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        merged = dict(self.static.settings)
        for overrides in (defaults, own):
            for name, value in overrides.items():
                for synonym in broker_synonyms(name):
                    merged.pop(synonym, None)
                merged[name] = value
        return merged

    def _check_threads(self, merged: Mapping[str, str]) -> str | None:
        """Why the thread pools cannot become so large or small (`DynamicThreadPool`, `LogCleaner`)."""
        for name in (*THREAD_POOLS, "log.cleaner.threads"):
            now, wanted = _number(name, self.current.settings), _number(name, merged)
            if wanted == 0 and name == "log.cleaner.threads":
                raise ConfigException("/ by zero")
            if wanted != now and not max(now // 2, 1) <= wanted <= now * 2:
                return _cleaner_refusal(now, wanted) if name == "log.cleaner.threads" else _refusal(name, now, wanted)
        return None


def _reporters_refusal(settings: Mapping[str, str]) -> str | None:
    """Why metrics cannot be told to these classes (`DynamicMetricsReporters`)."""
    reporters = filter(None, (each.strip() for each in settings.get("metric.reporters", "").split(",")))
    if all(reporter.startswith(_OUR_CLASSES) for reporter in reporters):
        return None
    return (
        "Validation of dynamic config update of Set(metric.reporters) failed with class "
        "class kafka.server.DynamicMetricsReporters"
    )


def _local_retention_refusal(settings: Mapping[str, str]) -> str | None:
    """Why what is kept locally cannot be more than what is kept at all (`DynamicLogConfig`)."""
    for unit in ("ms", "bytes"):
        kept = topic_value(f"retention.{unit}", settings, {})
        local = topic_value(f"local.retention.{unit}", settings, {})
        assert isinstance(kept, int) and isinstance(local, int)
        whole, part = f"log.retention.{unit}", f"log.local.retention.{unit}"
        if kept == -1 or local == _AS_THE_WHOLE:
            continue
        if local == -1:
            return str(ConfigException.of(part, local, f"Value must not be -1 as {whole} value is set as {kept}."))
        if local > kept:
            return str(ConfigException.of(part, local, f"Value must not be more than {whole} property value: {kept}"))
    return None


def _number(name: str, settings: Mapping[str, str]) -> int:
    key = BROKER_CONFIGS[name]
    value = key.parse(settings[name]) if name in settings else key.default
    assert isinstance(value, int)
    return value


def _refusal(name: str, now: int, wanted: int) -> str:
    why = f"Dynamic thread count update validation failed for {name}={wanted}"
    if wanted < 1:
        return f"{why}, value should be at least 1"
    if wanted < now:
        return f"{why}, value should be at least half the current value {now}"
    return f"{why}, value should not be greater than double the current value {now}"


def _cleaner_refusal(now: int, wanted: int) -> str:
    if wanted < now:
        return f"Log cleaner threads cannot be reduced to less than half the current value {now}"
    return f"Log cleaner threads cannot be increased to more than double the current value {now}"


def check(configs: Mapping[str, str], *, per_broker: bool) -> None:
    """Checks names and types of overrides (`validateConfigs`). Unknown names are taken. Raises ConfigException."""
    fixed = [name for name in configs if name in BROKER_CONFIGS and name not in DYNAMIC_CONFIGS]
    if fixed:
        raise ConfigException(f"Cannot update these configs dynamically: {scala_set(fixed)}")
    if of_listeners := [name for name in configs if name in _OF_LISTENERS]:
        raise ConfigException(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            f"HashSet({', '.join(of_listeners)})"
        )
    _check_types(configs)
    own = [name for name in configs if name in PER_BROKER_CONFIGS]
    if own and not per_broker:
        raise ConfigException(
            f"Cannot update these configs at default cluster level, broker id must be specified: {scala_set(own)}"
        )


def _check_types(configs: Mapping[str, str]) -> None:
    for name, text in configs.items():
        key = broker_key(name)
        if key is not None:
            key.parse(text)
            if key.type is ConfigType.CLASS and text and not text.startswith(_OUR_CLASSES):
                raise ConfigException.of(name, text, f"Class {text} could not be found.")


def _check_requirements(settings: Mapping[str, str]) -> None:
    """What a broker requires of values beyond their limits (`KafkaConfig.validateValues`)."""
    values: dict[str, Value] = {
        name: BROKER_CONFIGS[name].parse(text) for name, text in settings.items() if name in BROKER_CONFIGS
    }
    for name, why in (
        ("log.roll.ms", "log.roll.ms must be greater than or equal to 1"),
        ("log.retention.ms", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    ):
        value = values.get(name)
        if isinstance(value, int) and (value == 0 or (value < 0 and name == "log.roll.ms")):
            raise ConfigException(f"requirement failed: {why}")
    for name in ("listeners", "advertised.listeners"):
        _check_endpoints(settings.get(name, ""))
    for override in filter(None, settings.get("max.connections.per.ip.overrides", "").split(",")):
        count = override.rpartition(":")[2].strip()
        if not is_integer(count):
            raise ConfigException(f'For input string: "{count}"')


def _check_endpoints(listeners: str) -> None:
    for endpoint in filter(None, (each.strip() for each in listeners.split(","))):
        if _ENDPOINT.fullmatch(endpoint) is None:
            raise ConfigException(
                f"Error creating broker listeners from '{listeners}': Unable to parse {endpoint} to a broker endpoint"
            )


def acceptable(configs: Mapping[str, str], *, per_broker: bool) -> dict[str, str]:
    """Without what `check` would refuse, one by one."""
    taken = {}
    for name, text in configs.items():
        try:
            check({name: text}, per_broker=per_broker)
        except ConfigException:
            continue
        taken[name] = text
    return taken
