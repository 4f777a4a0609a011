"""Descriptions of failures that end an engine."""

from broker_core.refusals import KafkaException
from broker_core.texts import Value, message_of
from lab.runtime.zookeeper.server import ZookeeperError


def problem_of(error: KafkaException | ZookeeperError | OSError) -> Value:
    """The problem that stops the engine, in the reader's language if the lab has a text for it."""
    if isinstance(error, KafkaException):
        return message_of(error.code)
    return error.what if isinstance(error, ZookeeperError) else str(error)
