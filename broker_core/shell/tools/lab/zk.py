"""zk: shows and changes znodes, like a ZooKeeper shell."""

from collections.abc import Iterator, Sequence

import msgspec

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError
from broker_core.sim.zookeeper import ZkClient
from broker_core.texts import text
from broker_core.zk.store import InvalidPath, ZkError, validate_path

SERVERS_OWN = "zookeeper"
"""ZooKeeper's own znodes; they belong to no cluster."""

VERBS = {"ls": (1, 1), "tree": (1, 1), "get": (1, 1), "stat": (1, 1), "set": (2, 2), "create": (1, 2), "delete": (1, 1)}
"""Verb -> minimum and maximum number of words after it."""


def _zk(process: Process, arguments: list[str]) -> Running:
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    recursive = verb == "ls" and rest[:1] == ["-R"]
    if recursive:
        rest = rest[1:]
    least, most = VERBS.get(verb, (1, 0))
    if not least <= len(rest) <= most:
        line = " ".join(["zk", *arguments])
        raise UsageError(text("shell.incomplete", line=line) if arguments else text("shell.zk_incomplete"))
    try:
        validate_path(rest[0])
    except InvalidPath:
        raise ShellError("shell.invalid_path", path=rest[0]) from None
    return (
        _look(process, verb, rest[0], recursive)
        if verb in ("ls", "tree", "get", "stat")
        else _change(process, verb, rest)
    )


def _look(process: Process, verb: str, path: str, recursive: bool) -> Running:
    client = process.cluster.zookeeper.outside
    try:
        if verb == "get":
            process.out(shown(client.get(path)[0]))
        elif verb == "stat":
            stat = client.get(path)[1]
            process.out(f"dataVersion = {stat.version}")
            process.out(f"cversion = {stat.cversion}")
            process.out(f"ephemeral = {'yes' if stat.ephemeral_owner else 'no'}")
            process.out(f"numChildren = {stat.num_children}")
        elif verb == "tree":
            for below in _walk(client, path):
                data, stat = client.get(below)
                process.out(f"{below}{' (ephemeral)' if stat.ephemeral_owner else ''} = {shown(data)}")
        elif recursive:
            for below in _walk(client, path):
                process.out(below)
        else:
            names = client.children(path)
            if path == "/":
                names = sorted({*names, SERVERS_OWN})
            process.out(f"[{', '.join(names)}]")
    except ZkError as error:
        process.out(str(error))
    yield from ()
    return 0


def _change(process: Process, verb: str, arguments: list[str]) -> Running:
    client = process.cluster.zookeeper.outside
    path = arguments[0]
    data = arguments[1].encode() if len(arguments) > 1 else b""
    try:
        if verb == "delete":
            client.delete(path)
        elif verb == "set":
            client.set(path, data)
        else:
            client.create(path, data)
            process.out(f"Created {path}")
    except ZkError as error:
        process.out(str(error))
        return 0
    yield from ()
    return 0


def _walk(client: ZkClient, path: str) -> Iterator[str]:
    yield path
    for name in client.children(path):
        yield from _walk(client, f"{path.rstrip('/')}/{name}")


def shown(data: bytes) -> str:
    """The data of a znode for display: JSON compact with sorted keys, `null` for nothing."""
    if not data:
        return "null"
    try:
        value = msgspec.json.decode(data)
    except msgspec.DecodeError:
        value = None
    if isinstance(value, dict | list):
        return msgspec.json.encode(value, order="deterministic").decode()
    return data.decode("utf-8", "backslashreplace")


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    before, last = list(words[:-1]), words[-1]
    if not before:
        return list(VERBS)
    if len(before) > (2 if before[1:2] == ["-R"] else 1):
        return []
    parent = last.rpartition("/")[0]
    # Read without a request: a completion is not an input, so it must leave no trace in the store.
    return [path for path, _, _ in cluster.zookeeper.store.tree() if path.rpartition("/")[0] == parent]


COMMAND = Command(
    "zk",
    text("help.zk"),
    (
        ("zk ls [-R] PATH", text("help.zk_ls")),
        ("zk tree PATH", text("help.zk_tree")),
        ("zk get PATH", text("help.zk_get")),
        ("zk stat PATH", text("help.zk_stat")),
        ("zk set PATH DATA", text("help.zk_set")),
        ("zk create PATH [DATA]", text("help.zk_create")),
        ("zk delete PATH", text("help.zk_delete")),
    ),
    _zk,
    complete=_complete,
)
