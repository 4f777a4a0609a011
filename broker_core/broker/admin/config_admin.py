"""Configurations described and altered for administrators (`ConfigHelper`, `ConfigAdminManager`, `ZkAdminManager`).

An alteration only writes: the new configuration to /config/topics/T, /config/brokers/N or /config/brokers/<default>,
and a notification. Applying it, on this broker as well, is up to `ConfigChanges`.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from broker_core.broker.admin.loggers import Loggers, UnknownOperationError
from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.dynamic_config import DynamicBrokerConfig, acceptable
from broker_core.broker.config.entity_configs import read_entity, write_entity
from broker_core.config_defs import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigException,
    ConfigKey,
    ConfigType,
    InvalidConfigurationException,
    broker_key,
    broker_name,
    broker_synonyms,
    text_of,
    topic_value,
    validate_topic_configs,
    without_listener,
)
from broker_core.config_defs.java_text import parse_integer, split
from broker_core.controller.controller import Controller
from broker_core.controller.topic_names import validate_topic_name
from broker_core.eras import Era
from broker_core.errors import Errors, KafkaException
from broker_core.sim.zookeeper import ZkClient
from broker_core.wire.messages import (
    AlterConfigOp,
    AlterConfigsResult,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ConfigSynonym,
    DescribeConfigsResult,
)
from broker_core.zk.store import path_fault
from broker_core.zk.znodes import ConfigZnode


class ConfigAdminHost(Protocol):
    """The broker that receives the request."""

    broker_id: int
    controller: Controller
    metadata: MetadataCache
    era: Era

    @property
    def zk(self) -> ZkClient: ...

    @property
    def dynamic(self) -> DynamicBrokerConfig: ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What distinguishes this broker from the others: its id, its listener, its directory."""
        ...


