"""Quotas of users, clients and addresses, described and altered (`ZkAdminManager.describeClientQuotas`,
`alterClientQuotas`, KIP-546).

They are stored below /config/users, /config/clients and /config/ips. The lab does not enforce them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Protocol

from broker_core.broker.admin.scram_admin import SCRAM_MECHANISMS
from broker_core.broker.config.entity_configs import desanitized, entity_names, read_entity, sanitized, write_entity
from broker_core.config_defs.java_text import hash_map_order, java_double
from broker_core.config_defs.keys import INT_MAX, LONG_MAX, ConfigType
from broker_core.errors import Errors, KafkaException
from broker_core.sim.zookeeper import ZkClient
from broker_core.wire.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaAlteration,
    QuotaEntity,
    QuotaFilter,
    QuotaValues,
)
from broker_core.zk.znodes import EntityType

USER, CLIENT, ADDRESS = "user", "client-id", "ip"
CLIENT_QUOTAS: Mapping[str, ConfigType] = {
    "producer_byte_rate": ConfigType.LONG,
    "consumer_byte_rate": ConfigType.LONG,
    "request_percentage": ConfigType.DOUBLE,
    "controller_mutation_rate": ConfigType.DOUBLE,
}
"""The quotas of users and clients."""
USER_CONFIGS = {**CLIENT_QUOTAS, **dict.fromkeys(SCRAM_MECHANISMS.values(), ConfigType.STRING)}
"""The content of a user's znode."""
ADDRESS_QUOTAS: Mapping[str, ConfigType] = {"connection_creation_rate": ConfigType.INT}
_EPSILON = 1e-6
_LIMITS = {ConfigType.INT: INT_MAX, ConfigType.LONG: LONG_MAX}
_KINDS = {USER: "user", CLIENT: "client", ADDRESS: "ip"}
"""The entity types, and their names in an error message."""
_MIXED = (
    "Invalid entity filter component combination, IP filter component should not be used with user or clientId "
    "filter component."
)
_ADDRESS = re.compile(r"localhost|\d+(\.\d+){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")


def is_address(text: str) -> bool:
    """Whether it is an IP address: host names are not resolved here."""
    if _ADDRESS.fullmatch(text) is None:
        return False
    return ":" in text or text == "localhost" or all(int(part) <= 255 for part in text.split("."))


class QuotaHost(Protocol):
    """The broker that receives the request."""

    @property
    def zk(self) -> ZkClient: ...


