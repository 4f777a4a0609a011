"""DescribeUserScramCredentials (API key 50) and AlterUserScramCredentials (51) where nobody has a credential
(`ZkAdminManager.describeUserScramCredentials` and `alterUserScramCredentials`, KIP-554). All answers are prepared.
"""

from collections import Counter
from typing import Any

from broker_core.broker.translation.common import Asked
from broker_core.errors import KafkaError
from broker_core.wire.schemas import BY_NAME

_DESCRIBE = BY_NAME["DescribeUserScramCredentials"].response
_ALTER = BY_NAME["AlterUserScramCredentials"].response

_MECHANISMS = (1, 2)
"""SCRAM-SHA-256 and SCRAM-SHA-512."""
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 4_096, 16_384

_UNACCEPTABLE, _UNSUPPORTED = KafkaError.UNACCEPTABLE_CREDENTIAL, KafkaError.UNSUPPORTED_SASL_MECHANISM
_NAMELESS = _UNACCEPTABLE, "Username must not be empty"
_UNKNOWN = _UNSUPPORTED, "Unknown SCRAM mechanism"
_TOO_FEW, _TOO_MANY = (_UNACCEPTABLE, "Too few iterations"), (_UNACCEPTABLE, "Too many iterations")
_TWICE = KafkaError.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
_MISSING = KafkaError.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
_NOT_KEPT = _UNSUPPORTED, "This cluster keeps no credentials."

Refusal = tuple[KafkaError, str | None]


def describe(request: Any, asked: Asked) -> Any:
    """Whoever is asked for has no credential; asked for all users there are none."""
    counts = Counter(user.name for user in request.users or ())
    return _DESCRIBE.type(
        error_message="", results=[_described(user, is_repeated=count > 1) for user, count in counts.items()]
    )


def _described(user: str, *, is_repeated: bool) -> Any:
    error, text = KafkaError.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}"
    if not user:
        text = _NAMELESS[1]
    if is_repeated:
        error = KafkaError.DUPLICATE_RESOURCE
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    return _DESCRIBE.DescribeUserScramCredentialsResult(user=user, error_code=error.code, error_message=text)


def alter(request: Any, asked: Asked) -> Any:
    """Each user once, with the first thing that is wrong: there is nothing to delete, and nothing is kept."""
    deleted = [(each.name, each.mechanism, _FEWEST_ITERATIONS) for each in request.deletions]
    upserted = [(each.name, each.mechanism, each.iterations) for each in request.upsertions]
    asked_for = [*deleted, *upserted]
    if asked.broker.known_controller() != asked.broker.broker_id:
        return _answer({name: (KafkaError.NOT_CONTROLLER, None) for name, *_ in asked_for})
    refusals: dict[str, Refusal] = {}
    for name, mechanism, iterations in asked_for:
        refusal = _refusal(name, mechanism, iterations)
        if refusal is not None:
            refusals[name] = refusal
    for (name, _), count in Counter((name, mechanism) for name, mechanism, _ in asked_for).items():
        if count > 1:
            refusals.setdefault(name, _TWICE)
    for name, *_ in deleted:
        refusals.setdefault(name, _MISSING)
    for name, *_ in upserted:
        refusals.setdefault(name, _NOT_KEPT)
    return _answer(refusals)


def _refusal(name: str, mechanism: int, iterations: int) -> Refusal | None:
    if not name:
        return _NAMELESS
    if mechanism not in _MECHANISMS:
        return _UNKNOWN
    if iterations > _MOST_ITERATIONS:
        return _TOO_MANY
    return _TOO_FEW if iterations < _FEWEST_ITERATIONS else None


def _answer(refusals: dict[str, Refusal]) -> Any:
    return _ALTER.type(
        results=[
            _ALTER.AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=text)
            for user, (error, text) in refusals.items()
        ]
    )
