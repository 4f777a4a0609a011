"""message: actions on one message in flight."""

from collections.abc import Callable, Sequence

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import duration_us
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, not_understood, refuse
from broker_core.sim.faults import MessageInFlightError
from broker_core.texts import text

FORMS = (
    ("message drop RPC", text("help.message_drop")),
    ("message delay RPC TIME", text("help.message_delay")),
    ("message duplicate RPC", text("help.message_duplicate")),
    ("message deliver RPC", text("help.message_deliver")),
)
VERBS = tuple(form.split()[1] for form, _ in FORMS)


def _message(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    if verb not in VERBS or len(arguments) != (3 if verb == "delay" else 2):
        raise not_understood("message", arguments)
    rpc = arguments[1]
    kernel = process.cluster.kernel
    if verb == "delay":
        time_us = duration_us(arguments[2])
        return _do(process, lambda: kernel.delay_message(rpc, time_us))
    act = {"drop": kernel.drop_message, "duplicate": kernel.duplicate_message, "deliver": kernel.deliver_message}[verb]
    return _do(process, lambda: act(rpc))


def _do(process: Process, act: Callable[[], None]) -> Running:
    yield from ()
    try:
        act()
    except MessageInFlightError as error:
        refuse(process, error.message)
        return 1
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if len(words) == 2:
        return sorted(cluster.kernel.in_flight, key=lambda rpc: int(rpc[1:]))
    return ["200ms", "2s"] if len(words) == 3 and words[0] == "delay" else []


COMMAND = Command("message", text("help.message"), FORMS, _message, complete=_complete)
