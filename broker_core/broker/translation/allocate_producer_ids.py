"""AllocateProducerIds (API key 67)."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, Translation
from broker_core.wire.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[67].response


def _body(request: Any, context: RequestContext) -> AllocateProducerIdsRequest:
    return AllocateProducerIdsRequest(request.broker_id, request.broker_epoch)


def _answer(body: AllocateProducerIdsResponse, request: Any, context: RequestContext) -> Any:
    return _WIRE.type(
        error_code=body.error.code, producer_id_start=body.producer_id_start, producer_id_len=body.producer_id_len
    )


ALLOCATE_PRODUCER_IDS = Translation(_body, _answer)
