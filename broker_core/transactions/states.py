"""The states of a transactional id (`kafka.coordinator.transaction.TransactionState`)."""

from enum import StrEnum


class TransactionState(StrEnum):
    """The states of a transactional id, with the action and the transitions out of each.

    `VALID_PREVIOUS_STATES` holds the transitions as data; the page and docs/STATE_CHARTS.md are drawn from it.
    """

    EMPTY = "Empty"
    """A producer has its id and epoch, but no transaction.

    Action: none.
    Transitions: Ongoing when a partition or offsets are added; Dead when the id expires.
    """
    ONGOING = "Ongoing"
    """Partitions belong to an open transaction.

    Action: the coordinator watches transaction.timeout.ms.
    Transitions: PrepareCommit and PrepareAbort when the producer ends the transaction; PrepareEpochFence when it
    times out or a new producer starts with the same transactional id; Ongoing when partitions are added.
    """
    PREPARE_COMMIT = "PrepareCommit"
    """The decision to commit is in the log and is final.

    Action: markers are written to all partitions of the transaction, even if the coordinator moves.
    Transitions: CompleteCommit when all markers are written.
    """
    PREPARE_ABORT = "PrepareAbort"
    """The decision to abort is in the log and is final.

    Action: markers are written to all partitions of the transaction, even if the coordinator moves.
    Transitions: CompleteAbort when all markers are written.
    """
    COMPLETE_COMMIT = "CompleteCommit"
    """All commit markers are written.

    Action: none.
    Transitions: Ongoing when the next transaction starts; Empty when the producer initialises again; Dead when the id
    expires.
    """
    COMPLETE_ABORT = "CompleteAbort"
    """All abort markers are written.

    Action: none.
    Transitions: Ongoing when the next transaction starts; Empty when the producer initialises again; Dead when the id
    expires.
    """
    DEAD = "Dead"
    """The id has not been used for transactional.id.expiration.ms.

    Action: a tombstone is written to the log and the id is removed.
    Transitions: none.
    """
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """The producer epoch is being raised so that the open transaction of an earlier producer can be aborted.

    Action: none; the state is in memory only.
    Transitions: PrepareAbort.
    """


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
"""The number of each state in the log."""

PREPARED: dict[TransactionState, TransactionState] = {
    _S.PREPARE_COMMIT: _S.COMPLETE_COMMIT,
    _S.PREPARE_ABORT: _S.COMPLETE_ABORT,
}
"""The completed state of each decision."""
