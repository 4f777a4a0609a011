"""Failures of the operating system, as errors of Kafka."""

import errno

from broker_core.errors import Errors, KafkaException
from broker_core.texts import text


class storage_errors:
    """Turns a failure of the operating system into KAFKA_STORAGE_ERROR with a sentence that says what to do."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise storage_error(self._path, error) from error


def storage_error(path: str, error: OSError) -> KafkaException:
    """KAFKA_STORAGE_ERROR for a failure at `path`."""
    problem = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        return KafkaException(Errors.KAFKA_STORAGE_ERROR, text("refused.disk_full", file=path, problem=problem))
    return KafkaException(Errors.KAFKA_STORAGE_ERROR, text("refused.disk", file=path, problem=problem))
