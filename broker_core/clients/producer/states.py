"""The states of a producer's id and transaction (`TransactionManager.State`)."""

from collections.abc import Mapping
from enum import StrEnum


class ProducerState(StrEnum):
    """The states of a producer with idempotence or transactions. The names are those of Kafka's client.

    `VALID_PREVIOUS_STATES` holds the transitions as data; docs/STATE_CHARTS.md is drawn from it.
    """

    UNINITIALIZED = ""
    """The producer has requested no id.

    Action: none.
    Transitions: INITIALIZING when initTransactions is called, without a transactional id with the first batch.
    """
    INITIALIZING = "initializing"
    """The producer waits for an id and epoch.

    Action: InitProducerId is sent, with a transactional id to its coordinator.
    Transitions: READY with the response; ABORTABLE_ERROR and FATAL_ERROR if it is refused.
    """
    READY = "ready"
    """The producer has its id and epoch, and no open transaction.

    Action: none.
    Transitions: IN_TRANSACTION when a transaction begins; READY with the next epoch when the sequence numbers of an
    idempotent producer restart, INITIALIZING after its last epoch.
    """
    IN_TRANSACTION = "in transaction"
    """A transaction is open.

    Action: partitions and offsets are added before they are written.
    Transitions: COMMITTING_TRANSACTION and ABORTING_TRANSACTION when it ends; ABORTABLE_ERROR when a batch fails.
    """
    COMMITTING_TRANSACTION = "committing"
    """The transaction is being committed.

    Action: EndTxn is sent when all batches are complete.
    Transitions: READY with the response; ABORTABLE_ERROR when a batch fails; INITIALIZING in Kafka's table.
    """
    ABORTING_TRANSACTION = "aborting"
    """The transaction is being aborted.

    Action: EndTxn is sent when all batches are complete.
    Transitions: READY with the response; INITIALIZING when a batch had failed (KIP-360); ABORTABLE_ERROR if it is
    refused.
    """
    ABORTABLE_ERROR = "abortable error"
    """The transaction can only be aborted.

    Action: every other call throws the error.
    Transitions: ABORTING_TRANSACTION when it is aborted.
    """
    FATAL_ERROR = "fatal error"
    """The producer can only be closed. Any state leads here.

    Action: every call throws the error.
    Transitions: none.
    """


_S = ProducerState

VALID_PREVIOUS_STATES: Mapping[ProducerState, tuple[ProducerState, ...]] = {
    _S.UNINITIALIZED: (),
    _S.INITIALIZING: (_S.UNINITIALIZED, _S.READY, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION),
    _S.READY: (_S.INITIALIZING, _S.READY, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION),
    _S.IN_TRANSACTION: (_S.READY,),
    _S.COMMITTING_TRANSACTION: (_S.IN_TRANSACTION,),
    _S.ABORTING_TRANSACTION: (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR),
    _S.ABORTABLE_ERROR: (
        _S.INITIALIZING,
        _S.IN_TRANSACTION,
        _S.COMMITTING_TRANSACTION,
        _S.ABORTING_TRANSACTION,
        _S.ABORTABLE_ERROR,
    ),
    _S.FATAL_ERROR: tuple(_S),
}
