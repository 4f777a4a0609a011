"""consumer: the lab's simple consumers, which follow one partition without a group."""

from collections.abc import Sequence

from broker_core.clients.consumer import ConsumerSettings
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import partitions
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, not_understood, partition_of, refuse
from broker_core.shell.tools.lab.group_consumer import GROUP_VERBS, complete_group_consumer, group_consumer
from broker_core.shell.tools.lab.producer import client_name
from broker_core.texts import text


def _consumer(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    if verb in GROUP_VERBS:
        return group_consumer(process, verb, arguments[1:])
    if verb not in ("follow", "unfollow") or len(arguments) < 2:
        raise not_understood("consumer", arguments)
    name, rest = client_name("consumer", arguments[1]), arguments[2:]
    if verb == "unfollow":
        if rest:
            raise UsageError(text("shell.unexpected_arguments", words=" ".join(rest)))
        return _unfollow(process, name)
    if len(rest) not in (1, 3) or (len(rest) == 3 and rest[1] != "--from"):
        raise not_understood("consumer", arguments)
    start = rest[2] if len(rest) == 3 else "latest"
    if start not in ("earliest", "latest") and not start.isdigit():
        raise UsageError(text("shell.invalid_start", start=start))
    return _follow(process, name, partition_of(rest[0]), start)


def _follow(process: Process, name: str, partition: str, start: str) -> Running:
    clients = process.cluster.clients
    if not clients.is_free(name):
        refuse(process, text("shell.name_taken", name=name, command="consumer unfollow"))
        return 1
    settings = ConsumerSettings(auto_offset_reset="earliest" if start == "earliest" else "latest")
    shown = (("from", start), ("auto.offset.reset", settings.auto_offset_reset), ("fetch.max.wait.ms", "500"))
    clients.open_consumer(name, partition, start, settings, shown)
    yield from ()
    return 0


def _unfollow(process: Process, name: str) -> Running:
    clients = process.cluster.clients
    if name not in clients.consumers:
        refuse(process, text("shell.no_follower", name=name))
        return 1
    clients.close(name)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return ["follow", "unfollow", *GROUP_VERBS]
    if words[0] in GROUP_VERBS:
        return complete_group_consumer(cluster, words)
    if len(words) == 2:
        return list(cluster.clients.consumers) if words[0] == "unfollow" else []
    if words[0] != "follow":
        return []
    return [[], partitions(cluster), ["--from"], ["earliest", "latest"]][len(words) - 2] if len(words) <= 5 else []


COMMAND = Command(
    "consumer",
    "Consumers that follow one partition, and members of groups.",
    (
        ("consumer follow NAME T-P [--from OFFSET|earliest|latest]", "follows the partition; default: latest"),
        ("consumer unfollow NAME", "closes it"),
        (
            "consumer start NAME --group G --topic T[,T2] [--assignor A[,A2]] [--instance ID] [--isolation L]",
            "starts a member of a group; it reads from the beginning without a committed offset",
        ),
        (
            "... [--from beginning|latest] [--reset earliest|latest|none] [--auto-commit true|false]"
            " [--auto-commit-interval-ms MS]",
            "where to start without a valid offset; whether and how often its position is committed",
        ),
        (
            "... [--session-timeout-ms MS] [--heartbeat-interval-ms MS]",
            "session timeout and heartbeat interval; default: 6000 and 500",
        ),
        (
            "... --process-ms MS [--max-poll-records N] [--max-poll-interval-ms MS]",
            "processing time of each record before the next poll",
        ),
        ("consumer stop NAME", "closes it: it leaves the group; prints the records it has read"),
        ("consumer kill NAME", "SIGKILL: the group notices when its session times out"),
        ("consumer freeze NAME / thaw NAME", "SIGSTOP, as in a long GC pause: no polls, no heartbeats / SIGCONT"),
        ("consumer commit NAME", "commitSync: commits its position"),
        (
            "consumer seek NAME T-P@OFFSET|T-P@beginning|T-P@end",
            "reads on from there; committed offsets stay",
        ),
        ("consumer output NAME", "prints the records it has read"),
    ),
    _consumer,
    complete=_complete,
)