class QuotaAdmin:
    """Describes and alters quotas: see the module."""

    def __init__(self, host: QuotaHost) -> None:
        self.host = host

    # describing

    def describe(self, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
        """The quotas of all entities that match the filters."""
        try:
            _check_filters(request.filters)
        except KafkaException as refused:
            return DescribeClientQuotasResponse((), refused.error, refused.message)
        filters = {each.entity_type: each for each in request.filters}
        try:
            return DescribeClientQuotasResponse(
                tuple(
                    (entity, values)
                    for entity, values in self._all(filters)
                    if values and _passes(entity, filters, is_strict=request.is_strict)
                )
            )
        except ValueError:
            # An external write in ZooKeeper that is not a number.
            return DescribeClientQuotasResponse((), Errors.UNKNOWN_SERVER_ERROR, None)

    def _all(self, filters: Mapping[str, QuotaFilter]) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        """All entities; IP entities cannot be combined with others in a filter."""
        if ADDRESS not in filters:
            yield from self._of_clients()
        if not filters.keys() - {ADDRESS}:
            yield from self._of_addresses()

    def _of_addresses(self) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        for address in entity_names(self.host.zk, "ips"):
            yield ((ADDRESS, desanitized(address)),), self._values("ips", address)

    def _of_clients(self) -> Iterator[tuple[QuotaEntity, QuotaValues]]:
        zk = self.host.zk
        users = entity_names(zk, "users")
        for user in users:
            yield ((USER, desanitized(user)),), self._values("users", user)
        for client in entity_names(zk, "clients"):
            yield ((CLIENT, desanitized(client)),), self._values("clients", client)
        for user in users:
            for client in entity_names(zk, f"users/{user}/clients"):
                entity = ((USER, desanitized(user)), (CLIENT, desanitized(client)))
                yield entity, self._values("users", f"{user}/clients/{client}")

    def _values(self, kind: EntityType, name: str) -> QuotaValues:
        known = ADDRESS_QUOTAS if kind == "ips" else CLIENT_QUOTAS
        configs = read_entity(self.host.zk, kind, name)
        return tuple((key, float(configs[key])) for key in hash_map_order([key for key in configs if key in known]))

    # altering

    def alter(self, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
        """Sets and deletes quotas, each entry separately."""
        return AlterClientQuotasResponse(tuple(self._alter(each, request.validate_only) for each in request.entries))

    def _alter(self, alteration: QuotaAlteration, validate_only: bool) -> tuple[Errors, str | None]:
        try:
            kind, name, types = _place(alteration.entity)
            configs = read_entity(self.host.zk, kind, name)
            for key, value in alteration.ops:
                if value is None:
                    configs.pop(key, None)
                else:
                    configs[key] = _text(key, value, types)
            if not validate_only:
                write_entity(self.host.zk, kind, name, configs)
        except KafkaException as refused:
            return refused.error, None if refused.error is Errors.UNKNOWN_SERVER_ERROR else refused.message
        return Errors.NONE, None


def _check_filters(filters: tuple[QuotaFilter, ...]) -> None:
    """Raises KafkaException."""
    kinds: list[str] = []
    for each in filters:
        kind = each.entity_type
        if not kind:
            raise KafkaException(Errors.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if kind not in _KINDS:
            raise KafkaException(Errors.UNSUPPORTED_VERSION, f"Custom entity type '{kind}' not supported")
        if kind in kinds:
            raise KafkaException(Errors.INVALID_REQUEST, f"Duplicate {_KINDS[kind]} filter component entity type")
        kinds.append(kind)
    if ADDRESS in kinds and len(kinds) > 1:
        raise KafkaException(Errors.INVALID_REQUEST, _MIXED)


def _passes(entity: QuotaEntity, filters: Mapping[str, QuotaFilter], *, is_strict: bool) -> bool:
    names = dict(entity)
    if is_strict and names.keys() - filters.keys():
        return False
    return all(
        kind in names and (each.match == "any" or names[kind] == (each.name if each.match == "exact" else None))
        for kind, each in filters.items()
    )


def _place(entity: QuotaEntity) -> tuple[EntityType, str, Mapping[str, ConfigType]]:
    """Where the quotas of an entity are stored, and which are allowed. Raises KafkaException."""
    if not entity:
        raise KafkaException(Errors.INVALID_REQUEST, "Invalid empty client quota entity")
    names: dict[str, str] = {}
    for kind, name in entity:
        if kind not in _KINDS:
            raise KafkaException(Errors.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise KafkaException(Errors.INVALID_REQUEST, f"Empty {kind} not supported")
        names[kind] = sanitized(name)
    if ADDRESS in names:
        if len(names) > 1:
            raise KafkaException(
                Errors.INVALID_REQUEST,
                "Invalid quota entity combination, IP entity should not be used with user/client ID entity.",
            )
        address = dict(entity)[ADDRESS]
        if address is not None and not is_address(address):
            raise KafkaException(Errors.INVALID_REQUEST, f"{names[ADDRESS]} is not a valid IP or resolvable host.")
        return "ips", names[ADDRESS], ADDRESS_QUOTAS
    if USER not in names:
        return "clients", names[CLIENT], CLIENT_QUOTAS
    if CLIENT not in names:
        return "users", names[USER], USER_CONFIGS
    return "users", f"{names[USER]}/clients/{names[CLIENT]}", CLIENT_QUOTAS


def _text(key: str, value: float, types: Mapping[str, ConfigType]) -> str:
    """A value as it is stored. Raises KafkaException."""
    type_ = types.get(key)
    if type_ is None:
        raise KafkaException(Errors.INVALID_REQUEST, f"Invalid configuration key {key}")
    if type_ is ConfigType.STRING:
        # A credential is not a quota: Kafka fails on it.
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR)
    if type_ is ConfigType.DOUBLE:
        return java_double(value)
    limit = _LIMITS[type_]
    # As Java converts a double to an integer: too large becomes the maximum, NaN becomes 0.
    whole = 0 if value != value else int(max(-limit - 1.0, min(float(limit), value + _EPSILON)))
    whole = min(whole, limit)
    if abs(float(whole) - value) > _EPSILON:
        raise KafkaException(Errors.INVALID_REQUEST, f"Configuration {key} must be a {type_.name} value")
    return str(whole)
