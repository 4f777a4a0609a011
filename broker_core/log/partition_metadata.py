"""The file that ties a log directory to a topic id, `partition.metadata` (`PartitionMetadataFile`; KIP-516).

Two lines, "version: 0" and "topic_id: " with 22 characters of URL-safe base64, no line end behind the second.
"""

import re

from broker_core.errors import KafkaError, KafkaException
from broker_core.sim.disk import Disk

PARTITION_METADATA = "partition.metadata"
_CONTENT = re.compile(r"version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\n?")


def read_topic_id(disk: Disk, directory: str) -> str | None:
    """The topic id of a log directory, None without the file. Raises KAFKA_STORAGE_ERROR for a malformed one."""
    path = f"{directory}/{PARTITION_METADATA}"
    if not disk.exists(path):
        return None
    match = _CONTENT.fullmatch(disk.read_file(path).decode("utf-8", "replace"))
    if match is None:
        raise KafkaException(
            KafkaError.KAFKA_STORAGE_ERROR, f"Malformed file {path}: expected 'version: 0' and a topic id; delete it"
        )
    return match[1]


def ensure_topic_id(disk: Disk, directory: str, topic_id: str | None) -> str | None:
    """Writes the file if there is none and `topic_id` is known; returns the directory's topic id.

    Raises INCONSISTENT_TOPIC_ID when the directory belongs to another topic.
    """
    found = read_topic_id(disk, directory)
    if found is None and topic_id is not None:
        disk.replace_file(f"{directory}/{PARTITION_METADATA}", f"version: 0\ntopic_id: {topic_id}".encode())
        return topic_id
    if topic_id is not None and found != topic_id:
        raise KafkaException(
            KafkaError.INCONSISTENT_TOPIC_ID, f"{directory} belongs to topic id {found}, the request names {topic_id}"
        )
    return found
