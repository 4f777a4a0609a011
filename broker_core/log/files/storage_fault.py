"""What is said of a file that cannot be used."""

from broker_core.errors import Errors, KafkaException

_MAX_OFFSET = 2**63 - 1
MAX_FILE_NAME_LENGTH = 255
"""What file systems accept, in bytes."""


class StorageFault(KafkaException):
    """A file of a log directory breaks a rule, so that the directory cannot be used as it is: KAFKA_STORAGE_ERROR.

    `is_io_error` tells how Kafka takes it: as an IOException, after which the directory is offline, or as an exception
    that nothing expects, which ends the start of the broker.
    """

    def __init__(self, path: str, rule: str, position: int = 0, *, is_io_error: bool = True) -> None:
        where = f", byte {position}" if position else ""
        message = f"Malformed file {path}{where}: {rule}; restore it or delete it"
        super().__init__(Errors.KAFKA_STORAGE_ERROR, message)
        self.path = path
        self.rule = rule
        self.position = position
        self.is_io_error = is_io_error


def offset_of(path: str) -> int:
    """The offset that a file of a log is named after. Raises StorageFault for a name that is none."""
    stem = path.rpartition("/")[2].partition(".")[0]
    if not (stem.isascii() and stem.isdigit()) or len(stem) > MAX_FILE_NAME_LENGTH or int(stem) > _MAX_OFFSET:
        raise StorageFault(path, f"its name must begin with an offset, not with {stem!r}", is_io_error=False)
    return int(stem)
