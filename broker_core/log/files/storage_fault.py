"""The exception for a file that cannot be used."""

from broker_core.config_defs import LONG_MAX
from broker_core.errors import Errors, KafkaException
from broker_core.texts import Text, text

MAX_FILE_NAME_LENGTH = 255
"""What file systems accept, in bytes."""


class StorageFault(KafkaException):
    """A file of a log directory breaks a rule, so that the directory cannot be used as it is: KAFKA_STORAGE_ERROR.

    `is_io_error`: Kafka throws an IOException, which takes the directory offline; otherwise an unexpected exception,
    which aborts the broker's startup.
    """

    def __init__(self, path: str, rule: Text | str, position: int = 0, *, is_io_error: bool = True) -> None:
        super().__init__(Errors.KAFKA_STORAGE_ERROR)
        self.path = path
        self.rule = rule
        self.position = position
        self.is_io_error = is_io_error

    @property
    def text(self) -> Text:
        """What is wrong with which file, and what to do."""
        if not self.position:
            return text("fault.malformed_file", file=self.path, rule=self.rule)
        return text("fault.malformed_file_at", file=self.path, position=self.position, rule=self.rule)

    def __str__(self) -> str:
        return f"{self.error.name}: {self.text}"


def offset_of(path: str) -> int:
    """The offset in the name of a log's file. Raises StorageFault for a name that is not an offset."""
    stem = path.rpartition("/")[2].partition(".")[0]
    if not (stem.isascii() and stem.isdigit()) or len(stem) > MAX_FILE_NAME_LENGTH or int(stem) > LONG_MAX:
        raise StorageFault(path, text("fault.file_name", stem=repr(stem)), is_io_error=False)
    return int(stem)
