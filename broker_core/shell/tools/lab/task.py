"""task: the background work of brokers, at once instead of at its next turn."""

from collections.abc import Sequence

from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running, up_brokers
from broker_core.shell.grammar.registry import Command, broker_of, not_understood, refuse
from broker_core.texts import text

TASKS = {
    "retention": "deletes the segments that retention.ms, retention.bytes or the log start offset allow to delete",
    "flush": "flushes the logs whose flush.ms has passed",
    "recovery-points": "writes recovery-point-offset-checkpoint",
    "log-starts": "writes log-start-offset-checkpoint",
    "producer-expiration": "expires the state of idle producers",
    "deleted-logs": "removes the folders of deleted replicas after file.delete.delay.ms",
    "cleaner": "cleans the compacted logs that are dirty enough",
}
"""What `LogManager` calls its tasks, and what they do."""


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
    "Background tasks of brokers, run at once.",
    tuple((f"task {name} [N]", f"{what}: on broker N, or on all that are up") for name, what in TASKS.items()),
    _task,
    complete=_complete,
)
