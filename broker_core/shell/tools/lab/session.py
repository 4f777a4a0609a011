"""session: the ZooKeeper session of a broker, independent of its process."""

from collections.abc import Sequence

from broker_core.partitions import broker_node
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, broker_of, not_understood, refuse
from broker_core.texts import text


def _session(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 2 or arguments[0] != "expire":
        raise not_understood("session", arguments)
    return _expire(process, broker_of("session", process, arguments[1]))


def _expire(process: Process, broker_id: int) -> Running:
    if not process.cluster.zookeeper.has_session(broker_node(broker_id)):
        refuse(process, text("shell.no_session", broker=broker_id))
        return 1
    process.cluster.expire_session(broker_id)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return ["expire"]
    has_session = cluster.zookeeper.has_session
    return [str(each) for each in cluster.broker_ids if len(words) == 2 and has_session(broker_node(each))]


COMMAND = Command(
    "session",
    text("help.session"),
    (
        (
            "session expire N",
            text("help.session_expire"),
        ),
    ),
    _session,
    complete=_complete,
)
