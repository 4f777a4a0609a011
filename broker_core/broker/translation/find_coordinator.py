"""FindCoordinator (API key 10), of one key or, from version 4 on, of several (KIP-699)."""

from typing import Any

from broker_core.broker.translation.common import Asked, Translation
from broker_core.clients.exceptions import exception_message
from broker_core.errors import KafkaError
from broker_core.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[10].response
_BATCH_VERSION = 4


def _body(request: Any, asked: Asked) -> FindCoordinatorRequest:
    if asked.version >= _BATCH_VERSION:
        return FindCoordinatorRequest("", request.key_type, tuple(request.coordinator_keys))
    return FindCoordinatorRequest(request.key, request.key_type)


def _answer(body: FindCoordinatorResponse, request: Any, asked: Asked) -> Any:
    if asked.version < _BATCH_VERSION:
        host, port = _place(body, asked)
        return _WIRE.type(
            error_code=body.error.code, error_message=_text(body, "NONE"), node_id=body.node_id, host=host, port=port
        )
    coordinators = []
    for key, each in zip(request.coordinator_keys, body.coordinators, strict=True):
        host, port = _place(each, asked)
        coordinators.append(
            _WIRE.Coordinator(
                key=key,
                node_id=each.node_id,
                host=host,
                port=port,
                error_code=each.error.code,
                error_message=_text(each, ""),
            )
        )
    return _WIRE.type(coordinators=coordinators)


def _place(found: FindCoordinatorResponse, asked: Asked) -> tuple[str, int]:
    return asked.server.endpoint(found.node_id) if found.node_id >= 0 else ("", -1)


def _text(found: FindCoordinatorResponse, good: str) -> str:
    return good if found.error is KafkaError.NONE else exception_message(found.error)


FIND_COORDINATOR = Translation(_body, _answer)
