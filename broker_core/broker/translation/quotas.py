"""DescribeClientQuotas (API key 48) and AlterClientQuotas (49, KIP-546)."""

from typing import Any

from broker_core.broker.translation.common import Immediate, RequestContext, Translation
from broker_core.config_defs.java_text import hash_map_order
from broker_core.errors import Errors
from broker_core.wire.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaAlteration,
    QuotaEntity,
    QuotaFilter,
)
from broker_core.wire.schemas import BY_NAME

_DESCRIBE = BY_NAME["DescribeClientQuotas"].response
_ALTER = BY_NAME["AlterClientQuotas"].response
_MATCHES = ("exact", "default", "any")


def _describe_body(request: Any, context: RequestContext) -> Any:
    filters = []
    for each in request.components:
        if each.match_type not in range(len(_MATCHES)) or (each.match_type == 0 and each.match is None):
            return Immediate(
                _DESCRIBE.type(error_code=Errors.UNKNOWN_SERVER_ERROR.code, error_message=None, entries=None)
            )
        filters.append(QuotaFilter(each.entity_type, _MATCHES[each.match_type], each.match or ""))  # type: ignore[arg-type]
    return DescribeClientQuotasRequest(tuple(filters), request.strict)


def _describe_answer(body: DescribeClientQuotasResponse, request: Any, context: RequestContext) -> Any:
    answer = _DESCRIBE.type(error_code=body.error.code, error_message=body.message, entries=None)
    if body.error is Errors.NONE:
        answer.entries = [
            _DESCRIBE.EntryData(
                entity=[_DESCRIBE.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[_DESCRIBE.ValueData(key=key, value=value) for key, value in values],
            )
            for entity, values in body.entries
        ]
    return answer


def _alter_body(request: Any, context: RequestContext) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        tuple(
            QuotaAlteration(_entity(entry), tuple((op.key, None if op.remove else op.value) for op in entry.ops))
            for entry in request.entries
        ),
        request.validate_only,
    )


def _entity(entry: Any) -> QuotaEntity:
    """In the order of a hash map for as many parts as the request names, in which Kafka looks for what is wrong."""
    names = {each.entity_type: each.entity_name for each in entry.entity}
    return tuple((kind, names[kind]) for kind in hash_map_order(list(names), len(entry.entity)))


def _alter_answer(body: AlterClientQuotasResponse, request: Any, context: RequestContext) -> Any:
    """A duplicate entity gets one result."""
    decided: dict[frozenset[tuple[str, str | None]], tuple[QuotaEntity, tuple[Errors, str | None]]] = {}
    for entry, result in zip(request.entries, body.results, strict=True):
        entity = _entity(entry)
        first, _ = decided.get(frozenset(entity), (entity, result))
        decided[frozenset(entity)] = first, result
    return _ALTER.type(
        entries=[
            _ALTER.EntryData(
                error_code=error.code,
                error_message=message,
                entity=[_ALTER.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            )
            for entity, (error, message) in decided.values()
        ]
    )


CLIENT_QUOTAS = {
    "DescribeClientQuotas": Translation(_describe_body, _describe_answer),
    "AlterClientQuotas": Translation(_alter_body, _alter_answer),
}
