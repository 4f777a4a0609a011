"""A broker's configuration while it runs (`kafka.server.DynamicBrokerConfig`, KIP-226).

Static configuration may be overridden in ZooKeeper, for all brokers (/config/brokers/<default>) and for this one
(/config/brokers/N). Invalid values there are ignored, as in Kafka.
"""

from collections.abc import Mapping

from broker_core.broker.config.broker_config import NONE, BrokerConfig
from broker_core.broker.config.config_requirements import check_requirements, listener_names, protocols_of
from broker_core.config_defs import (
    BROKER_CONFIGS,
    DYNAMIC_CONFIGS,
    QUOTA_CONFIGS,
    ConfigException,
    ConfigType,
    broker_synonyms,
    is_of_one_broker,
    topic_value,
    without_listener,
)
from broker_core.config_defs.java_text import scala_hash_set_order, scala_set
from broker_core.config_defs.releases import ReleaseConfigs
from broker_core.era_configs import ConfigBehaviour
from broker_core.errors import KafkaException

_LATEST = ConfigBehaviour()
_NETWORK_THREADS = "num.network.threads"
THREAD_POOLS = (
    "num.io.threads",
    _NETWORK_THREADS,
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)
"""Thread pools whose size may at most double or halve at once."""

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
"""What can be changed for individual listeners only (`SslConfigs.RECONFIGURABLE_CONFIGS`)."""

_AS_THE_WHOLE = -2
_OUR_CLASSES = ("org.apache.kafka.", "kafka.")
_FOUND_CLASSES = (*_OUR_CLASSES, "java.")
"""The classes that a broker can load: none can be added here."""


class DynamicBrokerConfig:
    """`own` and `defaults` are the overrides of this broker and of all brokers, `current` is the effective
    configuration.
    """

    def __init__(self, static: BrokerConfig, era: ConfigBehaviour = _LATEST) -> None:
        self.static = static
        self.era = era
        self.started_with = static.overrides
        """What was set when the broker was started."""
        self.defaults: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.current = static

    def update(self, *, defaults: Mapping[str, str] | None = None, own: Mapping[str, str] | None = None) -> None:
        """Applies what ZooKeeper has now, as far as it is valid."""
        if defaults is not None:
            self.defaults = self.acceptable(defaults, per_broker=False)
        if own is not None:
            self.own = self.acceptable(own, per_broker=True)
        merged = self._merged(self.defaults, self.own)
        try:
            config = BrokerConfig.of(merged, self.static.release_defaults, self.era.tables.brokers)
            check_requirements(merged, self.era)
        except (ConfigException, KafkaException):
            return
        self.current = config

    def validate(self, configs: Mapping[str, str], *, per_broker: bool, identity: Mapping[str, str] = NONE) -> None:
        """Validates new overrides of this broker, or of all. `identity` is what distinguishes this broker from the
        others. Raises ConfigException, and KafkaException where the check itself fails in Kafka.
        """
        check(configs, self.era, per_broker=per_broker)
        defaults, own = (self.defaults, configs) if per_broker else (configs, self.own)
        merged = {**identity, **self._merged(defaults, own)}
        BrokerConfig.of(merged, release_keys=self.era.tables.brokers)
        check_requirements(merged, self.era)
        now = {**identity, **self.current.overrides}
        why = (
            _connections_refusal(merged, self.era)
            or _reporters_refusal(merged)
            or self._check_threads(merged)
            or _local_retention_refusal(merged, self.era)
            or _protocols_refusal(now, merged)
        )
        if why is not None:
            raise ConfigException.of(
                "Invalid dynamic configuration", f"org.apache.kafka.common.config.ConfigException: {why}"
            )

    def acceptable(self, configs: Mapping[str, str], *, per_broker: bool) -> dict[str, str]:
        """The overrides that `check` accepts one by one."""
        taken = {}
        for name, text in configs.items():
            try:
                check({name: text}, self.era, per_broker=per_broker)
            except ConfigException:
                continue
            taken[name] = text
        return taken

    def _merged(self, defaults: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        # Without the defaults of the release: the requirements of 3.9 do not apply to them.
        merged = dict(self.started_with)
        for overrides in (defaults, own):
            for name, value in overrides.items():
                if name in BROKER_CONFIGS and name not in self.era.tables.brokers:
                    continue  # A name that is unknown in this release.
                for synonym in broker_synonyms(name):
                    merged.pop(synonym, None)
                merged[name] = value
        return merged

    def _check_threads(self, merged: Mapping[str, str]) -> str | None:
        """Why the thread pools cannot be resized like this (`DynamicThreadPool`, `LogCleaner`)."""
        for name in (*THREAD_POOLS, "log.cleaner.threads"):
            now, wanted = _number(name, self.current.settings), _number(name, merged)
            if wanted != now and not max(now // 2, 1) <= wanted <= now * 2:
                return _cleaner_refusal(now, wanted) if name == "log.cleaner.threads" else _refusal(name, now, wanted)
        for listener in listener_names(merged):
            name = f"listener.name.{listener.lower()}.{_NETWORK_THREADS}"
            now, wanted = (_threads_of(name, settings) for settings in (self.current.settings, merged))
            if wanted != now and not max(now // 2, 1) <= wanted <= now * 2:
                return _refusal(_NETWORK_THREADS, now, wanted)
        return None


def _connections_refusal(settings: Mapping[str, str], era: ConfigBehaviour) -> str | None:
    """Why a limit of 0 connections, or 0 connections per second, is invalid (`ListenerConnectionQuota`)."""
    for name in ("max.connections", "max.connection.creation.rate"):
        wanted = _number(name, settings)
        if name in era.tables.brokers and wanted <= 0:
            return f"Invalid {name} {era.connections_limit.format(limit=wanted)}"
    return None


def _protocols_refusal(now: Mapping[str, str], wanted: Mapping[str, str]) -> str | None:
    """Why an existing listener cannot change its protocol (`DynamicListenerConfig`)."""
    before, after = protocols_of(now), protocols_of(wanted)
    kept = [name for name in listener_names(wanted) if name in listener_names(now)]
    changed = next((name for name in kept if before[name] != after[name]), None)
    return changed and f"Security protocol cannot be updated for existing listener ListenerName({changed})"


def _reporters_refusal(settings: Mapping[str, str]) -> str | None:
    """Why metrics cannot be reported to these classes (`DynamicMetricsReporters`)."""
    reporters = BROKER_CONFIGS["metric.reporters"].parse(settings.get("metric.reporters", ""))
    assert isinstance(reporters, tuple)
    if all(reporter.startswith(_OUR_CLASSES) for reporter in reporters):
        return None
    return (
        "Validation of dynamic config update of Set(metric.reporters) failed with class "
        "class kafka.server.DynamicMetricsReporters"
    )


def _local_retention_refusal(settings: Mapping[str, str], era: ConfigBehaviour) -> str | None:
    """Why local retention cannot exceed total retention (`DynamicLogConfig`)."""
    for unit in ("ms", "bytes"):
        kept = topic_value(f"retention.{unit}", settings, {})
        local = topic_value(f"local.retention.{unit}", settings, {})
        assert isinstance(kept, int) and isinstance(local, int)
        whole, part = f"log.retention.{unit}", f"log.local.retention.{unit}"
        if kept == -1 or local == _AS_THE_WHOLE or part not in era.tables.brokers:
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


def _threads_of(name: str, settings: Mapping[str, str]) -> int:
    """The network threads of a listener, by default as many as of all."""
    return int(settings[name]) if name in settings else _number(_NETWORK_THREADS, settings)


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


_CHECKED_FIRST = (*QUOTA_CONFIGS, *scala_hash_set_order(DYNAMIC_CONFIGS))
_PLACES = {name: at for at, name in enumerate(_CHECKED_FIRST)}


def _place(name: str) -> int:
    """The place of a configuration among those that can change: Kafka checks them in the order of a hash map."""
    return _PLACES.get(without_listener(name), len(_PLACES))


def check(configs: Mapping[str, str], era: ConfigBehaviour, *, per_broker: bool) -> None:
    """Validates names and types of overrides (`validateConfigs`). Unknown names are accepted. Raises
    ConfigException.
    """
    tables = era.tables
    fixed = [name for name in configs if name in tables.brokers and name not in tables.dynamic]
    if fixed:
        raise ConfigException(f"Cannot update these configs dynamically: {scala_set(fixed)}")
    if of_listeners := [name for name in configs if name in _OF_LISTENERS and name in tables.brokers]:
        raise ConfigException(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            f"{era.of_listeners}({', '.join(of_listeners)})"
        )
    _check_types(configs, tables)
    own = [name for name in configs if is_of_one_broker(name) and tables.knows(name)]
    if own and not per_broker:
        raise ConfigException(
            f"Cannot update these configs at default cluster level, broker id must be specified: {scala_set(own)}"
        )


def _check_types(configs: Mapping[str, str], tables: ReleaseConfigs) -> None:
    for name in sorted(configs, key=_place):
        key, text = tables.broker_key(name), configs[name]
        if key is not None:
            key.parse(text)
            if key.type is ConfigType.CLASS and not text.strip().startswith(_FOUND_CLASSES):
                raise ConfigException.of(without_listener(name), text, f"Class {text} could not be found.")
