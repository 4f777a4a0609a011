"""The table of protocol errors."""

import pickle

from broker_core.error_messages import MESSAGES
from broker_core.errors import Errors, KafkaException
from broker_core.texts import text


def test_every_error_but_none_has_the_message_of_kafka() -> None:
    assert {error.name for error in Errors} - MESSAGES.keys() == {"NONE"}
    assert MESSAGES.keys() <= {error.name for error in Errors}
    assert Errors.NOT_CONTROLLER.message == "This is not the correct controller for this cluster."
    assert Errors.NONE.message == "NONE"


def test_exception_without_a_message_has_that_of_its_error() -> None:
    refused = text("refused.no_batch")
    assert KafkaException(Errors.INVALID_RECORD).message == Errors.INVALID_RECORD.message
    assert KafkaException(Errors.INVALID_RECORD, "why").message == "why"
    assert KafkaException(Errors.INVALID_RECORD, refused).message not in ("", Errors.INVALID_RECORD.message)


def test_errors_are_the_same_ones_in_a_checkpoint() -> None:
    for error in Errors:
        assert pickle.loads(pickle.dumps(error)) is error
        assert Errors.of(error.code) is error
