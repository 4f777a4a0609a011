"""Quotas of clients (KIP-546) and SCRAM credentials of users (KIP-554)."""

from typing import Literal, TypeAlias

import msgspec

from broker_core.errors import Errors

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""The entity of a quota: (`user`, `client-id` or `ip`; name). A name of None means the default of the kind."""
QuotaValues: TypeAlias = tuple[tuple[str, float], ...]


class QuotaFilter(msgspec.Struct, frozen=True, gc=False):
    """The requested entities: those of this name, the default, or all of the type that have a name or default."""

    entity_type: str
    match: Literal["exact", "default", "any"]
    name: str = ""


class DescribeClientQuotasRequest(msgspec.Struct, frozen=True, gc=False):
    """`is_strict`: only entities without further types."""

    filters: tuple[QuotaFilter, ...] = ()
    is_strict: bool = False


class DescribeClientQuotasResponse(msgspec.Struct, frozen=True, gc=False):
    entries: tuple[tuple[QuotaEntity, QuotaValues], ...]
    error: Errors = Errors.NONE
    message: str | None = ""


class QuotaAlteration(msgspec.Struct, frozen=True, gc=False):
    """`ops`: the new value of each key; None removes it."""

    entity: QuotaEntity
    ops: tuple[tuple[str, float | None], ...]


class AlterClientQuotasRequest(msgspec.Struct, frozen=True, gc=False):
    entries: tuple[QuotaAlteration, ...]
    validate_only: bool = False


class AlterClientQuotasResponse(msgspec.Struct, frozen=True, gc=False):
    """An error and its text for each entry."""

    results: tuple[tuple[Errors, str | None], ...]


class ScramDeletion(msgspec.Struct, frozen=True, gc=False):
    """`mechanism`: its number, 1 for SCRAM-SHA-256, 2 for SCRAM-SHA-512."""

    user: str
    mechanism: int


class ScramUpsertion(msgspec.Struct, frozen=True, gc=False):
    """A new credential; the password itself never leaves the client."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class AlterUserScramCredentialsRequest(msgspec.Struct, frozen=True, gc=False):
    deletions: tuple[ScramDeletion, ...] = ()
    upsertions: tuple[ScramUpsertion, ...] = ()


class ScramResult(msgspec.Struct, frozen=True, gc=False):
    """The result for a user: of alterations, or a description as (mechanism, iterations)."""

    user: str
    error: Errors = Errors.NONE
    message: str | None = None
    credentials: tuple[tuple[int, int], ...] = ()


class AlterUserScramCredentialsResponse(msgspec.Struct, frozen=True, gc=False):
    results: tuple[ScramResult, ...]


class DescribeUserScramCredentialsRequest(msgspec.Struct, frozen=True, gc=False):
    """`users` None = all with a credential."""

    users: tuple[str, ...] | None = None


class DescribeUserScramCredentialsResponse(msgspec.Struct, frozen=True, gc=False):
    results: tuple[ScramResult, ...]
