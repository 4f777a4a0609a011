"""Names of partitions and topics."""

from broker_core.groups.offsets import OFFSETS_TOPIC
from broker_core.transactions.log import TRANSACTION_TOPIC

INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTION_TOPIC)
_NO_INDEX = "/"
"""No topic has it in its name: it marks the topic before a negative index, which no partition has."""


def named(topic: str, index: int) -> str:
    """A partition's name in the core, `orders-0`."""
    return f"{topic}-{index}" if index >= 0 else f"{topic}{_NO_INDEX}{index}"


def split(partition: str) -> tuple[str, int]:
    """`orders-0` as topic and index."""
    topic, _, index = partition.rpartition("-")
    return (topic[:-1], -int(index)) if topic.endswith(_NO_INDEX) else (topic, int(index))
