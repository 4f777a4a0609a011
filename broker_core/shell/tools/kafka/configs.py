"""kafka-configs.sh (`kafka.admin.ConfigCommand`)."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from broker_core.broker.admin.quota_admin import is_address
from broker_core.config_defs.java_text import hash_map_order, scala_set
from broker_core.controller.topic_names import validate_topic_name
from broker_core.errors import Errors, KafkaException
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, open_admin_client
from broker_core.shell.admin.requests import Asking, bootstrap, late_for, metadata, query_any, query_broker
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, settled
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.errors import (
    EXECUTION_EXCEPTION,
    HELP,
    VERSION,
    JavaException,
    TerseException,
    ToolUsageError,
    check_help,
    check_invalid,
    is_int,
    load_properties,
    parse_int,
    print_usage,
)
from broker_core.shell.tools.kafka import configs_clients
from broker_core.shell.tools.kafka.topics import FORMAT_WARNING
from broker_core.texts import text
from broker_core.wire.messages import (
    AlterConfigOp,
    AlterConfigsRequest,
    ConfigEntry,
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
)

TYPES = ("topics", "clients", "users", "brokers", "ips", "broker-loggers", "client-metrics")
DESCRIBE_TIMEOUT_US = 30_000_000
ALTER_TIMEOUT_US = 60_000_000
_BRACKETED = r"(?=[^\]]*(?:\[|$))"
_KEY = re.compile(r"[a-zA-Z0-9._-]*")

OPTIONS = (
    Option("add-config", "Configurations to add, such as k1=v1,k2=[v1,v2,v2],k3=v3.", "String"),
    Option("add-config-file", "A properties file with configurations to add.", "String", values="file"),
    Option("all", "With describe: all configurations, not only those set while the cluster runs."),
    Option("alter", "Alter the configuration for the entity."),
    Option("bootstrap-controller", "Not with brokers to connect to, which the lab adds.", "controller to connect to"),
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    COMMAND_CONFIG,
    Option("broker", "The broker's id.", "String", values="broker"),
    Option("broker-logger", "The id of a broker whose loggers are meant.", "String", values="broker"),
    Option("broker-defaults", "The default configuration of all brokers."),
    Option("client", "The client's id.", "String"),
    Option("client-defaults", "The default of all clients."),
    Option("delete-config", "Names of configurations to remove, with commas.", "String", repeats=True),
    Option("describe", "List configurations for the given entity."),
    Option("entity-default", "The default of all entities of the type."),
    Option(
        "entity-name",
        "The name of the entity: a topic, a broker's id, a user...",
        "String",
        repeats=True,
        values="topic",
    ),
    Option("entity-type", "The type of the entity.", "String", repeats=True, values="|".join(TYPES)),
    Option("force", "Nothing: there are no prompts in a lab."),
    HELP,
    Option("ip", "The address of a client.", "String"),
    Option("ip-defaults", "The default of all addresses."),
    Option("topic", "The topic's name.", "String", values="topic"),
    Option("user", "The user's name.", "String"),
    Option("user-defaults", "The default of all users."),
    VERSION,
    Option("zookeeper", "Not with brokers to connect to, which the lab adds.", "urls"),
)
_FLAGS = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
}
_DEFAULT_FLAGS = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
"""Options that name an entity, in the tool's order, with the type of each."""
_SOURCES = {"topics": "DYNAMIC_TOPIC_CONFIG", "broker-loggers": "DYNAMIC_BROKER_LOGGER_CONFIG"}


class Entity(NamedTuple):
    """An entity that is described or altered. `name` None = all of the type, "" = the default. `types`, `names`: all
    given ones; a user and a client can be combined.
    """

    type: str
    name: str | None
    types: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def resource(self) -> ConfigResource:
        """The resource in requests. Raises TerseException, JavaException."""
        name = self.name or ""
        if self.type == "topics":
            try:
                if name:
                    validate_topic_name(name)
            except KafkaException as refused:
                raise JavaException.of(refused.error, refused.message) from None
            return ConfigResource("TOPIC", name)
        _check_broker_id(self.type, name)
        return ConfigResource("BROKER_LOGGER" if self.type == "broker-loggers" else "BROKER", name)

    @property
    def has_quotas(self) -> bool:
        return self.type in configs_clients.KINDS


