"""The group protocol of KIP-848, which a broker in ZooKeeper mode advertises but does not support."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, immediate
from broker_core.errors import Errors
from broker_core.wire.schemas import BY_NAME

_HEARTBEAT = BY_NAME["ConsumerGroupHeartbeat"].response
_DESCRIBE = BY_NAME["ConsumerGroupDescribe"].response
_UNSUPPORTED = Errors.UNSUPPORTED_VERSION.code


def _heartbeat(request: Any, context: RequestContext) -> Any:
    return _HEARTBEAT.type(error_code=_UNSUPPORTED)


def _describe(request: Any, context: RequestContext) -> Any:
    return _DESCRIBE.type(
        groups=[_DESCRIBE.DescribedGroup(error_code=_UNSUPPORTED, group_id=group) for group in request.group_ids]
    )


CONSUMER_GROUP_PROTOCOL = {
    "ConsumerGroupHeartbeat": immediate(_heartbeat),
    "ConsumerGroupDescribe": immediate(_describe),
}
