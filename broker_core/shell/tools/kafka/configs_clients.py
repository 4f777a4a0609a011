"""kafka-configs.sh for users, clients and addresses: their quotas, and the SCRAM credentials of users."""

import hashlib
import re
from collections.abc import Sequence

from broker_core.broker.admin.quota_admin import ADDRESS_QUOTAS, CLIENT_QUOTAS
from broker_core.broker.admin.scram_admin import MIN_ITERATIONS, SCRAM_HASHES, SCRAM_MECHANISMS
from broker_core.config_defs.java_text import hash_map_order, java_double, parse_double, string_code
from broker_core.errors import Errors
from broker_core.shell.admin.requests import Asking, query_any, query_controller
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.errors import EXECUTION_EXCEPTION, JavaException, TerseException
from broker_core.wire.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    QuotaAlteration,
    QuotaEntity,
    QuotaFilter,
    QuotaValues,
    ScramDeletion,
    ScramUpsertion,
)

KINDS = {"users": "user", "clients": "client-id", "ips": "ip"}
"""Types of entities with quotas, and their names in requests."""
_CALLED = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_NUMBERS = {name: number for number, name in SCRAM_MECHANISMS.items()}
_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")


# Describe.


def describe(process: Process, types: Sequence[str], names: Sequence[str]) -> Asking[None]:
    """Prints the quotas of the entities, then the credentials of users."""
    entries = dict((yield from _quotas(process, types, names)))
    for entity in _entity_order(list(entries)):
        values = dict(entries[entity])
        shown = ", ".join(
            f"{key}={java_double(values[key])}" for key in hash_map_order(list(values), max(len(values), 1))
        )
        process.out(f"Quota configs for {_called(entity)} are {shown}")
    if list(types) == ["users"] and "" not in names:
        yield from _describe_credentials(process, tuple(names) or None)


def _quotas(
    process: Process, types: Sequence[str], names: Sequence[str]
) -> Asking[tuple[tuple[QuotaEntity, QuotaValues], ...]]:
    """The quotas of entities of exactly these types: of the given names, of the default if a name is empty, or all."""
    filters = []
    for at, type_ in enumerate(types):
        name = names[at] if at < len(names) else None
        match = "any" if name is None else "exact" if name else "default"
        filters.append(QuotaFilter(KINDS[type_], match, name or ""))  # type: ignore[arg-type]
    body = DescribeClientQuotasRequest(tuple(filters), is_strict=True)
    response: DescribeClientQuotasResponse = yield from query_any(
        process, "DescribeClientQuotas", body, "describeClientQuotas"
    )
    _raise(response.error, response.message)
    return response.entries


def _entity_order(entities: list[QuotaEntity]) -> list[QuotaEntity]:
    """The iteration order of a hash map of `ClientQuotaEntity`."""
    by_text = {repr(entity): entity for entity in entities}

    def code(text: str) -> int:
        pairs = (string_code(kind) ^ string_code(name or "") for kind, name in by_text[text])
        return (31 + sum(pairs)) & 0xFFFFFFFF

    return [by_text[text] for text in hash_map_order(list(by_text), max(len(by_text), 1), code)]


def _called(entity: QuotaEntity) -> str:
    parts = dict(entity)
    return ", ".join(
        f"the default {called}" if parts[kind] is None else f"{called} '{parts[kind]}'"
        for kind, called in _CALLED.items()
        if kind in parts
    )


def _describe_credentials(process: Process, users: tuple[str, ...] | None) -> Asking[None]:
    body = DescribeUserScramCredentialsRequest(users)
    response: DescribeUserScramCredentialsResponse = yield from query_any(
        process, "DescribeUserScramCredentials", body, "describeUserScramCredentials"
    )
    for each in response.results:
        if each.error is Errors.NONE:
            shown = ", ".join(
                f"{SCRAM_MECHANISMS[number]}=iterations={iterations}" for number, iterations in each.credentials
            )
            process.out(f"SCRAM credential configs for user-principal '{each.user}' are {shown}")


# Alter.


def alter(
    process: Process, types: Sequence[str], names: Sequence[str], added: dict[str, str], deleted: Sequence[str]
) -> Asking[None]:
    """Changes quotas, or the credentials of a user. Raises TerseException, JavaException."""
    if types[0] == "ips":
        _check_addresses([*added, *deleted])
    elif len(types) == 2 or types[0] == "clients":
        _check_clients(added, deleted)
    else:
        _check_users(names, added, deleted)
        if any(name in _NUMBERS for name in (*added, *deleted)):
            yield from _alter_credentials(process, names[0], added, deleted)
            return
    yield from _alter_quotas(process, types, names, added, deleted)


