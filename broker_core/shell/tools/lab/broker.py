"""broker: starts, stops, kills and suspends a broker's process."""

from collections.abc import Callable, Sequence

from broker_core.cluster import BrokerState
from broker_core.shell.admin import znodes
from broker_core.shell.admin.conditions import brokers_are
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running, Until, up_brokers
from broker_core.shell.grammar.registry import Command, broker_of, not_understood, refuse
from broker_core.texts import Text, text

VERBS: dict[str, tuple[tuple[BrokerState, ...], Text]] = {
    "kill": (("up", "starting", "frozen", "exiting"), text("help.broker_kill")),
    "stop": (("up", "starting"), text("help.broker_stop")),
    "start": (("down",), text("help.broker_start")),
    "freeze": (("up", "starting"), text("help.broker_freeze")),
    "thaw": (("frozen",), text("help.broker_thaw")),
    "powerloss": (
        ("up", "starting", "frozen", "exiting", "down"),
        text("help.broker_powerloss"),
    ),
}
"""Verb -> the states in which it is possible, and its function."""

REGISTRATION_US = 30_000_000
STOP_US = 120_000_000
START_US = 40_000_000


def _broker(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 2 or arguments[0] not in VERBS:
        raise not_understood("broker", arguments)
    verb = arguments[0]
    broker_id = broker_of("broker", process, arguments[1])
    return _do(process, verb, broker_id)


def _do(process: Process, verb: str, broker_id: int) -> Running:
    cluster = process.cluster
    state = cluster.broker_state(broker_id)
    possible = VERBS[verb][0]
    if state not in possible:
        states = " / ".join(possible)
        refuse(process, text("shell.broker_state", broker=broker_id, state=state, verb=verb, states=states))
        return 1
    if verb == "start":
        return (yield from _start(process, broker_id))
    actions: dict[str, Callable[[int], None]] = {
        "kill": cluster.kill_broker,
        "stop": cluster.stop_broker,
        "freeze": cluster.freeze_broker,
        "thaw": cluster.thaw_broker,
        "powerloss": cluster.power_loss,
    }
    actions[verb](broker_id)
    if verb == "stop":
        gone = yield Until(lambda cluster: cluster.broker_state(broker_id) == "down", process.now_us + STOP_US)
        if not gone:
            process.out("[timeout]")
    return 0


def _start(process: Process, broker_id: int) -> Running:
    """Starts when the old registration has expired, and waits until all live brokers know each other."""
    registration = f"/brokers/ids/{broker_id}"
    yield Until(lambda cluster: not znodes.exists(cluster, registration), process.now_us + REGISTRATION_US)
    state = process.cluster.broker_state(broker_id)
    if state != "down":
        refuse(process, text("shell.broker_start_state", broker=broker_id, state=state))
        return 1
    process.cluster.start_broker(broker_id)
    up = yield Until(_all_up, process.now_us + START_US)
    failure = process.cluster.start_failure(broker_id)
    if failure:
        refuse(process, text("shell.broker_start_failed", broker=broker_id, reason=failure))
        return 1
    if not up:
        process.out("[timeout]")
    return 0


def _all_up(cluster: ClusterApi) -> bool:
    """Whether every process that runs and is not frozen is registered, and knows all others and the controller."""
    states = {broker_id: cluster.broker_state(broker_id) for broker_id in cluster.broker_ids}
    registered = znodes.registered_brokers(cluster)
    controller = (znodes.json_of(cluster, "/controller") or {}).get("brokerid")
    return (
        "starting" not in states.values()
        and all(broker_id in registered for broker_id, state in states.items() if state == "up")
        and brokers_are(registered)(cluster)
        and all(cluster.metadata_of(broker_id).controller == controller for broker_id in up_brokers(cluster))
    )


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    possible = VERBS[words[0]][0] if words[0] in VERBS else ()
    return [
        str(broker_id)
        for broker_id in cluster.broker_ids
        if len(words) == 2 and cluster.broker_state(broker_id) in possible
    ]


COMMAND = Command(
    "broker",
    text("help.broker"),
    tuple((f"broker {verb} N", what) for verb, (_, what) in VERBS.items()),
    _broker,
    complete=_complete,
)
