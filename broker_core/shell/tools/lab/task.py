"""task: runs background tasks of brokers immediately instead of at their next time."""

from collections.abc import Sequence

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running, up_brokers
from broker_core.shell.grammar.registry import Command, broker_of, not_understood, refuse
from broker_core.texts import text

TASKS = {
    "retention": text("help.task_retention"),
    "flush": text("help.task_flush"),
    "recovery-points": text("help.task_recovery_points"),
    "log-starts": text("help.task_log_starts"),
    "producer-expiration": text("help.task_producer_expiration"),
    "deleted-logs": text("help.task_deleted_logs"),
    "cleaner": text("help.task_cleaner"),
}
"""Kafka's names of the tasks (`LogManager`), with a description."""


def _task(process: Process, arguments: list[str]) -> Running:
    if len(arguments) not in (1, 2) or arguments[0] not in TASKS:
        raise not_understood("task", arguments)
    broker_ids = [broker_of("task", process, arguments[1])] if len(arguments) == 2 else None
    return _run(process, arguments[0], broker_ids)


def _run(process: Process, name: str, broker_ids: list[int] | None) -> Running:
    yield from ()
    cluster = process.cluster
    for broker_id in up_brokers(cluster) if broker_ids is None else broker_ids:
        state = cluster.broker_state(broker_id)
        if state != "up":
            refuse(process, text("shell.task_state", broker=broker_id, state=state, task=name))
            return 1
        cluster.run_task(broker_id, name)
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(TASKS)
    return [str(broker_id) for broker_id in up_brokers(cluster)] if len(words) == 2 else []


COMMAND = Command(
    "task",
    text("help.task"),
    tuple((f"task {name} [N]", text("help.task_on", what=what)) for name, what in TASKS.items()),
    _task,
    complete=_complete,
)
