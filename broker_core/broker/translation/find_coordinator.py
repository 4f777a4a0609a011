"""FindCoordinator (API key 10), for one key or, from version 4 on, for several (KIP-699)."""

from typing import Any

from broker_core.broker.translation.common import Immediate, RequestContext, Translation
from broker_core.clients.exceptions import exception_message
from broker_core.errors import Errors
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[10].response
_BATCH_VERSION = 4
_KEY_TYPES = (0, 1)
_SHARE_GROUP = 2
"""A key type that 3.9 accepts from version 6 on, and that has no coordinator yet (KIP-932)."""
_SHARE_GROUP_VERSION = 6


def _body(request: Any, context: RequestContext) -> Any:
    unknown = context.broker.era.requests.unknown_key_type
    if request.key_type not in _KEY_TYPES and unknown == "unparsable":
        raise WireError(text("wire.key_type", key_type=request.key_type))
    if request.key_type == _SHARE_GROUP and unknown == "invalid request":
        return Immediate(_without_coordinator(request, context))
    if context.version >= _BATCH_VERSION:
        return FindCoordinatorRequest("", request.key_type, tuple(request.coordinator_keys))
    return FindCoordinatorRequest(request.key, request.key_type)


def _without_coordinator(request: Any, context: RequestContext) -> Any:
    is_known = context.version >= _SHARE_GROUP_VERSION
    error = Errors.COORDINATOR_NOT_AVAILABLE if is_known else Errors.INVALID_REQUEST
    body = FindCoordinatorResponse(error)
    if context.version < _BATCH_VERSION:
        return _answer(body, request, context)
    return _WIRE.type(
        coordinators=[
            _WIRE.Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error.code)
            for key in request.coordinator_keys
        ]
    )


def _answer(body: FindCoordinatorResponse, request: Any, context: RequestContext) -> Any:
    if context.version < _BATCH_VERSION:
        host, port = _place(body, context)
        return _WIRE.type(
            error_code=body.error.code, error_message=_text(body, context), node_id=body.node_id, host=host, port=port
        )
    coordinators = []
    for key, each in zip(request.coordinator_keys, body.coordinators, strict=True):
        host, port = _place(each, context)
        coordinators.append(
            _WIRE.Coordinator(
                key=key,
                node_id=each.node_id,
                host=host,
                port=port,
                error_code=each.error.code,
                error_message=_text_of_key(each),
            )
        )
    return _WIRE.type(coordinators=coordinators)


def _place(found: FindCoordinatorResponse, context: RequestContext) -> tuple[str, int]:
    return context.cluster.endpoint(found.node_id) if found.node_id >= 0 else ("", -1)


def _text(found: FindCoordinatorResponse, context: RequestContext) -> str | None:
    if found.error is not Errors.NONE:
        return exception_message(found.error)
    return "NONE" if context.broker.era.requests.names_success else None


def _text_of_key(found: FindCoordinatorResponse) -> str:
    """Batched responses contain only the message of an exception; a key without a coordinator has none."""
    return exception_message(found.error) if found.error is Errors.INVALID_REQUEST else ""


FIND_COORDINATOR = Translation(_body, _answer)
