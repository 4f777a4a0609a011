"""link: cuts between two nodes, latency, loss."""

from collections.abc import Sequence

import msgspec

from broker_core.config_defs.java_text import parse_integer
from broker_core.partitions import broker_node
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import ShellError, duration_us
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, not_understood, refuse
from broker_core.sim.faults import LinkFault
from broker_core.texts import text

ZOOKEEPER = "zk"
VERBS = ("cut", "restore", "latency", "loss", "reorder")
ONE_WAY = "--one-way"
MAX_LATENCY_US = 60_000_000


def _node(cluster: ClusterApi, word: str) -> str:
    """The name of a node given as `1`, `b1`, `zk` or a client's name. Raises ShellError."""
    name = broker_node(int(word)) if word.isdecimal() else word
    if name not in cluster.kernel.nodes:
        raise ShellError("shell.unknown_node", node=word, nodes=", ".join(_ends(cluster)))
    return name


def _ends(cluster: ClusterApi) -> list[str]:
    names = [name for name in sorted(cluster.kernel.nodes) if name in cluster.kernel.up]
    brokers = [str(broker_id) for broker_id in cluster.broker_ids]
    return [*brokers, *(name for name in names if not (name[0] == "b" and name[1:] in brokers))]


def _link(process: Process, arguments: list[str]) -> Running:
    one_way = ONE_WAY in arguments
    words = [word for word in arguments if word != ONE_WAY]
    verb = words[0] if words else ""
    wanted = 3 if verb in ("cut", "restore") else 4
    if verb not in VERBS or len(words) != wanted or (one_way and verb == "restore"):
        raise not_understood("link", arguments)
    a, b = (_node(process.cluster, word) for word in words[1:3])
    if a == b:
        raise UsageError(text("shell.link_to_itself", node=words[1]))
    if verb == "cut":
        return _cut(process, a, b, one_way)
    if verb == "restore":
        return _restore(process, a, b)
    return _degrade(process, verb, a, b, _amount(verb, words[3]), one_way)


def _amount(verb: str, word: str) -> int:
    """Microseconds of latency, or a percentage. Raises ShellError."""
    if verb == "latency":
        time_us = 0 if word == "0" else duration_us(word)
        if time_us > MAX_LATENCY_US:
            raise UsageError(text("shell.over_a_minute", time=word))
        return time_us
    percent = parse_integer(word.removesuffix("%"))
    if percent is None or not 0 <= percent <= 100:
        raise UsageError(text("shell.invalid_percentage", value=word))
    return percent


def _cut(process: Process, a: str, b: str, one_way: bool) -> Running:
    cut = process.cluster.kernel.cut_links
    if (a, b) in cut and (one_way or (b, a) in cut):
        if one_way:
            refuse(process, text("shell.link_cut_one_way", source=a, destination=b))
        else:
            refuse(process, text("shell.link_cut", a=a, b=b))
        return 1
    process.cluster.cut_link(a, b, one_way=one_way)
    yield from ()
    return 0


def _restore(process: Process, a: str, b: str) -> Running:
    if process.cluster.kernel.connected(a, b):
        refuse(process, text("shell.link_not_cut", a=a, b=b))
        return 1
    process.cluster.restore_link(a, b)
    yield from ()
    return 0


def _degrade(process: Process, verb: str, a: str, b: str, amount: int, one_way: bool) -> Running:
    if ZOOKEEPER in (a, b) and verb != "latency":
        refuse(process, text("shell.zookeeper_link"))
        return 1
    kernel = process.cluster.kernel
    field = {"latency": "latency_us", "loss": "loss_percent", "reorder": "reorder_percent"}[verb]
    for ends in ((a, b),) if one_way else ((a, b), (b, a)):
        before = kernel.link_faults.get(ends, LinkFault())
        kernel.set_link_fault(*ends, msgspec.structs.replace(before, **{field: amount}))
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if len(words) <= 3:
        return [name for name in _ends(cluster) if name not in words[1:-1]]
    if len(words) == 4 and words[0] in ("latency", "loss", "reorder"):
        return ["0", "200ms", "2s"] if words[0] == "latency" else ["0", "10%", "50%"]
    return [] if words[0] == "restore" or ONE_WAY in words[:-1] else [ONE_WAY]


COMMAND = Command(
    "link",
    text("help.link"),
    (
        ("link cut A B [--one-way]", text("help.link_cut")),
        ("link restore A B", text("help.link_restore")),
        ("link latency A B TIME [--one-way]", text("help.link_latency")),
        ("link loss A B PERCENT [--one-way]", text("help.link_loss")),
        ("link reorder A B PERCENT [--one-way]", text("help.link_reorder")),
    ),
    _link,
    complete=_complete,
)
