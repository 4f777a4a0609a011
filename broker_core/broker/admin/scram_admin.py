"""SCRAM credentials of users, described and altered (`ZkAdminManager.describeUserScramCredentials`,
`alterUserScramCredentials`, KIP-554).

They are stored below /config/users, beside the quotas. The lab requires no credentials: security is disabled.
"""

import hashlib
import hmac
from base64 import b64encode
from collections import Counter
from typing import Protocol

from broker_core.broker.config.entity_configs import desanitized, entity_names, read_entity, sanitized, write_entity
from broker_core.controller.controller import Controller
from broker_core.errors import Errors, KafkaException
from broker_core.sim.zookeeper import ZkClient
from broker_core.wire.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramResult,
    ScramUpsertion,
)

SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
MIN_ITERATIONS, MAX_ITERATIONS = 4_096, 16_384
SCRAM_HASHES = {1: "sha256", 2: "sha512"}

Refusal = tuple[Errors, str]
_NAMELESS: Refusal = Errors.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
_UNKNOWN: Refusal = Errors.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
_TOO_FEW: Refusal = Errors.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
_TOO_MANY: Refusal = Errors.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
_TWICE: Refusal = Errors.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
_MISSING: Refusal = Errors.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
_FAILED: Refusal = (
    Errors.UNKNOWN_SERVER_ERROR,
    "The server experienced an unexpected error when processing the request.",
)


class ScramHost(Protocol):
    """The broker that receives the request."""

    broker_id: int
    controller: Controller

    @property
    def zk(self) -> ZkClient: ...


class ScramAdmin:
    """Describes and alters SCRAM credentials: see the module."""

    def __init__(self, host: ScramHost) -> None:
        self.host = host

    # describing

    def describe(self, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
        """The mechanisms and iterations of these users, or of all users with credentials."""
        if request.users is None:
            known = [self._known(desanitized(znode) or znode) for znode in entity_names(self.host.zk, "users")]
            return DescribeUserScramCredentialsResponse(tuple(each for each in known if each.credentials))
        counts = Counter(request.users)
        return DescribeUserScramCredentialsResponse(
            tuple(self._described(user, is_repeated=count > 1) for user, count in counts.items())
        )

    def _described(self, user: str, *, is_repeated: bool) -> ScramResult:
        if not user:
            return ScramResult(user, Errors.RESOURCE_NOT_FOUND, _NAMELESS[1])
        if is_repeated:
            why = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
            return ScramResult(user, Errors.DUPLICATE_RESOURCE, why)
        known = self._known(user)
        if known.error is Errors.NONE and not known.credentials:
            why = f"Attempt to describe a user credential that does not exist: {user}"
            return ScramResult(user, Errors.RESOURCE_NOT_FOUND, why)
        return known

    def _known(self, user: str) -> ScramResult:
        try:
            configs = read_entity(self.host.zk, "users", sanitized(user))
            credentials = tuple(
                (number, int(configs[name].rpartition("iterations=")[2]))
                for number, name in SCRAM_MECHANISMS.items()
                if name in configs
            )
        except (KafkaException, ValueError):
            # A name that is invalid for a znode, or a malformed credential in ZooKeeper.
            return ScramResult(user, *_FAILED)
        return ScramResult(user, Errors.NONE, "", credentials)

    # altering

    def alter(self, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        """Applies all alterations of a user, or none of them and returns the first error.

        A credential that cannot be made, of an empty password, fails all users without an error of their own.
        """
        deleted = [(each.user, each.mechanism) for each in request.deletions]
        upserted = [(each.user, each.mechanism) for each in request.upsertions]
        pairs = [*deleted, *upserted]
        users = list(dict.fromkeys(user for user, _ in pairs))
        if not self.host.controller.is_active:
            return AlterUserScramCredentialsResponse(tuple(ScramResult(user, Errors.NOT_CONTROLLER) for user in users))
        refusals: dict[str, Refusal] = {}
        for user, mechanism in deleted:
            _refuse(refusals, user, mechanism, MIN_ITERATIONS)
        for each in request.upsertions:
            _refuse(refusals, each.user, each.mechanism, each.iterations)
        for (user, _), count in Counter(pairs).items():
            if count > 1:
                refusals.setdefault(user, _TWICE)
        configs = {}
        for user in [user for user in users if user not in refusals]:
            try:
                configs[user] = read_entity(self.host.zk, "users", sanitized(user))
            except KafkaException:
                refusals[user] = _FAILED
        for user, mechanism in deleted:
            if user in configs and configs[user].pop(SCRAM_MECHANISMS[mechanism], None) is None:
                refusals.setdefault(user, _MISSING)
        accepted = [each for each in request.upsertions if each.user not in refusals]
        if all(each.salted_password for each in accepted):
            for each in accepted:
                configs[each.user][SCRAM_MECHANISMS[each.mechanism]] = credential(each)
        else:
            # Kafka makes all credentials once for each user, so that one that cannot be made fails all users.
            refusals |= {user: _FAILED for user in users if user not in refusals}
        return AlterUserScramCredentialsResponse(
            tuple(
                ScramResult(user, *(refusals.get(user) or self._write(user, configs[user])))
                for user in [*refusals, *(user for user in users if user not in refusals)]
            )
        )

    def _write(self, user: str, configs: dict[str, str]) -> Refusal:
        try:
            write_entity(self.host.zk, "users", sanitized(user), configs)
        except KafkaException as refused:
            return refused.error, refused.message
        return Errors.NONE, ""


def _refuse(refusals: dict[str, Refusal], user: str, mechanism: int, iterations: int) -> None:
    if not user:
        refusals[user] = _NAMELESS
    elif mechanism not in SCRAM_MECHANISMS:
        refusals[user] = _UNKNOWN
    elif iterations > MAX_ITERATIONS:
        refusals[user] = _TOO_MANY
    elif iterations < MIN_ITERATIONS:
        refusals[user] = _TOO_FEW


def credential(upsertion: ScramUpsertion) -> str:
    """What is stored for a password (`ScramFormatter.generateCredential`,
    `ScramCredentialUtils.credentialToString`).
    """
    name = SCRAM_HASHES[upsertion.mechanism]
    client_key, server_key = (
        hmac.digest(upsertion.salted_password, text, name) for text in (b"Client Key", b"Server Key")
    )
    stored_key = hashlib.new(name, client_key).digest()
    salt, stored, server = (b64encode(each).decode() for each in (upsertion.salt, stored_key, server_key))
    return f"salt={salt},stored_key={stored},server_key={server},iterations={upsertion.iterations}"
