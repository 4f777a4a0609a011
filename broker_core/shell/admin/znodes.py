"""Reads of the shell from ZooKeeper, with a session of its own."""

from typing import Any

import msgspec

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.zk.store import NoNode


def exists(cluster: ClusterApi, path: str) -> bool:
    """Whether there is a znode."""
    return cluster.zookeeper.outside.exists(path) is not None


def json_of(cluster: ClusterApi, path: str) -> dict[str, Any] | None:
    """The JSON object in a znode; None without a znode or without an object in it."""
    try:
        data, _ = cluster.zookeeper.outside.get(path)
        value = msgspec.json.decode(data)
    except (NoNode, msgspec.DecodeError):
        return None
    return value if isinstance(value, dict) else None


def text_of(cluster: ClusterApi, path: str) -> str:
    """The data of a znode as text; empty without a znode."""
    try:
        data, _ = cluster.zookeeper.outside.get(path)
    except NoNode:
        return ""
    return data.decode("utf-8", "replace")


def children(cluster: ClusterApi, path: str) -> list[str]:
    """The names of a znode's children, sorted; empty without a znode."""
    try:
        return cluster.zookeeper.outside.children(path)
    except NoNode:
        return []


def registered_brokers(cluster: ClusterApi) -> tuple[int, ...]:
    """The registered ids, in order; children that are not ids are ignored."""
    return tuple(sorted(int(name) for name in children(cluster, "/brokers/ids") if name.isdecimal()))