class ConfigAdmin:
    """Describes and alters configurations: see the module."""

    def __init__(self, host: ConfigAdminHost) -> None:
        self.host = host
        self._loggers = Loggers(host.broker_id)

    # describing

    def describe(self, resource: ConfigResource) -> DescribeConfigsResult:
        """The effective configuration of a topic or a broker; for the cluster-wide default only what was set."""
        try:
            if resource.type == "TOPIC":
                configs = self._topic_entries(resource.name)
            elif resource.type == "BROKER_LOGGER":
                configs = self._loggers.entries(resource.name)
            elif not resource.name:
                configs = [self._broker_entry(name, per_broker=False) for name in self.host.dynamic.defaults]
            else:
                self._check_broker(resource.name)
                configs = self._broker_entries()
        except KafkaException as refused:
            return DescribeConfigsResult(resource, refused.error, refused.args[1])
        except ConfigException as bad:
            # An external write in ZooKeeper that Kafka's tools reject.
            return DescribeConfigsResult(resource, Errors.UNKNOWN_SERVER_ERROR, str(bad))
        return DescribeConfigsResult(resource, configs=tuple(configs))

    def _topic_entries(self, topic: str) -> list[ConfigEntry]:
        validate_topic_name(topic, self.host.era.creations.names)
        if topic not in self.host.metadata.topic_ids:
            raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        return self.topic_entries(self.host.controller.zk.topic_configs(topic))

    def topic_entries(self, overrides: Mapping[str, str]) -> list[ConfigEntry]:
        """The effective configuration of a topic with these overrides."""
        unknown = [name for name in overrides if name not in TOPIC_CONFIGS]
        absent = self.host.era.requests.absent_topic_configs
        return [
            *(self._topic_entry(name, overrides) for name in TOPIC_CONFIGS if name not in absent),
            *(_secret(name) for name in unknown),
        ]

    def _topic_entry(self, name: str, overrides: Mapping[str, str]) -> ConfigEntry:
        value = topic_value(name, self.host.dynamic.current.settings, overrides)
        first = broker_name(name)
        synonyms = self._synonyms(first) if first is not None else []
        if name in overrides:
            synonyms.insert(0, ConfigSynonym(name, text_of(value), "DYNAMIC_TOPIC_CONFIG"))
        return ConfigEntry(name, text_of(value), _source(synonyms), synonyms=tuple(synonyms))

    def _broker_entries(self) -> list[ConfigEntry]:
        dynamic = self.host.dynamic
        shown = [name for name, key in BROKER_CONFIGS.items() if not key.internal]
        set_externally = [*self._static(), *dynamic.defaults, *dynamic.own]
        return [self._broker_entry(name, per_broker=True) for name in dict.fromkeys([*shown, *set_externally])]

    def _broker_entry(self, name: str, *, per_broker: bool) -> ConfigEntry:
        synonyms = self._synonyms(name)
        if not per_broker:
            synonyms = [each for each in synonyms if each.source == "DYNAMIC_DEFAULT_BROKER_CONFIG"]
        sensitive = _is_sensitive(name)
        value = None if sensitive else self._broker_value(name, per_broker=per_broker)
        return ConfigEntry(name, value, _source(synonyms), sensitive, tuple(synonyms))

    def _broker_value(self, name: str, *, per_broker: bool) -> str | None:
        dynamic = self.host.dynamic
        if not per_broker:
            return dynamic.defaults[name]
        settings = {**self._static(), **dynamic.current.settings}
        key = BROKER_CONFIGS.get(name)
        if key is None:
            return settings.get(name)
        value = key.parse(settings[name]) if name in settings else key.default
        return None if value is None else text_of(value)

    def _static(self) -> dict[str, str]:
        return {**self.host.identity, **self.host.dynamic.started_with}

    def _synonyms(self, name: str) -> list[ConfigSynonym]:
        """The sources of a broker's value in order of precedence. As in Kafka, sources above `name` that have another
        name are left out.
        """
        dynamic = self.host.dynamic
        names = broker_synonyms(name)
        if (base := without_listener(name)) != name:
            names = (name, base)
        defaults = {each: text_of(BROKER_CONFIGS[each].default) for each in names if _has_default(each)}
        defaults |= {each: text for each, text in dynamic.static.release_defaults.items() if each in names}
        sources: tuple[tuple[Mapping[str, str], ConfigSource], ...] = (
            (dynamic.own, "DYNAMIC_BROKER_CONFIG"),
            (dynamic.defaults, "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            (self._static(), "STATIC_BROKER_CONFIG"),
            (defaults, "DEFAULT_CONFIG"),
        )
        found = [
            ConfigSynonym(each, None if _is_sensitive(each) else values[each], source)
            for values, source in sources
            for each in names
            if each in values
        ]
        first = next((at for at, synonym in enumerate(found) if synonym.name == name), len(found))
        return found[first:]

    # altering

    def alter(
        self, resource: ConfigResource, configs: tuple[tuple[str, str], ...], validate_only: bool
    ) -> AlterConfigsResult:
        """Replaces the configuration of a resource."""
        return self._alter(resource, validate_only, lambda _: dict(configs), [name for name, _ in configs])

    def alter_incrementally(
        self, resource: ConfigResource, ops: tuple[AlterConfigOp, ...], validate_only: bool
    ) -> AlterConfigsResult:
        """Sets, deletes, appends to and subtracts from configurations of a resource."""
        if resource.type == "BROKER_LOGGER":
            return self._alter_loggers(resource, ops, validate_only)
        is_topic = resource.type == "TOPIC"
        keys = TOPIC_CONFIGS if is_topic else BROKER_CONFIGS

        def change(now: dict[str, str]) -> dict[str, str]:
            fault = path_fault(ConfigZnode.path("topics", resource.name)) if is_topic else None
            if fault is not None:
                raise ConfigException(fault)
            return _changed(now, ops, keys, self.host.era.requests.invalid_config)

        return self._alter(resource, validate_only, change, [op.name for op in ops])

    def _alter(
        self,
        resource: ConfigResource,
        validate_only: bool,
        change: Callable[[dict[str, str]], dict[str, str]],
        names: list[str],
    ) -> AlterConfigsResult:
        try:
            if len(set(names)) < len(names):
                raise KafkaException(Errors.INVALID_REQUEST, "Error due to duplicate config keys")
            if resource.type == "TOPIC":
                self._alter_topic(resource.name, change, validate_only)
            else:
                self._alter_broker(resource.name, change, validate_only)
        except InvalidConfigurationException as error:
            return AlterConfigsResult(resource, Errors.INVALID_CONFIG, str(error))
        except ConfigException as error:
            if resource.type == "BROKER" and not self.host.era.requests.names_broker_resource:
                return AlterConfigsResult(resource, Errors.INVALID_REQUEST, str(error))
            shown = self.host.era.requests.resource_text.format(type=resource.type, name=resource.name)
            why = f"Invalid config value for resource {shown}: {error}"
            return AlterConfigsResult(resource, self.host.era.requests.invalid_config, why)
        except KafkaException as refused:
            return AlterConfigsResult(resource, refused.error, refused.message)
        except _Unforeseen as error:
            unfound = f"key not found: {error}" if self.host.era.requests.explains_failures else None
            return AlterConfigsResult(resource, Errors.UNKNOWN_SERVER_ERROR, unfound)
        return AlterConfigsResult(resource)

    def _alter_loggers(
        self, resource: ConfigResource, ops: tuple[AlterConfigOp, ...], validate_only: bool
    ) -> AlterConfigsResult:
        try:
            self._loggers.alter(resource.name, ops, validate_only)
        except KafkaException as refused:
            era = self.host.era.requests
            if era.names_broker_resource and refused.error is Errors.INVALID_CONFIG:
                why = f"Invalid config value for resource {resource}: {refused.message}"
                return AlterConfigsResult(resource, era.invalid_config, why)
            return AlterConfigsResult(resource, refused.error, refused.message)
        except UnknownOperationError:
            return AlterConfigsResult(resource, Errors.UNKNOWN_SERVER_ERROR)
        return AlterConfigsResult(resource)

    def _alter_topic(self, topic: str, change: Callable[[dict[str, str]], dict[str, str]], validate_only: bool) -> None:
        if not topic:
            raise KafkaException(Errors.INVALID_REQUEST, "Default topic resources are not allowed.")
        has_path = path_fault(ConfigZnode.path("topics", topic)) is None
        configs = change(read_entity(self.host.zk, "topics", topic) if has_path else {})
        if topic not in self.host.metadata.topic_ids:
            if self.host.era.requests.explains_failures:
                validate_topic_name(topic, self.host.era.creations.names)
                raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f'Topic "{topic}" does not exist.')
            raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
        absent = self.host.era.requests.absent_topic_configs
        validate_topic_configs(configs, self.host.dynamic.current.settings, absent)
        if not validate_only:
            names_only = self.host.era.zookeeper.config_changes == "topic names"
            write_entity(self.host.zk, "topics", topic, configs, names_only=names_only)

    def _alter_broker(self, name: str, change: Callable[[dict[str, str]], dict[str, str]], validate_only: bool) -> None:
        if name:
            self._check_broker(name, self.host.era.requests.broker_called, "")
        # As a number: "01" is broker 1.
        entity = str(parse_integer(name)) if name else ConfigZnode.DEFAULT_ENTITY
        configs = change(acceptable(read_entity(self.host.zk, "brokers", entity), per_broker=bool(name)))
        self.host.dynamic.validate(configs, per_broker=bool(name), identity=self.host.identity)
        if not validate_only:
            if "password.encoder.secret" not in self._static() and any(_is_secret(each) for each in configs):
                # Kafka stores only encoded passwords in ZooKeeper.
                resource = ConfigResource("BROKER", name)
                raise InvalidConfigurationException(
                    f"Invalid config value for resource {resource}: Password encoder secret not configured"
                )
            write_entity(self.host.zk, "brokers", entity, configs)

    def _check_broker(self, name: str, called: str = "Broker", or_else: str = " or empty string") -> None:
        if (broker_id := parse_integer(name)) is None:
            raise KafkaException(Errors.INVALID_REQUEST, f"{called} id must be an integer, but it is: {name}")
        if broker_id != self.host.broker_id:
            expected = f"{self.host.broker_id}{or_else}"
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Unexpected broker id, expected {expected}, but received {name}"
            )


