"""DescribeUserScramCredentials (API key 50) and AlterUserScramCredentials (51, KIP-554)."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, Translation
from broker_core.wire.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramDeletion,
    ScramUpsertion,
)
from broker_core.wire.schemas import BY_NAME

_DESCRIBE = BY_NAME["DescribeUserScramCredentials"].response
_ALTER = BY_NAME["AlterUserScramCredentials"].response


def _describe_body(request: Any, context: RequestContext) -> DescribeUserScramCredentialsRequest:
    users = tuple(user.name for user in request.users or ())
    return DescribeUserScramCredentialsRequest(users or None)


def _describe_answer(body: DescribeUserScramCredentialsResponse, request: Any, context: RequestContext) -> Any:
    return _DESCRIBE.type(
        error_message="",
        results=[
            _DESCRIBE.DescribeUserScramCredentialsResult(
                user=each.user,
                error_code=each.error.code,
                error_message=each.message,
                credential_infos=[
                    _DESCRIBE.CredentialInfo(mechanism=mechanism, iterations=iterations)
                    for mechanism, iterations in each.credentials
                ],
            )
            for each in body.results
        ],
    )


def _alter_body(request: Any, context: RequestContext) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        tuple(ScramDeletion(each.name, each.mechanism) for each in request.deletions),
        tuple(
            ScramUpsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
            for each in request.upsertions
        ),
    )


def _alter_answer(body: AlterUserScramCredentialsResponse, request: Any, context: RequestContext) -> Any:
    return _ALTER.type(
        results=[
            _ALTER.AlterUserScramCredentialsResult(
                user=each.user, error_code=each.error.code, error_message=each.message
            )
            for each in body.results
        ]
    )


SCRAM = {
    "DescribeUserScramCredentials": Translation(_describe_body, _describe_answer),
    "AlterUserScramCredentials": Translation(_alter_body, _alter_answer),
}
