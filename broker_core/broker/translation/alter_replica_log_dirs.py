"""AlterReplicaLogDirs (API key 34) at a broker with one log directory: no replica can be moved
(`kafka.server.ReplicaManager#alterReplicaLogDirs`).
"""

from typing import Any

from broker_core.broker.translation.common import RequestContext, TargetBroker, by_topic, partitions_of
from broker_core.errors import Errors
from broker_core.log.files.storage_fault import MAX_FILE_NAME_LENGTH
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[34].response
#: The folder of a replica that is being moved has 32 hexadecimal digits, two dots or hyphens and "future" in its name
#: of at most 255 bytes.
_MAX_NAME_LENGTH = MAX_FILE_NAME_LENGTH - len(".-future") - 32


def body(request: Any, context: RequestContext) -> Any:
    """The response; nothing is moved."""
    rows = {
        partition: _error(context.broker, directory.path, partition)
        for directory in request.dirs
        for partition, _ in partitions_of(directory.topics)
    }
    return _WIRE.type(
        results=[
            _WIRE.AlterReplicaLogDirTopicResult(
                topic_name=topic,
                partitions=[
                    _WIRE.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error.code)
                    for index, error in errors
                ],
            )
            for topic, errors in by_topic(rows.items()).items()
        ]
    )


def _error(broker: TargetBroker, path: str, partition: str) -> Errors:
    if len(partition) > _MAX_NAME_LENGTH:
        return Errors.INVALID_TOPIC_EXCEPTION
    if path != broker.directory.path:
        return Errors.LOG_DIR_NOT_FOUND
    if partition in broker.partitions:
        return Errors.NONE
    is_elsewhere = partition in broker.metadata.partitions
    return Errors.REPLICA_NOT_AVAILABLE if is_elsewhere else Errors.UNKNOWN_TOPIC_OR_PARTITION
