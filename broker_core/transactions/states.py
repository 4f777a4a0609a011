"""The states of a transactional id (`kafka.coordinator.transaction.TransactionState`)."""

from enum import StrEnum


class TransactionState(StrEnum):
    """Each state with what it means; from which it may be entered says `VALID_PREVIOUS_STATES`."""

    EMPTY = "Empty"
    """A producer has its id and epoch, and has not begun. Its first partition begins a transaction."""
    ONGOING = "Ongoing"
    """Partitions belong to a transaction. The producer ends it; so does its timeout, or a new producer of the id."""
    PREPARE_COMMIT = "PrepareCommit"
    """The decision is in the log, and stands: markers go to all partitions, whoever coordinates."""
    PREPARE_ABORT = "PrepareAbort"
    """The same, with the other decision."""
    COMPLETE_COMMIT = "CompleteCommit"
    """All markers are written. The next transaction may begin."""
    COMPLETE_ABORT = "CompleteAbort"
    """The same, after an abort."""
    DEAD = "Dead"
    """The id has not been used for transactional.id.expiration.ms, and is forgotten."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """In memory only: the epoch is being raised, so that the transaction of an earlier producer can be aborted."""


_S = TransactionState

VALID_PREVIOUS_STATES: dict[TransactionState, frozenset[TransactionState]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset({_S.ONGOING, _S.PREPARE_EPOCH_FENCE}),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}

STATE_IDS: dict[TransactionState, int] = {state: number for number, state in enumerate(TransactionState)}
"""How a state stands in the log."""

PREPARED: dict[TransactionState, TransactionState] = {
    _S.PREPARE_COMMIT: _S.COMPLETE_COMMIT,
    _S.PREPARE_ABORT: _S.COMPLETE_ABORT,
}
"""A decision, and the state once it is carried out."""
