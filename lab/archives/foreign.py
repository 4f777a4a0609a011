"""What goes wrong with data that was perhaps not written by a lab."""

import struct

import msgspec

from broker_core.refusals import ClusterError, KafkaException, ShellError

FOREIGN_DATA_ERRORS = (
    msgspec.MsgspecError, ClusterError, KafkaException, ShellError, ValueError, TypeError, LookupError, AttributeError,
    ArithmeticError, RecursionError, struct.error, OSError,
)  # fmt: skip
"""What reading or folding events, and executing inputs, raises when they were made up."""


def problem_of(error: Exception) -> str:
    """The error in a refusal. An OSError would name a folder of this machine."""
    text = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return text[:200]
