"""DescribeConfigs (API key 32), AlterConfigs (33) and IncrementalAlterConfigs (44)."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from broker_core.broker.translation.common import Immediate, RequestContext, Translation, Unanswered
from broker_core.broker.translation.config_values import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    SOURCES,
    TOPIC_RESOURCE,
    TYPES,
    UNKNOWN_TYPE,
)
from broker_core.clients.exceptions import exception_message
from broker_core.config_defs import BROKER_CONFIGS, TOPIC_CONFIGS, broker_synonyms
from broker_core.config_defs.documentation import documentation
from broker_core.config_defs.java_text import scala_hash_set_order, scala_set_order
from broker_core.config_defs.keys import ConfigKey
from broker_core.era_configs import ConfigBehaviour
from broker_core.errors import Errors
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.messages import (
    AlterConfigOp,
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigEntry,
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    Operation,
)
from broker_core.wire.schemas import SCHEMAS

_DESCRIBE = SCHEMAS[32].response
_ALTER = SCHEMAS[33].response
_INCREMENTAL = SCHEMAS[44].response

_OPERATIONS: tuple[Operation, ...] = ("SET", "DELETE", "APPEND", "SUBTRACT")
_TYPES = {TOPIC_RESOURCE: "TOPIC", BROKER_RESOURCE: "BROKER", BROKER_LOGGER_RESOURCE: "BROKER_LOGGER"}
_NOT_THESE = "AlterConfigs is only supported for topics and brokers, but resource type is CLIENT_METRICS"
_DEPRECATED = "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER"
_ONCE = Errors.INVALID_REQUEST, "Each resource must appear at most once."

_KEYS: dict[int, Mapping[str, ConfigKey]] = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    BROKER_LOGGER_RESOURCE: {},
}

_UNKNOWN_RESOURCE = 0
_NOT_IN_ZOOKEEPER = "Config type client-metrics is only supported on KRaft clusters"
_MALFORMED = exception_message(Errors.INVALID_REQUEST)
"""The error for every resource if one has an unknown type."""

Refusal = tuple[Errors, str | None]


def _resource(asked_for: Any) -> ConfigResource:
    return ConfigResource(_TYPES[asked_for.resource_type], asked_for.resource_name)  # type: ignore[arg-type]


# Describe.


def _describe_body(request: Any, context: RequestContext) -> Any:
    era = context.broker.era.configs
    request.resources = _as_map(request.resources, context)
    _refuse_negative_types(request, era)
    known = _types(era) if era.names_unknown_types else (*_TYPES, CLIENT_METRICS_RESOURCE)
    unknown = next((each for each in request.resources if each.resource_type not in known), None)
    if unknown is not None:
        kind = era.refused_types.get(unknown.resource_type, "UNKNOWN")
        why = f"Unexpected resource type {kind} for resource {unknown.resource_name}"
        return Immediate(_refused_all(request, why if era.names_unknown_types else _MALFORMED, era))
    return DescribeConfigsRequest(tuple(_resource(each) for each in request.resources if each.resource_type in _TYPES))


def _describe_answer(body: DescribeConfigsResponse, request: Any, context: RequestContext) -> Any:
    described = iter(body.results)
    results = []
    for each in request.resources:
        if each.resource_type == CLIENT_METRICS_RESOURCE:
            why = _NOT_IN_ZOOKEEPER if each.resource_name else "Client metrics subscription name must not be empty"
            results.append(_undescribed(each, why))
        else:
            results.append(_described(next(described), each, request, context))
    return _DESCRIBE.type(results=results)


def _types(era: ConfigBehaviour) -> set[int]:
    """The types of resources that a release knows."""
    return set(_TYPES) if era.describes_loggers else {TOPIC_RESOURCE, BROKER_RESOURCE}


def _refuse_negative_types(request: Any, era: ConfigBehaviour) -> None:
    """Raises WireError where a type is looked up in an array."""
    if not era.reads_negative_types and any(each.resource_type < 0 for each in request.resources):
        raise WireError(text("wire.resource_type"))


def _refused_all(request: Any, why: str, era: ConfigBehaviour) -> Any:
    for each in request.resources:
        if each.resource_type not in {*_types(era), *era.refused_types} and era.names_unknown_types:
            each.resource_type = _UNKNOWN_RESOURCE
    return _DESCRIBE.type(results=[_undescribed(each, why) for each in request.resources])


def _as_map(resources: list[Any], context: RequestContext) -> list[Any]:
    """The resources of a request. In releases that accept repetition, the last one of the same name counts."""
    if context.broker.era.configs.fails_on_repetition:
        return resources
    return list({(each.resource_type, each.resource_name): each for each in resources}.values())


def _undescribed(each: Any, why: str) -> Any:
    return _DESCRIBE.DescribeConfigsResult(
        error_code=Errors.INVALID_REQUEST.code,
        error_message=why,
        resource_type=each.resource_type,
        resource_name=each.resource_name,
    )


def _described(result: DescribeConfigsResult, each: Any, request: Any, context: RequestContext) -> Any:
    era = context.broker.era.configs
    names = each.configuration_keys
    is_all = names is None or (not names and era.describes_no_names)
    entries = {entry.name: entry for entry in result.configs if is_all or entry.name in names}
    return _DESCRIBE.DescribeConfigsResult(
        error_code=result.error.code,
        error_message=("" if result.error is Errors.NONE else result.message) or era.described_without_error,
        resource_type=each.resource_type,
        resource_name=each.resource_name,
        # In the order of the hash map of `ConfigHelper`.
        configs=[_entry(entries[name], each.resource_type, request, era) for name in scala_hash_set_order(entries)],
    )


def _is_writable(name: str, era: ConfigBehaviour) -> bool:
    names = broker_synonyms(name) if era.writable_synonyms else (name,)
    return any(each in era.tables.dynamic and each in era.tables.brokers for each in names)


def _entry(entry: ConfigEntry, resource_type: int, request: Any, era: ConfigBehaviour) -> Any:
    key = _KEYS[resource_type].get(entry.name)
    synonyms = entry.synonyms if request.include_synonyms else ()
    return _DESCRIBE.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=resource_type == BROKER_RESOURCE and not _is_writable(entry.name, era),
        config_source=SOURCES[entry.source],
        is_default=era.names_defaults and entry.source == "DEFAULT_CONFIG",
        is_sensitive=entry.is_sensitive,
        synonyms=[
            _DESCRIBE.DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=SOURCES[synonym.source])
            for synonym in synonyms
        ],
        config_type=UNKNOWN_TYPE if key is None else TYPES[key.type],
        documentation=_documentation(entry.name, resource_type, request),
    )


def _documentation(name: str, resource_type: int, request: Any) -> str | None:
    if resource_type == BROKER_LOGGER_RESOURCE:
        return ""
    if not request.include_documentation:
        return None
    return documentation("topic" if resource_type == TOPIC_RESOURCE else "broker").get(name)


# Alter.


def _refusals(request: Any, context: RequestContext, *, is_incremental: bool) -> list[Refusal | None]:
    """The error of each resource whose entry is malformed; None if it is not (`ConfigAdminManager.preprocess`)."""
    counts = Counter((each.resource_type, each.resource_name) for each in request.resources)
    return [
        _ONCE if counts[each.resource_type, each.resource_name] > 1 else _refusal(each, context, is_incremental)
        for each in request.resources
    ]


def _refusal(each: Any, context: RequestContext, is_incremental: bool) -> Refusal | None:
    era = context.broker.era.configs
    repeated = [name for name, count in Counter(config.name for config in each.configs).items() if count > 1]
    if repeated:
        named = f" : {','.join(scala_set_order(repeated))}" if era.names_repeated_settings else ""
        return Errors.INVALID_REQUEST, f"Error due to duplicate config keys{named}"
    nulls = [
        config.name for config in each.configs if config.value is None and getattr(config, "config_operation", 0) != 1
    ]
    if nulls and era.null_values == "failing" and not is_incremental:
        return Errors.UNKNOWN_SERVER_ERROR, None
    if nulls and era.null_values == "refused":
        return Errors.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}"
    if era.names_unknown_types and each.resource_type not in _types(era):
        kind = era.refused_types.get(each.resource_type, "UNKNOWN")
        return Errors.INVALID_REQUEST, f"Unexpected resource type {kind}"
    if each.resource_type == CLIENT_METRICS_RESOURCE:
        return Errors.INVALID_REQUEST, _NOT_THESE
    if era.names_unknown_types and each.resource_type == BROKER_LOGGER_RESOURCE and not is_incremental:
        return Errors.INVALID_REQUEST, _DEPRECATED
    if each.resource_type not in _TYPES or (each.resource_type == BROKER_LOGGER_RESOURCE and not is_incremental):
        return Errors.INVALID_REQUEST, f"Unknown resource type {each.resource_type}"
    operations = {getattr(config, "config_operation", 0) for config in each.configs}
    strange = operations - set(range(len(_OPERATIONS)))
    if strange and each.resource_type == BROKER_RESOURCE and not era.explains_unknown_operations:
        return Errors.INVALID_REQUEST, f"Unknown operations type {min(strange)}"
    return None


def _operation(number: int) -> Operation:
    return _OPERATIONS[number] if 0 <= number < len(_OPERATIONS) else "UNKNOWN"


def _alter_body(request: Any, context: RequestContext) -> AlterConfigsRequest | Unanswered:
    request.resources = _as_map(request.resources, context)
    era = context.broker.era.configs
    _refuse_negative_types(request, era)
    if era.null_values == "unreadable" and any(
        entry.value is None for each in request.resources for entry in each.configs
    ):
        raise WireError(text("wire.null_setting"))
    if not era.refuses_repeated_names:
        for each in request.resources:
            each.configs = list({config.name: config for config in each.configs}.values())
    resources = tuple(
        (_resource(each), tuple((config.name, config.value) for config in each.configs))
        for each, refusal in zip(request.resources, _refusals(request, context, is_incremental=False), strict=True)
        if refusal is None
    )
    body = AlterConfigsRequest(resources, request.validate_only)
    # Kafka responds once for each resource, and fails on a duplicate.
    names = [(each.resource_type, each.resource_name) for each in request.resources]
    return Unanswered(body) if len(names) > len(set(names)) else body


def _incremental_body(request: Any, context: RequestContext) -> IncrementalAlterConfigsRequest:
    request.resources = _as_map(request.resources, context)
    resources = tuple(
        (
            _resource(each),
            tuple(
                AlterConfigOp(config.name, config.value, _operation(config.config_operation)) for config in each.configs
            ),
        )
        for each, refusal in zip(request.resources, _refusals(request, context, is_incremental=True), strict=True)
        if refusal is None
    )
    return IncrementalAlterConfigsRequest(resources, request.validate_only)


def _altered(body: AlterConfigsResponse, request: Any, refusals: list[Refusal | None], schema: Any) -> Any:
    results = iter(body.results)
    responses = []
    for each, refusal in zip(request.resources, refusals, strict=True):
        if refusal is None:
            result = next(results)
            refusal = (result.error, result.message)
        error, message = refusal
        responses.append(
            schema.AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return schema.type(responses=responses)


def _alter_answer(body: AlterConfigsResponse, request: Any, context: RequestContext) -> Any:
    refusals = _refusals(request, context, is_incremental=False)
    era = context.broker.era.configs
    for each in request.resources:
        if era.names_unknown_types and each.resource_type not in {*_types(era), *era.refused_types}:
            each.resource_type = _UNKNOWN_RESOURCE
    return _altered(body, request, refusals, _ALTER)


def _incremental_answer(body: AlterConfigsResponse, request: Any, context: RequestContext) -> Any:
    return _altered(body, request, _refusals(request, context, is_incremental=True), _INCREMENTAL)


DESCRIBE_CONFIGS = Translation(_describe_body, _describe_answer)
ALTER_CONFIGS = Translation(_alter_body, _alter_answer)
INCREMENTAL_ALTER_CONFIGS = Translation(_incremental_body, _incremental_answer)
