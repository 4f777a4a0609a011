"""link: cuts between two nodes."""

from collections.abc import Sequence

from broker_core.shell.cluster_api import ClusterApi
from broker_core.shell.commands import Command, register, usage_error
from broker_core.shell.parser import ShellError
from broker_core.shell.process import Process, Running

ZOOKEEPER = "zk"


def _node(cluster: ClusterApi, word: str) -> str:
    """A node's name from `1`, `b1`, `zk` or a client's name. Raises ShellError."""
    name = f"b{word}" if word.isdigit() else word
    if name not in cluster.kernel.nodes:
        raise ShellError(
            f"There is no node {word!r}.",
            "a broker's number, zk, or a client: " + ", ".join(_ends(cluster)) + ".",
            "Name two of these, as in: link cut 1 zk.",
        )
    return name


def _ends(cluster: ClusterApi) -> list[str]:
    names = [name for name in sorted(cluster.kernel.nodes) if name in cluster.kernel.up]
    brokers = [str(broker_id) for broker_id in cluster.broker_ids]
    return [*brokers, *(name for name in names if not (name[0] == "b" and name[1:] in brokers))]


def _link(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 3 or arguments[0] not in ("cut", "restore"):
        raise usage_error("link", f"link {' '.join(arguments)} is not understood.")
    a, b = (_node(process.cluster, word) for word in arguments[1:])
    if a == b:
        raise usage_error("link", f"{arguments[1]} has no link to itself.")
    return _do(process, arguments[0], a, b)


def _do(process: Process, verb: str, a: str, b: str) -> Running:
    cluster = process.cluster
    if cluster.kernel.connected(a, b) != (verb == "cut"):
        process.err(f"The link between {a} and {b} is {'cut already' if verb == 'cut' else 'not cut'}.")
        return 1
    if verb == "cut":
        cluster.cut_link(a, b)
    else:
        cluster.restore_link(a, b)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return ["cut", "restore"]
    return [name for name in _ends(cluster) if name not in words[1:-1]] if len(words) <= 3 else []


register(
    Command(
        "link",
        "Cut a network link between two nodes, or restore it.",
        (("link cut A B", "nothing passes between A and B; 1, 2, 3, zk"), ("link restore A B", "the link works again")),
        _link,
        complete=_complete,
    )
)
