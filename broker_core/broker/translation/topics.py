"""CreateTopics (API key 19) and CreatePartitions (37)."""

from collections import Counter
from typing import Any

from broker_core.broker.translation.common import NO_TOPIC_ID, Asked, Translation
from broker_core.broker.translation.config_values import SOURCES
from broker_core.errors import KafkaError
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

_BOTH = (
    "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time."
)


def _refusal(topic: Any, count: int) -> tuple[KafkaError, str | None] | None:
    """Why a topic is refused for how the request is written; None when it is not."""
    if count > 1:
        return KafkaError.INVALID_REQUEST, "Found multiple entries for this topic."
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        return KafkaError.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}"
    if topic.assignments and (topic.num_partitions != -1 or topic.replication_factor != -1):
        return KafkaError.INVALID_REQUEST, _BOTH
    indexes = _assignment(topic)
    # Kafka adds up the indexes from 0 on; what comes through with one below 0 fails later on.
    if sum(index for index in indexes if index >= 0) != len(indexes) * (len(indexes) - 1) // 2:
        return KafkaError.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
    return (KafkaError.UNKNOWN_SERVER_ERROR, None) if any(index < 0 for index in indexes) else None


def _assignment(topic: Any) -> dict[int, tuple[int, ...]]:
    """The replicas by partition. One that is there twice counts as it is there last."""
    return {each.partition_index: tuple(each.broker_ids) for each in topic.assignments}


def _refusals(request: Any, asked: Asked) -> list[tuple[KafkaError, str | None] | None]:
    """For each topic of the request; only a controller looks that closely."""
    if asked.broker.known_controller() != asked.broker.broker_id:
        return [None for _ in request.topics]
    counts = Counter(topic.name for topic in request.topics)
    return [_refusal(topic, counts[topic.name]) for topic in request.topics]


def _create_body(request: Any, asked: Asked) -> CreateTopicsRequest:
    specs = tuple(
        CreateTopicSpec(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            tuple(replicas for _, replicas in sorted(_assignment(topic).items())),
            tuple((config.name, config.value or "") for config in topic.configs),
        )
        for topic, refusal in zip(request.topics, _refusals(request, asked), strict=True)
        if refusal is None
    )
    return CreateTopicsRequest(specs, request.timeout_ms, request.validate_only)


def _create_answer(body: CreateTopicsResponse, request: Any, asked: Asked) -> Any:
    results = {result.name: result for result in body.topics}
    topics = []
    for topic, refusal in zip(request.topics, _refusals(request, asked), strict=True):
        result = results[topic.name] if refusal is None else TopicResult(topic.name, *refusal)
        topics.append(_created(topic, result, asked))
    return _CREATE.type(topics=topics)


def _created(topic: Any, result: TopicResult, asked: Asked) -> Any:
    """A topic's part of the answer; of one that there is, its shape and configurations too."""
    if result.error is not KafkaError.NONE:
        message = result.message
        if result.error is KafkaError.NOT_CONTROLLER:
            message = ""
        return _CREATE.CreatableTopicResult(
            name=result.name, error_code=result.error.code, error_message=message, configs=[]
        )
    config = asked.broker.config
    partitions, factor = topic.num_partitions, topic.replication_factor
    if topic.assignments:
        assignment = _assignment(topic)
        partitions, factor = len(assignment), len(assignment[0])
    overrides = {each.name: each.value for each in topic.configs}
    return _CREATE.CreatableTopicResult(
        name=result.name,
        error_message=None,
        topic_id=result.topic_id or NO_TOPIC_ID,
        num_partitions=config.num_partitions if partitions == -1 else partitions,
        replication_factor=config.default_replication_factor if factor == -1 else factor,
        configs=[
            _CREATE.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                config_source=SOURCES[entry.source],
                is_sensitive=entry.is_sensitive,
            )
            for entry in asked.broker.configs.topic_entries(overrides)
        ],
    )


def _grow_body(request: Any, asked: Asked) -> Any:
    if asked.broker.known_controller() == asked.broker.broker_id and any(not topic.name for topic in request.topics):
        return _nameless(request)
    specs = tuple(
        CreatePartitionsSpec(
            topic.name,
            topic.count,
            None if topic.assignments is None else tuple(tuple(each.broker_ids) for each in topic.assignments),
        )
        for topic in request.topics
    )
    return CreatePartitionsRequest(specs, request.timeout_ms, request.validate_only)


def _nameless(request: Any) -> Any:
    """To look for a topic without a name ends the whole request."""
    error = KafkaError.UNKNOWN_SERVER_ERROR
    return _GROW.type(
        results=[
            _GROW.CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=None)
            for topic in request.topics
        ]
    )


def _grow_answer(body: CreatePartitionsResponse, request: Any, asked: Asked) -> Any:
    return _GROW.type(
        results=[
            _GROW.CreatePartitionsTopicResult(
                name=result.name, error_code=result.error.code, error_message=result.message
            )
            for result in {result.name: result for result in body.topics}.values()
        ]
    )


CREATE_TOPICS = Translation(_create_body, _create_answer)
CREATE_PARTITIONS = Translation(_grow_body, _grow_answer)
