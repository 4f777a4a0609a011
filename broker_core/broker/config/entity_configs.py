"""The configurations below /config, and the notification that follows each change (`AdminZkClient`)."""

from collections.abc import Mapping
from urllib.parse import quote, unquote_plus

from broker_core.config_defs.java_text import hash_map_order
from broker_core.errors import Errors, KafkaException
from broker_core.sim.zookeeper import ZkClient
from broker_core.zk.store import NodeExists, NoNode
from broker_core.zk.znodes import ConfigChangeZnode, ConfigZnode, ControllerZnode, EntityType, ZnodeDataError

CLIENT_ENTITIES: tuple[EntityType, ...] = ("clients", "users", "ips")
"""Kinds of entities whose znodes are deleted when they are empty."""
_CHILDREN_CAPACITY = 8
"""The capacity of the Java set in which ZooKeeper keeps a znode's children."""


def read_entity(zk: ZkClient, kind: EntityType, name: str) -> dict[str, str]:
    """The stored configuration of an entity; empty if it cannot be read. `name` may be a path, `alice/clients/c1`."""
    try:
        data, _ = zk.get(ConfigZnode.path(kind, name))
        return ConfigZnode.decode(kind, name, data).config
    except (NoNode, ZnodeDataError):
        return {}


def entity_names(zk: ZkClient, path: str) -> list[str]:
    """The znodes below one of /config, such as `users` or `users/alice/clients`, in the order of ZooKeeper's set."""
    try:
        return hash_map_order(sorted(zk.children(f"{ConfigZnode.PARENT}/{path}")), _CHILDREN_CAPACITY)
    except NoNode:
        return []


def write_entity(
    zk: ZkClient, kind: EntityType, name: str, configs: Mapping[str, str], *, names_only: bool = False
) -> None:
    """Writes the configuration, then the notification that names it (`AdminZkClient.changeEntityConfig`). `names_only`:
    the notification contains only the topic's name.

    Raises KafkaException when there is no controller.
    """
    if zk.exists(ControllerZnode.PATH) is None:
        raise KafkaException(
            Errors.STALE_CONTROLLER_EPOCH, f"Cannot set entity configs for {kind} {name} when there is no controller."
        )
    path, data = ConfigZnode.path(kind, name), ConfigZnode(config=dict(configs)).encode()
    if not configs and kind in CLIENT_ENTITIES and not entity_names(zk, f"{kind}/{name}"):
        _delete_recursively(zk, _to_delete(zk, kind, name))
    else:
        _set_or_create(zk, path, data)
    change = ConfigChangeZnode(entity_path=f"{kind}/{name}").encode()
    if names_only:
        change = ConfigChangeZnode.encode_topic(name)
    zk.create(ConfigChangeZnode.SEQUENCE_PATH, change, sequential=True, makepath=True)


def _set_or_create(zk: ZkClient, path: str, data: bytes) -> None:
    try:
        zk.set(path, data)
    except NoNode:
        try:
            zk.create(path, data, makepath=True)
        except NodeExists:
            zk.set(path, data)


def _to_delete(zk: ZkClient, kind: EntityType, name: str) -> str:
    """The znode of an entity without configurations, with the parents that hold nothing else."""
    user, _, client = name.partition("/clients/")
    if client and entity_names(zk, f"users/{user}/clients") == [client]:
        name = f"{user}/clients"
        if not read_entity(zk, "users", user) and entity_names(zk, f"users/{user}") == ["clients"]:
            name = user
    return ConfigZnode.path(kind, name)


def _delete_recursively(zk: ZkClient, path: str) -> None:
    try:
        for child in sorted(zk.children(path)):
            _delete_recursively(zk, f"{path}/{child}")
        zk.delete(path)
    except NoNode:
        return


def sanitized(name: str | None) -> str:
    """The znode name of a user, client or address; None is the default of its kind (`Sanitizer.sanitize`).

    Raises KafkaException for a name that is invalid in ZooKeeper.
    """
    if name in (".", ".."):
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR)
    return ConfigZnode.DEFAULT_ENTITY if name is None else quote(name, safe="").replace("~", "%7E")


def desanitized(znode: str) -> str | None:
    """The name for a znode name; None for the default."""
    return None if znode == ConfigZnode.DEFAULT_ENTITY else unquote_plus(znode)
