"""DescribeClientQuotas (API key 48) and AlterClientQuotas (49) where no client has a quota
(`ZkAdminManager.describeClientQuotas` and `alterClientQuotas`, KIP-546). All answers are prepared.
"""

from typing import Any

from broker_core.broker.translation.common import Asked
from broker_core.errors import KafkaError
from broker_core.wire.schemas import BY_NAME

_DESCRIBE = BY_NAME["DescribeClientQuotas"].response
_ALTER = BY_NAME["AlterClientQuotas"].response

_ENTITIES = {"user": "user", "client-id": "client", "ip": "ip"}
"""The kinds of clients, and what they are called in a refusal."""
_EXACT, _DEFAULT, _SPECIFIED = range(3)
_MIXED = (
    "Invalid entity filter component combination, IP filter component should not be used with user or clientId "
    "filter component."
)
Refusal = tuple[KafkaError, str | None]


def describe(request: Any, asked: Asked) -> Any:
    """No quotas, or why the question cannot be asked."""
    refusal = _refusal(request.components)
    if refusal is None:
        return _DESCRIBE.type(error_message="", entries=[])
    return _DESCRIBE.type(error_code=refusal[0].code, error_message=refusal[1], entries=None)


def _refusal(components: list[Any]) -> Refusal | None:
    for each in components:
        is_nameless = each.match_type == _EXACT and each.match is None
        if is_nameless or each.match_type not in (_EXACT, _DEFAULT, _SPECIFIED):
            return KafkaError.UNKNOWN_SERVER_ERROR, None
    kinds: list[str] = []
    for each in components:
        kind = each.entity_type
        if not kind:
            return KafkaError.INVALID_REQUEST, "Unexpected empty filter component entity type"
        if kind not in _ENTITIES:
            return KafkaError.UNSUPPORTED_VERSION, f"Custom entity type '{kind}' not supported"
        if kind in kinds:
            return KafkaError.INVALID_REQUEST, f"Duplicate {_ENTITIES[kind]} filter component entity type"
        kinds.append(kind)
    return (KafkaError.INVALID_REQUEST, _MIXED) if "ip" in kinds and len(kinds) > 1 else None


def alter(request: Any, asked: Asked) -> Any:
    """Quotas are not kept: whoever sets one hears that plainly."""
    return _ALTER.type(
        entries=[
            _ALTER.EntryData(
                error_code=KafkaError.INVALID_REQUEST.code,
                error_message="This cluster has no client quotas.",
                entity=[
                    _ALTER.EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
                    for each in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )
