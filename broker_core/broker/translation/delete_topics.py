"""DeleteTopics (API key 20), by name or, from version 6 on, by topic id (KIP-516)."""

from typing import Any

from broker_core.broker.translation.common import NO_TOPIC_ID, RequestContext, Translation
from broker_core.errors import Errors
from broker_core.wire.messages import DeleteTopicsRequest, DeleteTopicsResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[20].response
_STATE = SCHEMAS[20].request
_TOPIC_IDS_VERSION = 6


def _topics(request: Any, context: RequestContext) -> list[Any]:
    """The requested topics, in the format of version 6."""
    if context.version >= _TOPIC_IDS_VERSION:
        return list(request.topics)
    return [_STATE.DeleteTopicState(name=name) for name in request.topic_names]


def _name(topic: Any, context: RequestContext) -> str | None:
    """The name of a topic, which the client may know by its id."""
    name: str | None = topic.name
    return name if name is not None else context.topic_of(topic.topic_id)


def _is_both(topic: Any) -> bool:
    return topic.name is not None and topic.topic_id != NO_TOPIC_ID


def _body(request: Any, context: RequestContext) -> DeleteTopicsRequest:
    topics = _topics(request, context)
    names = [] if any(_is_both(topic) for topic in topics) else [_name(topic, context) for topic in topics]
    return DeleteTopicsRequest(tuple(dict.fromkeys(name for name in names if name is not None)), request.timeout_ms)


def _answer(body: DeleteTopicsResponse, request: Any, context: RequestContext) -> Any:
    results = {result.name: result for result in body.topics}
    by_id = {result.topic_id: result for result in body.topics if result.topic_id}
    responses = []
    topics = _topics(request, context)
    if not context.broker.era.requests.repeats_deletions:
        topics = list({topic.name: topic for topic in topics}.values())
    is_controller = context.broker.known_controller() == context.broker.broker_id
    is_refused = any(_is_both(topic) for topic in topics)
    for topic in topics:
        result = by_id.get(topic.topic_id) if topic.name is None else results.get(topic.name)
        if not is_controller:
            error, name, message = Errors.NOT_CONTROLLER, topic.name, None
        elif is_refused:
            error, name, message = Errors.INVALID_REQUEST, topic.name, None
        elif result is not None and result.error is Errors.NOT_CONTROLLER:
            error, name, message = result.error, topic.name, result.message
        elif result is not None:
            error, name, message = result.error, result.name, result.message
        elif topic.topic_id == NO_TOPIC_ID:
            # Neither a name nor an id: the error is that of an unauthorised topic.
            error, name, message = Errors.TOPIC_AUTHORIZATION_FAILED, None, None
        else:
            error, name, message = Errors.UNKNOWN_TOPIC_ID, None, None
        responses.append(
            _WIRE.DeletableTopicResult(name=name, topic_id=topic.topic_id, error_code=error.code, error_message=message)
        )
    return _WIRE.type(responses=responses)


DELETE_TOPICS = Translation(_body, _answer)
