"""hold and release: the fetch requests of one broker to another."""

from collections.abc import Callable, Sequence

from broker_core.partitions import broker_node
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, broker_of, not_understood, refuse
from broker_core.texts import text


def _start(verb: str) -> Callable[[Process, list[str]], Running]:
    def start(process: Process, arguments: list[str]) -> Running:
        if len(arguments) != 3 or arguments[0] != "fetch":
            raise not_understood(verb, arguments)
        follower, leader = (broker_of(verb, process, word) for word in arguments[1:])
        if follower == leader:
            raise UsageError(text("shell.own_follower", broker=follower))
        return _do(process, verb, broker_node(follower), broker_node(leader))

    return start


def _do(process: Process, verb: str, follower: str, leader: str) -> Running:
    kernel = process.cluster.kernel
    is_held = (follower, leader) in kernel.held_fetches
    if is_held == (verb == "hold"):
        if is_held:
            refuse(process, text("shell.fetches_held", follower=follower, leader=leader))
        else:
            refuse(process, text("shell.fetches_not_held", follower=follower, leader=leader))
        return 1
    if verb == "hold":
        process.cluster.hold_fetches(follower, leader)
    else:
        process.cluster.release_fetches(follower, leader)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return ["fetch"]
    return [str(each) for each in cluster.broker_ids if str(each) not in words[1:-1]] if len(words) <= 3 else []


COMMANDS = (
    Command(
        "hold",
        text("help.hold"),
        (
            (
                "hold fetch A B",
                text("help.hold_fetch"),
            ),
        ),
        _start("hold"),
        complete=_complete,
    ),
    Command(
        "release",
        text("help.release"),
        (("release fetch A B", text("help.release_fetch")),),
        _start("release"),
        complete=_complete,
    ),
)
