"""Metadata (API key 3)."""

from typing import TYPE_CHECKING

from broker_core.controller.admin import validate_topic_name
from broker_core.errors import Errors, KafkaException
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreateTopicSpec, MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def answer(broker: "Broker", body: MetadataRequest) -> MetadataResponse:
    """What this broker's metadata cache says, which may be behind the truth."""
    cache = broker.metadata
    names = sorted(cache.topic_ids) if body.topics is None else body.topics
    topics = []
    for name in names:
        topic_id = cache.topic_ids.get(name)
        error = Errors.NONE
        if topic_id is None:
            error = _error_of_absent(broker, name, create=body.allow_auto_topic_creation)
        topics.append((name, topic_id or "", error))
    partitions = [row for name in sorted(set(names)) for row in cache.rows_of(name)]
    return MetadataResponse(tuple(sorted(cache.live_brokers)), cache.controller_id, tuple(topics), tuple(partitions))


def _error_of_absent(broker: "Broker", name: str, *, create: bool) -> Errors:
    """Why there is no such topic. Creates it if the client wants that: it is there when the client asks again."""
    try:
        validate_topic_name(name)
    except KafkaException as refused:
        return refused.error
    if not create or not broker.config.auto_create_topics_enable or not broker.reaches_zookeeper:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    error = broker.controller.admin.create_topic(CreateTopicSpec(name), validate_only=False).error
    return Errors.LEADER_NOT_AVAILABLE if error in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS) else error


def handle(broker: "Broker", message: Message) -> None:
    """Answers a client that looks for brokers, topics and leaders."""
    response = answer(broker, message.body)
    fields = tuple((row[0], f"leader {row[1]}") for row in response.partitions)
    broker.kernel.respond(message, response, label=f"{len(response.topics)} topics", fields=fields)