def _check_broker_id(kind: str, name: str) -> None:
    if name and not is_int(name):
        raise TerseException(f"The entity name for {kind} must be a valid integer broker id, but it is: {name}")


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(
            options,
            "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip or "
            "client-metrics",
        )
        entity = _entity(options, arguments)
        open_admin_client(process, options)
        if entity.type == "client-metrics":
            if entity.name and "describe" in options:
                process.out(_heading(entity.type, entity.name, describe_all="all" in options))
            raise JavaException.in_future(*_no_client_metrics(entity))
        if "alter" in options:
            yield from _alter(process, options, entity)
            yield from settled(process)
        elif entity.has_quotas:
            yield from configs_clients.describe(process, entity.types, entity.names)
        else:
            yield from _describe(process, entity, describe_all="all" in options)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except OptionError as error:
        process.err(error.message)
        return 1
    except TerseException as error:
        process.err(str(error))
        return 1
    except JavaException as error:
        process.err(f"Error while executing config command with args '{bootstrap(process, arguments)}'")
        for line in error.stack_trace():
            process.err(line)
        return 1
    return 0


# Options.


def _entity(options: ParsedOptions, arguments: list[str]) -> Entity:
    """Validates the options in the tool's order (`ConfigCommandOptions.checkArgs`)."""
    if ("alter" in options) + ("describe" in options) != 1:
        raise ToolUsageError("Command must include exactly one action: --describe, --alter")
    check_invalid(options, "alter", ["describe"])
    check_invalid(options, "describe", ["alter", "add-config", "delete-config"])
    flags = {flag: type_ for flag, type_ in (_FLAGS | _DEFAULT_FLAGS).items() if flag in options}
    types = options.values("entity-type") + list(flags.values())
    twice = [each for at, each in enumerate(types) if each in types[:at]]
    if twice:
        raise TerseException(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for each in types:
        if each not in TYPES:
            raise TerseException(
                f"Invalid entity type {each}, the entity type must be one of {', '.join(TYPES)} with a "
                "--bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise TerseException("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise TerseException("Only 'users' and 'clients' entity types may be specified together")
    if flags and any(each in options for each in ("entity-name", "entity-type", "entity-default")):
        raise TerseException(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    if "bootstrap-controller" in options or "zookeeper" in options:
        # Kafka requires --bootstrap-server, which the lab adds itself.
        raise TerseException("Only one of --bootstrap-server, --boostrap-controller, and --zookeeper can be specified")
    names = _names(options, arguments)
    _check_names(types[0], names)
    if "alter" in options:
        _check_alter(options, types, names)
    elif types[0] == "broker-loggers" and not any(names):
        raise TerseException("an entity name must be specified with --describe of broker-loggers")
    return Entity(types[0], names[0] if names else None, tuple(types), tuple(names))


def _check_names(kind: str, names: Sequence[str]) -> None:
    for name in filter(None, names):
        if kind in ("brokers", "broker-loggers"):
            _check_broker_id(kind, name)
        elif kind == "ips" and not is_address(name):
            raise TerseException(f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}")


def _no_client_metrics(entity: Entity) -> tuple[Errors, str]:
    """The error for client metrics, which a cluster with ZooKeeper does not have (KIP-714)."""
    if entity.name:
        return Errors.INVALID_REQUEST, "Config type client-metrics is only supported on KRaft clusters"
    return Errors.UNSUPPORTED_VERSION, "The node does not support LIST_CLIENT_METRICS_RESOURCES"


def _names(options: ParsedOptions, arguments: list[str]) -> list[str]:
    """The names in the order of the command line, "" for a default."""
    given = iter(options.values("entity-name"))
    names = []
    for word in arguments:
        if word.partition("=")[0] == "--entity-name":
            names.append(next(given, ""))
        elif word == "--entity-default":
            names.append("")
    names += [options.value(flag) or "" for flag in _FLAGS if flag in options]
    return names + [""] * sum(flag in options for flag in _DEFAULT_FLAGS)


def _check_alter(options: ParsedOptions, types: list[str], names: list[str]) -> None:
    if {"users", "clients", "brokers", "ips"} & set(types):
        if not names:
            raise TerseException(
                "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not any(names):
        raise TerseException(f"an entity name must be specified with --alter of {','.join(types)}")
    if "add-config" in options and "add-config-file" in options:
        raise TerseException("Only one of --add-config or --add-config-file must be specified")
    if not any(each in options for each in ("add-config", "add-config-file", "delete-config")):
        raise TerseException(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if not {"users", "clients"} & set(types) and len(names) != len(types):
        raise TerseException("An entity name must be specified for every entity type")


def _to_add(process: Process, options: ParsedOptions) -> dict[str, str]:
    """The configurations to add, in the order of a `java.util.Properties`."""
    added: dict[str, str] = {}
    if "add-config-file" in options:
        added |= load_properties(process, options.value("add-config-file") or "")
    text = options.value("add-config")
    if text is not None:
        pairs = [re.split(r"\s*=\s*" + _BRACKETED, pair) for pair in _split(text)]
        if any(len(pair) != 2 for pair in pairs):
            raise TerseException(
                'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".'
            )
        added |= {key.strip(): re.sub(r"[\[\]]", "", value).strip() for key, value in pairs}
    for key in added:
        if _KEY.fullmatch(key) is None:
            raise TerseException(f"Invalid character found for config key: {key}")
    if "message.format.version" in added:
        process.out(FORMAT_WARNING.format(added["message.format.version"]))
    return {key: added[key] for key in hash_map_order(list(added))}


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets, without trailing empty parts."""
    parts = re.split("," + _BRACKETED, text)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _to_delete(options: ParsedOptions) -> list[str]:
    """The names without empty ones, unless there is nothing else (`java.util.StringTokenizer`)."""
    given = options.values("delete-config")
    return [name.strip() for text in given for name in [each for each in text.split(",") if each] or [text]]


# Describe.


def _describe(process: Process, entity: Entity, *, describe_all: bool) -> Asking[None]:
    names = [entity.name] if entity.name is not None else (yield from _all_names(process, entity.type))
    for name in names:
        kind = entity.type
        process.out(_heading(kind, name, describe_all=describe_all))
        for entry in (yield from _entries(process, Entity(kind, name), describe_all=describe_all)):
            synonyms = ", ".join(f"{each.source}:{each.name}={_shown(each.value)}" for each in entry.synonyms)
            process.out(
                f"  {entry.name}={_shown(entry.value)} sensitive={str(entry.is_sensitive).lower()} "
                f"synonyms={{{synonyms}}}"
            )


def _heading(kind: str, name: str, *, describe_all: bool) -> str:
    if not name:
        return f"Default configs for {kind} in the cluster are:"
    return f"{'All' if describe_all else 'Dynamic'} configs for {kind[:-1]} {name} are:"


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _all_names(process: Process, kind: str) -> Asking[list[str]]:
    known = yield from metadata(process, None, "listTopics" if kind == "topics" else "describeCluster")
    if kind == "brokers":
        return [*(str(broker_id) for broker_id in sorted(known.brokers)), ""]
    return hash_map_order([name for name, _, error in known.topics if error is Errors.NONE])


def _entries(process: Process, entity: Entity, *, describe_all: bool) -> Asking[list[ConfigEntry]]:
    """The configurations of an entity, sorted by name: the dynamic ones, or all."""
    resource = entity.resource
    body = DescribeConfigsRequest((resource,))
    if resource.type != "TOPIC" and resource.name:
        answer = yield from _query_broker(process, resource, "DescribeConfigs", body, DESCRIBE_TIMEOUT_US)
    else:
        answer = yield from query_any(process, "DescribeConfigs", body, "describeConfigs")
    response: DescribeConfigsResponse = answer
    (result,) = response.results
    if result.error is not Errors.NONE:
        raise JavaException.in_future(result.error, result.message)
    wanted = _SOURCES.get(entity.type, "DYNAMIC_BROKER_CONFIG")
    if entity.type == "brokers" and not entity.name:
        wanted = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    return sorted(
        (entry for entry in result.configs if describe_all or entry.source == wanted), key=lambda entry: entry.name
    )


def _query_broker(process: Process, resource: ConfigResource, api: str, body: Any, timeout_us: int) -> Asking[Any]:
    """Sends to the configured broker. Raises JavaException if it does not respond before the tool's timeout, or before
    the client's, which may be shorter.
    """
    broker_id = parse_int(resource.name)
    answer = yield from query_broker(process, broker_id, api, body, min(timeout_us, process.api_timeout_us))
    if answer is None and process.api_timeout_us < timeout_us:
        late = late_for(process, broker_id, api[0].lower() + api[1:])
        raise late.wrapped_in(EXECUTION_EXCEPTION)
    if answer is None:
        raise JavaException("java.util.concurrent.TimeoutException", "")
    return answer


# Alter.


def _alter(process: Process, options: ParsedOptions, entity: Entity) -> Asking[None]:
    added = _to_add(process, options)
    deleted = _to_delete(options)
    if entity.has_quotas:
        yield from configs_clients.alter(process, entity.types, entity.names, added, deleted)
    else:
        yield from _alter_resource(process, entity, added, deleted)
    if entity.name:
        process.out(f"Completed updating config for {entity.type[:-1]} {entity.name}.")
    else:
        process.out(f"Completed updating default config for {entity.type} in the cluster.")


def _alter_resource(process: Process, entity: Entity, added: dict[str, str], deleted: list[str]) -> Asking[None]:
    now = {entry.name: entry for entry in (yield from _entries(process, entity, describe_all=False))}
    is_loggers = entity.type == "broker-loggers"
    unknown = [name for name in [*deleted, *(added if is_loggers else ())] if name not in now]
    if unknown:
        raise TerseException(f"Invalid {'broker logger' if is_loggers else 'config'}(s): {','.join(unknown)}")
    if entity.type == "brokers":
        yield from _alter_broker(process, entity.resource, now, added, deleted)
    else:
        yield from _alter_incrementally(process, entity.resource, added, deleted)


def _alter_incrementally(
    process: Process, resource: ConfigResource, added: dict[str, str], deleted: list[str]
) -> Asking[None]:
    ops = [AlterConfigOp(name, "", "DELETE") for name in deleted]
    ops += [AlterConfigOp(name, value) for name, value in added.items()]
    body = IncrementalAlterConfigsRequest(((resource, tuple(ops)),))
    if resource.type == "TOPIC":
        response = yield from query_any(process, "IncrementalAlterConfigs", body, "incrementalAlterConfigs")
    else:
        response = yield from _query_broker(process, resource, "IncrementalAlterConfigs", body, ALTER_TIMEOUT_US)
    _raise_refusal(response)


def _alter_broker(
    process: Process,
    resource: ConfigResource,
    now: dict[str, ConfigEntry],
    added: dict[str, str],
    deleted: list[str],
) -> Asking[None]:
    """Replaces the complete dynamic configuration of brokers."""
    wanted = {**{name: entry.value for name, entry in now.items()}, **added}
    wanted = {name: value for name, value in wanted.items() if name not in deleted}
    secret = [name for name, value in wanted.items() if value is None]
    if secret:
        raise TerseException(
            f"All sensitive broker config entries must be specified for --alter, missing entries: {scala_set(secret)}"
        )
    body = AlterConfigsRequest(((resource, tuple((name, value or "") for name, value in wanted.items())),))
    if resource.name:
        response = yield from _query_broker(process, resource, "AlterConfigs", body, ALTER_TIMEOUT_US)
    else:
        response = yield from query_any(process, "AlterConfigs", body, "alterConfigs")
    _raise_refusal(response)


def _raise_refusal(response: object) -> None:
    for result in response.results:  # type: ignore[attr-defined]
        if result.error is not Errors.NONE:
            raise JavaException.in_future(result.error, result.message)


COMMAND = Command(
    "kafka-configs.sh",
    text("help.kafka_configs"),
    (
        ("kafka-configs.sh --describe --entity-type topics --entity-name T", text("help.kafka_configs_describe")),
        (
            "kafka-configs.sh --alter --entity-type topics --entity-name T --add-config K=V,K=[V,V]",
            text("help.kafka_configs_add"),
        ),
        (
            "kafka-configs.sh --alter --entity-type topics --entity-name T --delete-config K,K",
            text("help.kafka_configs_delete"),
        ),
        (
            "kafka-configs.sh --alter --entity-type brokers --entity-name N --add-config K=V",
            text("help.kafka_configs_broker"),
        ),
        (
            "kafka-configs.sh --alter --entity-type brokers --entity-default --add-config K=V",
            text("help.kafka_configs_brokers"),
        ),
        (
            "kafka-configs.sh --alter --entity-type users --entity-name U --add-config K=V",
            text("help.kafka_configs_user"),
        ),
        (
            "kafka-configs.sh --alter --entity-type broker-loggers --entity-name N --add-config K=V",
            text("help.kafka_configs_logger"),
        ),
    ),
    _run,
    OPTIONS,
    missing=("zk-tls-config-file",),
)