def _check_addresses(names: Sequence[str]) -> None:
    if unknown := [name for name in names if name not in ADDRESS_QUOTAS]:
        raise TerseException(
            "Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected config names: "
            + ",".join(unknown)
        )


def _check_clients(added: dict[str, str], deleted: Sequence[str]) -> None:
    for names, shape, verb in ((added, "Set", "added"), (deleted, "ArrayBuffer", "deleted")):
        unknown = [name for name in names if name not in CLIENT_QUOTAS]
        if unknown:
            unknown.sort(key=lambda name: name in _NUMBERS)
            raise TerseException(
                f"Only quota configs can be {verb} for 'clients' using --bootstrap-server. Unexpected config names: "
                f"{shape}({', '.join(unknown)})"
            )


def _check_users(names: Sequence[str], added: dict[str, str], deleted: Sequence[str]) -> None:
    for given, shape, verb in ((added, "Set", "added"), (deleted, "ArrayBuffer", "deleted")):
        unknown = [name for name in given if name not in CLIENT_QUOTAS and name not in _NUMBERS]
        if unknown:
            raise TerseException(
                f"Only quota and SCRAM credential configs can be {verb} for 'users' using --bootstrap-server. "
                f"Unexpected config names: {shape}({', '.join(unknown)})"
            )
    credentials = [name for name in (*added, *deleted) if name in _NUMBERS]
    if credentials and "" in names:
        raise TerseException(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    if credentials and len(credentials) < len(added) + len(deleted):
        raise TerseException(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )


def _alter_quotas(
    process: Process, types: Sequence[str], names: Sequence[str], added: dict[str, str], deleted: Sequence[str]
) -> Asking[None]:
    if len(types) != len(names):
        raise TerseException("An entity name must be specified for every entity type")
    now = {key for _, values in (yield from _quotas(process, types, names)) for key, _ in values}
    if unknown := [name for name in deleted if name not in now]:
        raise TerseException(f"Invalid config(s): {','.join(unknown)}")
    ops: list[tuple[str, float | None]] = []
    for key, text in added.items():
        number = parse_double(text)
        if number is None:
            raise TerseException(f"Cannot parse quota configuration value for {key}: {text}")
        ops.append((key, number))
    ops += [(key, None) for key in deleted]
    entity = tuple((KINDS[type_], name or None) for type_, name in zip(types, names, strict=True))
    body = AlterClientQuotasRequest((QuotaAlteration(entity, tuple(ops)),))
    response: AlterClientQuotasResponse = yield from query_any(process, "AlterClientQuotas", body, "alterClientQuotas")
    for error, message in response.results:
        _raise(error, message)


def _alter_credentials(process: Process, user: str, added: dict[str, str], deleted: Sequence[str]) -> Asking[None]:
    deletions = tuple(ScramDeletion(user, _NUMBERS[name]) for name in deleted)
    upsertions = tuple(_upsertion(process, user, name, text) for name, text in added.items())
    body = AlterUserScramCredentialsRequest(deletions, upsertions)
    try:
        response: AlterUserScramCredentialsResponse = yield from query_controller(
            process, "AlterUserScramCredentials", body, "alterUserScramCredentials"
        )
    except JavaException as late:
        raise late.wrapped_in(EXECUTION_EXCEPTION) from None
    for each in response.results:
        _raise(each.error, each.message)


def _upsertion(process: Process, user: str, mechanism: str, text: str) -> ScramUpsertion:
    """The password never leaves the tool, only its salted and iterated hash (RFC 5802)."""
    found = _CREDENTIAL.fullmatch(text)
    if found is None:
        raise TerseException(f"Invalid credential property {mechanism.replace('-', '_')}={text}")
    iterations = int(found[1] or -1)
    if iterations == -1:
        iterations = MIN_ITERATIONS
    if iterations < MIN_ITERATIONS:
        raise TerseException(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {mechanism}"
        )
    password = found[2].encode()
    if not password:
        raise JavaException.in_future(Errors.UNACCEPTABLE_CREDENTIAL, "Password must not be empty")
    salt = process.cluster.kernel.streams["salts"].bytes(13).hex().encode()
    salted = hashlib.pbkdf2_hmac(SCRAM_HASHES[_NUMBERS[mechanism]], password, salt, iterations)
    return ScramUpsertion(user, _NUMBERS[mechanism], iterations, salt, salted)


def _raise(error: Errors, message: str | None) -> None:
    if error is not Errors.NONE:
        raise JavaException.in_future(error, message)
