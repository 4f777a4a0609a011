"""The loggers of a broker's process and their levels: the resource type BROKER_LOGGER (KIP-412;
`kafka.utils.Log4jController`, `RuntimeLoggerManager`, `ConfigHelper`).

A broker of the lab writes no log; it keeps the levels until its process ends. The names are those observed on brokers
of 3.9.1, with the root at WARN.
"""

from broker_core.broker.admin.logger_names import LOGGER_NAMES
from broker_core.config_defs.java_text import parse_integer
from broker_core.era_configs import ConfigBehaviour
from broker_core.errors import Errors, KafkaException
from broker_core.wire.messages import AlterConfigOp, ConfigEntry

ROOT = "root"
FIRST_LEVEL = "WARN"
"""The level of the root, which loggers without a level inherit."""


class Loggers:
    """The loggers of the broker `broker_id`. `behaviour`: how its release checks changes and words errors."""

    def __init__(self, broker_id: int, behaviour: ConfigBehaviour) -> None:
        self._broker_id = broker_id
        self._behaviour = behaviour
        self._levels = {ROOT: FIRST_LEVEL}
        """The levels that were set."""

    def entries(self, name: str) -> list[ConfigEntry]:
        """All loggers of the broker of this name, which must be this broker. Raises KafkaException."""
        if not name:
            raise KafkaException(Errors.INVALID_REQUEST, "Broker id must not be empty")
        if (broker_id := parse_integer(name)) is None:
            raise KafkaException(Errors.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        if broker_id != self._broker_id:
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Unexpected broker id, expected {self._broker_id} but received {name}"
            )
        return [
            ConfigEntry(logger, self._level(logger), "DYNAMIC_BROKER_LOGGER_CONFIG") for logger in (ROOT, *LOGGER_NAMES)
        ]

    def alter(self, name: str, ops: tuple[AlterConfigOp, ...], validate_only: bool) -> None:
        """Sets levels, or removes them: a logger without a level inherits its parent's.

        Raises KafkaException and UnknownOperationError.
        """
        if name or not self._behaviour.accepts_unnamed_loggers:
            self._check_broker(name)
        for op in ops:
            _check(op, self._behaviour.logger_levels)
        if validate_only:
            return
        for op in ops:
            if op.operation == "DELETE":
                self._levels.pop(op.name, None)
            else:
                self._levels[op.name] = op.value or ""

    def _check_broker(self, name: str) -> None:
        called = self._behaviour.broker_called
        if (broker_id := parse_integer(name)) is None:
            raise KafkaException(Errors.INVALID_REQUEST, f"{called} id must be an integer, but it is: {name}")
        if broker_id != self._broker_id:
            why = self._behaviour.unexpected_logger_broker.format(own=self._broker_id, name=name)
            raise KafkaException(Errors.INVALID_REQUEST, why)

    def _level(self, logger: str) -> str:
        while logger and logger not in self._levels:
            logger = logger.rpartition(".")[0]
        return self._levels[logger or ROOT]


class UnknownOperationError(LookupError):
    """An operation on a logger that Kafka does not expect, which fails there as an unforeseen error."""


def _check(op: AlterConfigOp, levels: tuple[str, ...]) -> None:
    if op.operation == "UNKNOWN":
        raise UnknownOperationError(op.name)
    if op.operation in ("APPEND", "SUBTRACT"):
        raise KafkaException(
            Errors.INVALID_REQUEST, f"{op.operation} operation is not allowed for the BROKER_LOGGER resource"
        )
    if op.operation == "DELETE" and op.name == ROOT:
        raise KafkaException(Errors.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    if op.name != ROOT and op.name not in LOGGER_NAMES:
        raise KafkaException(Errors.INVALID_CONFIG, f"Logger {op.name} does not exist!")
    if op.operation == "SET" and op.value not in levels:
        given = "null" if op.value is None else op.value
        raise KafkaException(
            Errors.INVALID_CONFIG,
            f"Cannot set the log level of {op.name} to {given} as it is not a supported log level. "
            f"Valid log levels are {', '.join(levels)}",
        )
