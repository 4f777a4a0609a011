"""The loggers of a broker's process, which configurations of the type BROKER_LOGGER speak of (KIP-412). There are none
here: what is asked for is refused as Kafka does for loggers that it does not know (`RuntimeLoggerManager`,
`ConfigHelper`).
"""

from typing import Any

from broker_core.config_defs.java_text import is_integer
from broker_core.errors import KafkaError

Refusal = tuple[KafkaError, str]

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_ROOT = "root"
_NAMES = {_APPEND: "APPEND", _SUBTRACT: "SUBTRACT"}


def description(name: str, broker_id: int) -> Refusal | None:
    """Why nothing is told of the loggers of the broker with this name."""
    if not name:
        return KafkaError.INVALID_REQUEST, "Broker id must not be empty"
    if not is_integer(name):
        return KafkaError.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
    if int(name) != broker_id:
        return KafkaError.INVALID_REQUEST, f"Unexpected broker id, expected {broker_id} but received {name}"
    return None


def alteration(resource: Any, broker_id: int) -> Refusal | None:
    """Why levels cannot be changed like this; None where nothing shall change."""
    if not is_integer(resource.resource_name):
        return KafkaError.INVALID_REQUEST, f"Node id must be an integer, but it is: {resource.resource_name}"
    if int(resource.resource_name) != broker_id:
        # Kafka, too, tells its own id twice.
        return KafkaError.INVALID_REQUEST, f"Unexpected node id. Expected {broker_id}, but received {broker_id}"
    for config in resource.configs:
        operation = config.config_operation
        if operation == _DELETE and config.name == _ROOT:
            return KafkaError.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
        if operation in (_SET, _DELETE):
            return KafkaError.INVALID_CONFIG, f"Logger {config.name} does not exist!"
        named = f"{_NAMES[operation]} operation" if operation in _NAMES else f"Unknown operation type {operation}"
        return KafkaError.INVALID_REQUEST, f"{named} is not allowed for the BROKER_LOGGER resource"
    return None
