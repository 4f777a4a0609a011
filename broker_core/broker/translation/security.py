"""The responses of a broker without security: no authorizer, no SASL on a plaintext port, no tokens.

Handlers of `kafka.server.KafkaApis` and `ZkAdminManager`; all responses are immediate.
"""

from collections.abc import Iterable
from typing import Any

from broker_core.broker.translation.common import RequestContext, immediate
from broker_core.errors import Errors
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.schemas import BY_NAME

_DESCRIBE_ACLS = BY_NAME["DescribeAcls"].response
_CREATE_ACLS = BY_NAME["CreateAcls"].response
_DELETE_ACLS = BY_NAME["DeleteAcls"].response
_HANDSHAKE = BY_NAME["SaslHandshake"].response
_AUTHENTICATE = BY_NAME["SaslAuthenticate"].response
_CREATE_TOKEN = BY_NAME["CreateDelegationToken"].response
_RENEW_TOKEN = BY_NAME["RenewDelegationToken"].response
_EXPIRE_TOKEN = BY_NAME["ExpireDelegationToken"].response
_DESCRIBE_TOKEN = BY_NAME["DescribeDelegationToken"].response

_DISABLED = Errors.SECURITY_DISABLED.code
_NO_TOKENS = Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.code
_KINDS = (
    "resource_type",
    "resource_type_filter",
    "resource_pattern_type",
    "pattern_type_filter",
    "operation",
    "permission_type",
)


_UNKNOWN = 0
"""The code UNKNOWN of resource types, patterns, operations and permissions: a request with it closes the connection."""
_ANY = 1
_MATCH = 2
"""The code of the pattern MATCH."""


def _refuse_unknown(rows: Iterable[Any], context: RequestContext) -> None:
    """Raises WireError, as Kafka does since 2.5 when it parses such a request."""
    for row in () if context.broker.era.requests.reads_unknown_acls else rows:
        kinds = [getattr(row, name) for name in _KINDS if hasattr(row, name)]
        if _UNKNOWN in kinds:
            raise WireError(text("wire.acl_kind"))


def _refuse_any(rows: Iterable[Any], context: RequestContext) -> None:
    """Raises WireError for an ACL of any kind of thing, as Kafka did until 2.4 when it parsed the request."""
    for row in rows if context.broker.era.requests.reads_unknown_acls else ():
        kinds = (row.resource_type, row.operation, row.permission_type)
        if _ANY in kinds or row.resource_pattern_type in (_ANY, _MATCH):
            raise WireError(text("wire.acl_kind"))


def _describe_acls(request: Any, context: RequestContext) -> Any:
    _refuse_unknown([request], context)
    return _DESCRIBE_ACLS.type(error_code=_DISABLED, error_message="No Authorizer is configured on the broker")


def _create_acls(request: Any, context: RequestContext) -> Any:
    _refuse_unknown(request.creations, context)
    _refuse_any(request.creations, context)
    return _CREATE_ACLS.type(
        results=[
            _CREATE_ACLS.AclCreationResult(
                error_code=_DISABLED, error_message=context.broker.era.requests.no_authorizer
            )
            for _ in request.creations
        ]
    )


def _delete_acls(request: Any, context: RequestContext) -> Any:
    _refuse_unknown(request.filters, context)
    return _DELETE_ACLS.type(
        filter_results=[
            _DELETE_ACLS.DeleteAclsFilterResult(
                error_code=_DISABLED, error_message=context.broker.era.requests.no_authorizer
            )
            for _ in request.filters
        ]
    )


def _handshake(request: Any, context: RequestContext) -> Any:
    mechanisms = list(context.broker.era.requests.sasl_mechanisms)
    return _HANDSHAKE.type(error_code=Errors.ILLEGAL_SASL_STATE.code, mechanisms=mechanisms)


def _authenticate(request: Any, context: RequestContext) -> Any:
    return _AUTHENTICATE.type(
        error_code=Errors.ILLEGAL_SASL_STATE.code,
        error_message="SaslAuthenticate request received after successful authentication",
    )


def _create_token(request: Any, context: RequestContext) -> Any:
    # Without a name, the owner is the one who asks, whatever type was given; a name without a type fails in Kafka.
    kind, name = request.owner_principal_type, request.owner_principal_name
    is_named = bool(name) and kind is not None
    return _CREATE_TOKEN.type(
        error_code=Errors.UNKNOWN_SERVER_ERROR.code if name and kind is None else _NO_TOKENS,
        principal_type=kind if is_named else "User",
        principal_name=name if is_named else "ANONYMOUS",
        token_requester_principal_type="User",
        token_requester_principal_name="ANONYMOUS",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def _renew_token(request: Any, context: RequestContext) -> Any:
    return _RENEW_TOKEN.type(error_code=_NO_TOKENS, expiry_timestamp_ms=-1)


def _expire_token(request: Any, context: RequestContext) -> Any:
    return _EXPIRE_TOKEN.type(error_code=_NO_TOKENS, expiry_timestamp_ms=-1)


def _describe_token(request: Any, context: RequestContext) -> Any:
    return _DESCRIBE_TOKEN.type(error_code=_NO_TOKENS)


SECURITY = {
    "DescribeAcls": immediate(_describe_acls),
    "CreateAcls": immediate(_create_acls),
    "DeleteAcls": immediate(_delete_acls),
    "SaslHandshake": immediate(_handshake),
    "SaslAuthenticate": immediate(_authenticate),
    "CreateDelegationToken": immediate(_create_token),
    "RenewDelegationToken": immediate(_renew_token),
    "ExpireDelegationToken": immediate(_expire_token),
    "DescribeDelegationToken": immediate(_describe_token),
}
