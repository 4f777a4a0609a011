"""CreateTopics (API key 19) and CreatePartitions (37)."""

from collections import Counter
from typing import Any

from broker_core.broker.translation.common import NO_TOPIC_ID, RequestContext, Translation
from broker_core.broker.translation.config_values import SOURCES
from broker_core.config_defs.java_text import scala_set_order
from broker_core.errors import Errors
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsSpec,
    CreateTopicSpec,
    CreateTopicsRequest,
    CreateTopicsResponse,
    TopicResult,
)
from broker_core.wire.schemas import SCHEMAS

_CREATE = SCHEMAS[19].response
_GROW = SCHEMAS[37].response


def _assignment(topic: Any) -> dict[int, tuple[int, ...]]:
    """The replicas by partition, in increasing order. Of duplicates the last one counts."""
    return dict(sorted({each.partition_index: tuple(each.broker_ids) for each in topic.assignments}.items()))


def _count(number: int, topic: Any, context: RequestContext) -> int:
    """A number of partitions or replicas; -1: the default, where there is one."""
    has_none = not topic.assignments and not context.broker.era.creations.has_default_counts
    return 0 if number == -1 and has_none else number


def _create_body(request: Any, context: RequestContext) -> CreateTopicsRequest:
    has_null = any(config.value is None for topic in request.topics for config in topic.configs)
    if has_null and not context.broker.era.creations.reads_null:
        raise WireError(text("wire.null_setting"))
    specs = tuple(
        CreateTopicSpec(
            topic.name,
            _count(topic.num_partitions, topic, context),
            _count(topic.replication_factor, topic, context),
            _assignment(topic),
            tuple((config.name, config.value) for config in topic.configs),
        )
        for topic in request.topics
    )
    return CreateTopicsRequest(specs, request.timeout_ms, request.validate_only)


def _create_answer(body: CreateTopicsResponse, request: Any, context: RequestContext) -> Any:
    results = {result.name: result for result in body.topics}
    entries: dict[tuple[tuple[str, str], ...], list[Any]] = {}
    topics = request.topics
    if context.broker.era.creations.names_repeated:
        repeated = [name for name, count in Counter(topic.name for topic in topics).items() if count > 1]
        topics = list({topic.name: topic for topic in topics}.values())
        for name in repeated:
            if results[name].error is Errors.INVALID_REQUEST:
                why = (
                    f"Create topics request from client `{context.client_id}` contains multiple entries for the "
                    f"following topics: {','.join(scala_set_order(repeated))}"
                )
                results[name] = TopicResult(name, Errors.INVALID_REQUEST, why)
    return _CREATE.type(topics=[_created(topic, results[topic.name], context, entries) for topic in topics])


def _created(
    topic: Any,
    result: TopicResult,
    context: RequestContext,
    entries: dict[tuple[tuple[str, str], ...], list[Any]],
) -> Any:
    """A topic's part of the response; for a created one with its partition count, replication factor and
    configurations. `entries`: those of the topics before it, by what they override: a request for many topics
    overrides the same for most.
    """
    if result.error is not Errors.NONE:
        message = result.message
        if result.error is Errors.NOT_CONTROLLER:
            message = context.broker.era.requests.creation_not_controller
        return _CREATE.CreatableTopicResult(
            name=result.name,
            topic_id=result.topic_id or NO_TOPIC_ID,
            error_code=result.error.code,
            error_message=message,
            configs=[],
        )
    config = context.broker.config
    partitions, factor = topic.num_partitions, topic.replication_factor
    if topic.assignments:
        assignment = _assignment(topic)
        partitions, factor = len(assignment), len(next(iter(assignment.values())))
    overrides = tuple((each.name, each.value) for each in topic.configs)
    if overrides not in entries:
        entries[overrides] = [
            _CREATE.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                config_source=SOURCES[entry.source],
                is_sensitive=entry.is_sensitive,
            )
            for entry in context.broker.configs.topic_entries(dict(overrides))
        ]
    return _CREATE.CreatableTopicResult(
        name=result.name,
        error_message=None,
        topic_id=result.topic_id or NO_TOPIC_ID,
        num_partitions=config.num_partitions if partitions == -1 else partitions,
        replication_factor=config.default_replication_factor if factor == -1 else factor,
        configs=entries[overrides],
    )


def _grow_body(request: Any, context: RequestContext) -> CreatePartitionsRequest:
    specs = tuple(
        CreatePartitionsSpec(
            topic.name,
            topic.count,
            None if topic.assignments is None else tuple(tuple(each.broker_ids) for each in topic.assignments),
        )
        for topic in request.topics
    )
    return CreatePartitionsRequest(specs, request.timeout_ms, request.validate_only)


def _grow_answer(body: CreatePartitionsResponse, request: Any, context: RequestContext) -> Any:
    return _GROW.type(
        results=[
            _GROW.CreatePartitionsTopicResult(
                name=result.name, error_code=result.error.code, error_message=result.message
            )
            for result in body.topics
        ]
    )


CREATE_TOPICS = Translation(_create_body, _create_answer)
CREATE_PARTITIONS = Translation(_grow_body, _grow_answer)