class _Unforeseen(LookupError):
    """A lookup that fails in Kafka because a name is missing."""


def _changed(
    now: dict[str, str], ops: tuple[AlterConfigOp, ...], keys: Mapping[str, ConfigKey], not_allowed: Errors
) -> dict[str, str]:
    """`prepareIncrementalConfigs`."""
    configs = dict(now)
    for op in ops:
        if op.operation == "DELETE":
            configs.pop(op.name, None)
        elif op.operation == "SET":
            configs[op.name] = op.value or ""
        else:
            key = keys.get(op.name)
            if key is None or op.operation == "UNKNOWN":
                raise _Unforeseen(op.name)
            if key.type is not ConfigType.LIST:
                raise KafkaException(
                    not_allowed, f"Config value {op.operation.lower()} is not allowed for config key: {op.name}"
                )
            listed = [each for each in configs.get(op.name, text_of(key.default)).split(",") if each]
            given = split(op.value or "", ",")
            added = [*listed, *(each for each in given if each not in listed)]
            kept = [each for each in listed if each not in given]
            configs[op.name] = ",".join(added if op.operation == "APPEND" else kept)
    return configs


def _secret(name: str) -> ConfigEntry:
    """Hides the value of an unknown name in a topic's znode."""
    synonym = ConfigSynonym(name, None, "DYNAMIC_TOPIC_CONFIG")
    return ConfigEntry(name, None, synonym.source, is_sensitive=True, synonyms=(synonym,))


def _source(synonyms: list[ConfigSynonym]) -> ConfigSource:
    return synonyms[0].source if synonyms else "DEFAULT_CONFIG"


def _is_secret(name: str) -> bool:
    key = broker_key(name)
    return key is not None and key.type is ConfigType.PASSWORD


def _is_sensitive(name: str) -> bool:
    """Whether a value is hidden: an unknown configuration might be a secret."""
    return broker_key(name) is None or _is_secret(name)


def _has_default(name: str) -> bool:
    key = BROKER_CONFIGS.get(name)
    return key is not None and key.default is not None
