"""Failures of the operating system, as errors of Kafka."""

import errno
from typing import Protocol

from broker_core.errors import Errors, KafkaException
from broker_core.texts import text


class FailingDisk(Protocol):
    """A disk that records failures."""

    def failed(self, path: str, error: OSError) -> KafkaException:
        """Records a failed write of the operating system, and returns the exception."""
        ...


class storage_errors:
    """Converts a failure of the operating system to KAFKA_STORAGE_ERROR with a message that says what to do. The disk
    records it.
    """

    __slots__ = ("_disk", "_path")

    def __init__(self, disk: "FailingDisk", path: str) -> None:
        self._disk = disk
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._disk.failed(self._path, error) from error


def storage_error(path: str, error: OSError) -> KafkaException:
    """KAFKA_STORAGE_ERROR for a failure at `path`."""
    problem = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        return KafkaException(Errors.KAFKA_STORAGE_ERROR, text("refused.disk_full", file=path, problem=problem))
    return KafkaException(Errors.KAFKA_STORAGE_ERROR, text("refused.disk", file=path, problem=problem))
