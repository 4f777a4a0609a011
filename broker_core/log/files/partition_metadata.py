"""The file with the topic id of a log directory, `partition.metadata` (`PartitionMetadataFile`; KIP-516).

Two lines, "version: 0" and "topic_id: " with 22 characters of URL-safe base64, no line end after the second.
"""

import re
from base64 import urlsafe_b64decode

from broker_core.errors import Errors, KafkaException
from broker_core.log.files.storage_fault import StorageFault
from broker_core.sim.disk import Disk
from broker_core.texts import text

PARTITION_METADATA = "partition.metadata"
_SEPARATOR = re.compile(r":\s+")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")


def read_topic_id(disk: Disk, directory: str) -> str | None:
    """The topic id of a log directory, None without the file. Raises StorageFault for a malformed one.

    As in Kafka, the names before the colons and further lines are ignored, and a later version is read as this one.
    """
    path = f"{directory}/{PARTITION_METADATA}"
    if not disk.exists(path):
        return None
    lines = disk.read_file(path).decode("utf-8", "replace").splitlines()
    version = _value(path, lines, 0, "version: 0")
    if not version.isdecimal():
        raise StorageFault(path, text("fault.metadata_version", version=repr(version)))
    topic_id = _value(path, lines, 1, "topic_id: and 22 characters")
    if _TOPIC_ID.fullmatch(topic_id) is None:
        raise StorageFault(path, text("fault.topic_id", topic_id=repr(topic_id)), is_io_error=False)
    if not any(urlsafe_b64decode(topic_id + "==")):
        raise StorageFault(path, text("fault.topic_id_zero"))
    return topic_id


def _value(path: str, lines: list[str], number: int, expected: str) -> str:
    if number >= len(lines):
        raise StorageFault(path, text("fault.line_missing", line=number + 1, expected=expected), is_io_error=False)
    parts = _SEPARATOR.split(lines[number])
    if len(parts) != 2:
        raise StorageFault(
            path, text("fault.line_malformed", line=number + 1, found=repr(lines[number]), expected=expected)
        )
    return parts[1]


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
            Errors.INCONSISTENT_TOPIC_ID,
            text("refused.topic_id", directory=directory, found=str(found), requested=topic_id),
        )
    return found
