"""What is wrong with the bytes of records, as a message."""

from broker_core.texts import Text


class RecordFault(ValueError):
    """Base of what readers of records raise. `rule`: what was found, and what it should be.

    The validator's rules, which only become the message of a `KafkaException`, are prose.
    """

    def __init__(self, rule: Text | str) -> None:
        super().__init__(rule)
        self.rule = rule


def rule_of(error: Exception) -> Text | str:
    """What is wrong according to a fault, or to an exception of a codec or of Python."""
    return error.rule if isinstance(error, RecordFault) else str(error)
