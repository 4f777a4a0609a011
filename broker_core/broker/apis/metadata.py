"""Metadata (API key 3)."""

from broker_core.broker.apis.services import TopicCreationServices
from broker_core.controller.topic_names import validate_topic_name
from broker_core.errors import Errors, KafkaException
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreateTopicSpec, MetadataRequest, MetadataResponse


def answer(services: TopicCreationServices, body: MetadataRequest) -> MetadataResponse:
    """The contents of this broker's metadata cache, which may be outdated."""
    cache = services.metadata
    names = sorted(cache.topic_ids) if body.topics is None else body.topics
    topics = []
    for name in names:
        topic_id = cache.topic_ids.get(name)
        error = Errors.NONE
        if topic_id is None:
            error = _error_of_absent(services, name, create=body.allow_auto_topic_creation)
        topics.append((name, topic_id or "", error))
    partitions = [row for name in sorted(set(names)) for row in cache.rows_of(name)]
    return MetadataResponse(tuple(sorted(cache.live_brokers)), cache.controller_id, tuple(topics), tuple(partitions))


def _error_of_absent(services: TopicCreationServices, name: str, *, create: bool) -> Errors:
    """Why the topic does not exist. Creates it if the request allows that: it exists when the client retries."""
    may_create = create and services.config.auto_create_topics_enable and services.reaches_zookeeper
    if not may_create and not services.era.requests.refuses_absent_names:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_topic_name(name)
    except KafkaException as refused:
        return refused.error
    if not may_create:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    error = services.controller.admin.create_topic(CreateTopicSpec(name), validate_only=False).error
    return Errors.LEADER_NOT_AVAILABLE if error in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS) else error


def handle(services: TopicCreationServices, message: Message) -> None:
    """Responds to a client that looks up brokers, topics and leaders."""
    response = answer(services, message.body)
    fields = tuple((row[0], f"label.leader?leader={row[1]}") for row in response.partitions)
    services.kernel.respond(message, response, label=f"label.topics?n={len(response.topics)}", fields=fields)
