"""Configurations described and altered for administrators (`ConfigHelper`, `ConfigAdminManager`, `ZkAdminManager`).

An alteration only writes: the new configuration to /config/topics/T, /config/brokers/N or /config/brokers/<default>,
and a notification. Applying it, on this broker as well, is up to `ConfigChanges`.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from broker_core.broker.admin.loggers import Loggers, UnknownOperationError
from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.dynamic_config import DynamicBrokerConfig
from broker_core.broker.config.entity_configs import read_entity, write_entity
from broker_core.config_defs import (
    ConfigException,
    ConfigKey,
    ConfigType,
    InvalidConfigurationException,
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
from broker_core.era_configs import ConfigBehaviour
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
        self._loggers = Loggers(host.broker_id, host.era.configs)

    @property
    def _keys(self) -> Mapping[str, ConfigKey]:
        return self.host.era.configs.tables.brokers

    def _is_secret(self, name: str) -> bool:
        key = self.host.era.configs.tables.broker_key(name)
        return key is not None and key.type is ConfigType.PASSWORD

    def _is_sensitive(self, name: str) -> bool:
        """Whether a value is hidden: an unknown configuration might be a secret."""
        return self.host.era.configs.tables.broker_key(name) is None or self._is_secret(name)

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
        if topic not in self.host.metadata.topic_ids and not self.host.era.configs.describes_absent_topics:
            raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        return self.topic_entries(self.host.controller.zk.topic_configs(topic))

    def topic_entries(self, overrides: Mapping[str, str]) -> list[ConfigEntry]:
        """The effective configuration of a topic with these overrides."""
        keys = self.host.era.configs.tables.topics
        unknown = [name for name in overrides if name not in keys]
        return [
            *(self._topic_entry(name, overrides) for name in keys),
            *(_secret(name) for name in unknown),
        ]

    def _topic_entry(self, name: str, overrides: Mapping[str, str]) -> ConfigEntry:
        value = topic_value(name, self.host.dynamic.current.settings, overrides, self.host.era.configs.tables.topics)
        first = broker_name(name)
        synonyms = self._synonyms(first) if first is not None else []
        if name in overrides:
            synonyms.insert(0, ConfigSynonym(name, text_of(value), "DYNAMIC_TOPIC_CONFIG"))
        return ConfigEntry(name, text_of(value), _source(synonyms), synonyms=tuple(synonyms))

    def _broker_entries(self) -> list[ConfigEntry]:
        dynamic = self.host.dynamic
        shown = [name for name, key in self._keys.items() if not key.internal]
        set_externally = [*self._static(), *dynamic.defaults, *dynamic.own]
        return [self._broker_entry(name, per_broker=True) for name in dict.fromkeys([*shown, *set_externally])]

    def _broker_entry(self, name: str, *, per_broker: bool) -> ConfigEntry:
        synonyms = self._synonyms(name)
        if not per_broker:
            synonyms = [each for each in synonyms if each.source == "DYNAMIC_DEFAULT_BROKER_CONFIG"]
        sensitive = self._is_sensitive(name)
        value = None if sensitive else self._broker_value(name, per_broker=per_broker)
        return ConfigEntry(name, value, _source(synonyms), sensitive, tuple(synonyms))

    def _broker_value(self, name: str, *, per_broker: bool) -> str | None:
        dynamic = self.host.dynamic
        if not per_broker:
            return dynamic.defaults[name]
        settings = {**self._static(), **dynamic.current.settings}
        key = self._keys.get(name)
        if key is None:
            return settings.get(name)
        value = key.parse(settings[name]) if name in settings else key.default
        return None if value is None else text_of(value)

    def _static(self) -> dict[str, str]:
        identity = {name: text for name, text in self.host.identity.items() if name in self._keys}
        return {**identity, **self.host.dynamic.started_with}

    def _synonyms(self, name: str) -> list[ConfigSynonym]:
        """The sources of a broker's value in order of precedence. As in Kafka, sources above `name` that have another
        name are left out.
        """
        dynamic = self.host.dynamic
        names = broker_synonyms(name)
        if (base := without_listener(name)) != name:
            names = (name, base)
        keys = {each: self._keys[each] for each in names if each in self._keys}
        defaults = {each: text_of(key.default) for each, key in keys.items() if key.default is not None}
        defaults |= {each: text for each, text in dynamic.static.release_defaults.items() if each in names}
        sources: tuple[tuple[Mapping[str, str], ConfigSource], ...] = (
            (dynamic.own, "DYNAMIC_BROKER_CONFIG"),
            (dynamic.defaults, "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            (self._static(), "STATIC_BROKER_CONFIG"),
            (defaults, "DEFAULT_CONFIG"),
        )
        found = [
            ConfigSynonym(each, None if self._is_sensitive(each) else values[each], source)
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
        keys = self.host.era.configs.tables.topics if is_topic else self._keys

        def change(now: dict[str, str]) -> dict[str, str]:
            fault = path_fault(ConfigZnode.path("topics", resource.name)) if is_topic else None
            if fault is not None:
                raise ConfigException(fault)
            return _changed(now, ops, keys, self.host.era.configs)

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
            era = self.host.era.configs
            if resource.type == "BROKER" and not era.names_broker_resource:
                return AlterConfigsResult(resource, Errors.INVALID_REQUEST, str(error))
            shown = era.resource_text.format(type=resource.type, name=resource.name)
            why = f"Invalid config value for resource {shown}: {error}"
            return AlterConfigsResult(resource, era.invalid_value, why)
        except KafkaException as refused:
            return AlterConfigsResult(resource, refused.error, refused.message)
        except _Unforeseen as error:
            said = str(error) if self.host.era.requests.explains_failures else ""
            return AlterConfigsResult(resource, Errors.UNKNOWN_SERVER_ERROR, said or None)
        return AlterConfigsResult(resource)

    def _alter_loggers(
        self, resource: ConfigResource, ops: tuple[AlterConfigOp, ...], validate_only: bool
    ) -> AlterConfigsResult:
        try:
            self._loggers.alter(resource.name, ops, validate_only)
        except KafkaException as refused:
            era = self.host.era.configs
            if era.names_broker_resource and refused.error is Errors.INVALID_CONFIG:
                why = f"Invalid config value for resource {resource}: {refused.message}"
                return AlterConfigsResult(resource, era.invalid_value, why)
            return AlterConfigsResult(resource, refused.error, refused.message)
        except UnknownOperationError:
            said = _NO_OPERATION if self.host.era.configs.explains_unknown_operations else None
            return AlterConfigsResult(resource, Errors.UNKNOWN_SERVER_ERROR, said)
        return AlterConfigsResult(resource)

    def _alter_topic(self, topic: str, change: Callable[[dict[str, str]], dict[str, str]], validate_only: bool) -> None:
        if not topic and not self.host.era.configs.checks_topic_path_first:
            raise KafkaException(Errors.INVALID_REQUEST, "Default topic resources are not allowed.")
        has_path = path_fault(ConfigZnode.path("topics", topic)) is None
        configs = change(read_entity(self.host.zk, "topics", topic) if has_path else {})
        if topic not in self.host.metadata.topic_ids:
            if self.host.era.requests.explains_failures:
                validate_topic_name(topic, self.host.era.creations.names)
                raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f'Topic "{topic}" does not exist.')
            raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
        validate_topic_configs(configs, self.host.dynamic.current.settings, self.host.era.configs.tables.topics)
        if not validate_only:
            names_only = self.host.era.zookeeper.config_changes == "topic names"
            write_entity(self.host.zk, "topics", topic, configs, names_only=names_only)

    def _alter_broker(self, name: str, change: Callable[[dict[str, str]], dict[str, str]], validate_only: bool) -> None:
        if name:
            self._check_broker(name, self.host.era.configs.broker_called, "")
        # As a number: "01" is broker 1.
        entity = str(parse_integer(name)) if name else ConfigZnode.DEFAULT_ENTITY
        configs = change(
            self.host.dynamic.acceptable(read_entity(self.host.zk, "brokers", entity), per_broker=bool(name))
        )
        self.host.dynamic.validate(configs, per_broker=bool(name), identity=self.host.identity)
        if not validate_only:
            if "password.encoder.secret" not in self._static() and any(self._is_secret(each) for each in configs):
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
            received = self.host.era.configs.received_broker.format(name=name)
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Unexpected broker id, expected {expected}, but received {received}"
            )


class _Unforeseen(LookupError):
    """An exception that Kafka does not expect, with its text."""


_NO_OPERATION = "null"
"""The text of the exception for an operation without a meaning (`MatchError`)."""
_NO_STRING = 'Cannot invoke "String.split(String)" because the return value of "{method}" is null'
_NOT_SET = _NO_STRING.format(method="java.util.Properties.getProperty(String)")
_NO_VALUE = _NO_STRING.format(method="org.apache.kafka.clients.admin.ConfigEntry.value()")


def _changed(
    now: dict[str, str], ops: tuple[AlterConfigOp, ...], keys: Mapping[str, ConfigKey], era: ConfigBehaviour
) -> dict[str, str]:
    """`prepareIncrementalConfigs`."""
    configs = dict(now)
    for op in ops:
        if op.operation == "DELETE":
            configs.pop(op.name, None)
        elif op.operation == "SET" and op.value is None and not era.changes_lists_as_set:
            raise _Unforeseen
        elif op.operation == "SET":
            configs[op.name] = op.value or ""
        else:
            if op.operation == "UNKNOWN" and era.explains_unknown_operations:
                raise _Unforeseen(_NO_OPERATION)
            key = keys.get(op.name)
            if key is None or op.operation == "UNKNOWN":
                raise _Unforeseen(f"key not found: {op.name}")
            if key.type is not ConfigType.LIST:
                raise KafkaException(
                    era.invalid_value, f"Config value {op.operation.lower()} is not allowed for config key: {op.name}"
                )
            change = _as_sets if era.changes_lists_as_set else _as_lists
            configs[op.name] = ",".join(change(configs.get(op.name), op, key))
    return configs


def _as_sets(set_before: str | None, op: AlterConfigOp, key: ConfigKey) -> list[str]:
    listed = [each for each in (text_of(key.default) if set_before is None else set_before).split(",") if each]
    given = split(op.value or "", ",")
    if op.operation == "APPEND":
        return [*listed, *(each for each in given if each not in listed)]
    return [each for each in listed if each not in given]


def _as_lists(set_before: str | None, op: AlterConfigOp, _: ConfigKey) -> list[str]:
    if set_before is None or op.value is None:
        raise _Unforeseen(_NOT_SET if set_before is None else _NO_VALUE)
    listed, given = split(set_before, ","), split(op.value, ",")
    if op.operation == "APPEND":
        return listed + given
    for each in given:
        if each in listed:
            listed.remove(each)
    return listed


def _secret(name: str) -> ConfigEntry:
    """Hides the value of an unknown name in a topic's znode."""
    synonym = ConfigSynonym(name, None, "DYNAMIC_TOPIC_CONFIG")
    return ConfigEntry(name, None, synonym.source, is_sensitive=True, synonyms=(synonym,))


def _source(synonyms: list[ConfigSynonym]) -> ConfigSource:
    return synonyms[0].source if synonyms else "DEFAULT_CONFIG"
