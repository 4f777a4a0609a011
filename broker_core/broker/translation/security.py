"""What a broker without security answers: no authoriser, no SASL on a plaintext port, no tokens, no quotas.

Handlers of `kafka.server.KafkaApis` and `ZkAdminManager`; all answers are prepared.
"""

from typing import Any

from broker_core.broker.translation.common import Asked, Translation
from broker_core.errors import KafkaError
from broker_core.wire.schemas import BY_NAME

_DESCRIBE_ACLS = BY_NAME["DescribeAcls"].response
_CREATE_ACLS = BY_NAME["CreateAcls"].response
_DELETE_ACLS = BY_NAME["DeleteAcls"].response
_HANDSHAKE = BY_NAME["SaslHandshake"].response
_AUTHENTICATE = BY_NAME["SaslAuthenticate"].response
_DESCRIBE_QUOTAS = BY_NAME["DescribeClientQuotas"].response
_ALTER_QUOTAS = BY_NAME["AlterClientQuotas"].response
_DESCRIBE_SCRAM = BY_NAME["DescribeUserScramCredentials"].response
_ALTER_SCRAM = BY_NAME["AlterUserScramCredentials"].response
_CREATE_TOKEN = BY_NAME["CreateDelegationToken"].response
_RENEW_TOKEN = BY_NAME["RenewDelegationToken"].response
_EXPIRE_TOKEN = BY_NAME["ExpireDelegationToken"].response
_DESCRIBE_TOKEN = BY_NAME["DescribeDelegationToken"].response

_DISABLED = KafkaError.SECURITY_DISABLED.code
_NO_AUTHORIZER = "No Authorizer is configured."
_NO_TOKENS = KafkaError.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.code
_QUOTA_ENTITIES = ("user", "client-id", "ip")


def _describe_acls(request: Any, asked: Asked) -> Any:
    return _DESCRIBE_ACLS.type(error_code=_DISABLED, error_message="No Authorizer is configured on the broker")


def _create_acls(request: Any, asked: Asked) -> Any:
    return _CREATE_ACLS.type(
        results=[
            _CREATE_ACLS.AclCreationResult(error_code=_DISABLED, error_message=_NO_AUTHORIZER)
            for _ in request.creations
        ]
    )


def _delete_acls(request: Any, asked: Asked) -> Any:
    return _DELETE_ACLS.type(
        filter_results=[
            _DELETE_ACLS.DeleteAclsFilterResult(error_code=_DISABLED, error_message=_NO_AUTHORIZER)
            for _ in request.filters
        ]
    )


def _handshake(request: Any, asked: Asked) -> Any:
    return _HANDSHAKE.type(error_code=KafkaError.ILLEGAL_SASL_STATE.code)


def _authenticate(request: Any, asked: Asked) -> Any:
    return _AUTHENTICATE.type(
        error_code=KafkaError.ILLEGAL_SASL_STATE.code,
        error_message="SaslAuthenticate request received after successful authentication",
    )


def _describe_quotas(request: Any, asked: Asked) -> Any:
    strange = next((each.entity_type for each in request.components if each.entity_type not in _QUOTA_ENTITIES), None)
    if strange is not None:
        return _DESCRIBE_QUOTAS.type(
            error_code=KafkaError.UNSUPPORTED_VERSION.code,
            error_message=f"Custom entity type '{strange}' not supported",
            entries=None,
        )
    return _DESCRIBE_QUOTAS.type(error_message="", entries=[])


def _alter_quotas(request: Any, asked: Asked) -> Any:
    """Quotas are not kept: whoever sets one hears that plainly."""
    return _ALTER_QUOTAS.type(
        entries=[
            _ALTER_QUOTAS.EntryData(
                error_code=KafkaError.INVALID_REQUEST.code,
                error_message="This cluster has no client quotas.",
                entity=[
                    _ALTER_QUOTAS.EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
                    for each in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )


def _describe_scram(request: Any, asked: Asked) -> Any:
    return _DESCRIBE_SCRAM.type(
        error_message="",
        results=[
            _DESCRIBE_SCRAM.DescribeUserScramCredentialsResult(
                user=user.name,
                error_code=KafkaError.RESOURCE_NOT_FOUND.code,
                error_message=f"Attempt to describe a user credential that does not exist: {user.name}",
            )
            for user in request.users or ()
        ],
    )


def _alter_scram(request: Any, asked: Asked) -> Any:
    deleted = [(each.name, KafkaError.RESOURCE_NOT_FOUND) for each in request.deletions]
    upserted = [(each.name, KafkaError.UNSUPPORTED_SASL_MECHANISM) for each in request.upsertions]
    texts = {
        KafkaError.RESOURCE_NOT_FOUND: "Attempt to delete a user credential that does not exist",
        KafkaError.UNSUPPORTED_SASL_MECHANISM: "This cluster keeps no credentials.",
    }
    return _ALTER_SCRAM.type(
        results=[
            _ALTER_SCRAM.AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=texts[error])
            for user, error in (*deleted, *upserted)
        ]
    )


def _create_token(request: Any, asked: Asked) -> Any:
    return _CREATE_TOKEN.type(
        error_code=_NO_TOKENS,
        principal_type="User",
        principal_name="ANONYMOUS",
        token_requester_principal_type="User",
        token_requester_principal_name="ANONYMOUS",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def _renew_token(request: Any, asked: Asked) -> Any:
    return _RENEW_TOKEN.type(error_code=_NO_TOKENS, expiry_timestamp_ms=-1)


def _expire_token(request: Any, asked: Asked) -> Any:
    return _EXPIRE_TOKEN.type(error_code=_NO_TOKENS, expiry_timestamp_ms=-1)


def _describe_token(request: Any, asked: Asked) -> Any:
    return _DESCRIBE_TOKEN.type(error_code=_NO_TOKENS)


SECURITY = {
    "DescribeAcls": Translation(_describe_acls),
    "CreateAcls": Translation(_create_acls),
    "DeleteAcls": Translation(_delete_acls),
    "SaslHandshake": Translation(_handshake),
    "SaslAuthenticate": Translation(_authenticate),
    "DescribeClientQuotas": Translation(_describe_quotas),
    "AlterClientQuotas": Translation(_alter_quotas),
    "DescribeUserScramCredentials": Translation(_describe_scram),
    "AlterUserScramCredentials": Translation(_alter_scram),
    "CreateDelegationToken": Translation(_create_token),
    "RenewDelegationToken": Translation(_renew_token),
    "ExpireDelegationToken": Translation(_expire_token),
    "DescribeDelegationToken": Translation(_describe_token),
}
