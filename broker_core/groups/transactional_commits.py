"""Offsets that a transaction commits (KIP-98, KIP-447; `GroupMetadata`'s pending transactional offset commits).

They are written as a transactional batch and are pending, by producer id, until the marker: COMMIT makes them the
group's offsets, ABORT drops them. The offset written last counts.
"""

from broker_core.errors import Errors
from broker_core.groups.answers import OFFSET_ERRORS
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.facts import Groups
from broker_core.groups.host import TransactionalCommit
from broker_core.groups.offset_commits import examine_offsets, offset_records, refused_offsets
from broker_core.groups.states import GroupState
from broker_core.records.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, build_batch
from broker_core.sim.kernel import Message
from broker_core.wire.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse

_NOT_VERIFIED = {**OFFSET_ERRORS, Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS}


class TransactionalCommits:
    """See the module."""

    def __init__(self, groups: Groups) -> None:
        self._host = groups.host
        self._groups = groups

    def commit(self, message: Message, request: TxnOffsetCommitRequest, error: Errors) -> None:
        """Responds when the records are committed. `error`: why the group could not be verified to be in the
        transaction.
        """
        if not any(self._host.has_partition(name) for name, *_ in request.partitions):
            self._respond(message, refused_offsets(self._host, request.partitions, Errors.NONE))
            return
        error = _NOT_VERIFIED.get(error, error)
        if error is Errors.NONE:
            error = self._groups.status_for_member(request.group_id)
        group = None
        if error is Errors.NONE:
            group = self._groups.known.get(request.group_id) or self._groups.create(request.group_id)
            error = _error(group, request)
        if group is None or error is not Errors.NONE:
            self._respond(message, refused_offsets(self._host, request.partitions, error))
            return
        is_plain = request.producer_id == NO_PRODUCER_ID and self._host.era.groups.commits_without_producer
        if request.producer_epoch == NO_PRODUCER_EPOCH and not is_plain:
            # A transactional batch cannot have these values: Kafka fails on it.
            self._respond(message, tuple((name, Errors.UNKNOWN_SERVER_ERROR) for name, *_ in request.partitions))
            return
        order, offsets = examine_offsets(self._host, request.partitions)
        if not offsets:
            self._respond(message, order)
            return
        data = build_batch(
            offset_records(group, offsets, self._host.wall_ms),
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            base_sequence=0 if is_plain else NO_SEQUENCE,
            is_transactional=not is_plain,
        )
        number = group.begin_write(offsets, self._groups.next_commit_number())
        store = TransactionalCommit(group.group_id, message, request.producer_id, offsets, order, number)
        error = self._host.append_to_group_log(group.partition, data, store)
        if error is not Errors.NONE:
            self.stored(group, store, error)

    def stored(self, group: ClassicGroup | None, store: TransactionalCommit, error: Errors) -> None:
        """The offsets are in the log and pending the marker, or the write failed. None: the group was removed in the
        meantime.
        """
        if group is not None:
            for name, committed in store.offsets.items():
                if not group.end_write(name, store.number) or error is not Errors.NONE:
                    continue
                if store.producer_id != NO_PRODUCER_ID:
                    self._groups.suspend(group, store.producer_id, name, committed, store.number)
                elif group.is_newer(name, store.number):
                    self._groups.commit(group, name, committed, store.number)
        error = OFFSET_ERRORS.get(error, error)
        self._respond(store.message, tuple((name, error if own is Errors.NONE else own) for name, own in store.order))

    def completed(self, producer_id: int, partition: str, is_commit: bool) -> None:
        """A marker is in a partition of `__consumer_offsets` (`handleTxnCompletion`)."""
        for group in self._groups.known.values():
            pending = group.pending_transactional.get(producer_id)
            if pending is None or group.partition != partition:
                continue
            if is_commit:
                for name, committed in pending.items():
                    number = group.pending_numbers[producer_id][name]
                    if group.is_newer(name, number):
                        self._groups.commit(group, name, committed, number)
            self._groups.decide(group, producer_id, is_commit)

    def _respond(self, message: Message, results: tuple[tuple[str, Errors], ...]) -> None:
        error = next((error for _, error in results if error is not Errors.NONE), Errors.NONE)
        label = "label.waits_for_marker" if error is Errors.NONE else error.name
        self._host.kernel.respond(message, TxnOffsetCommitResponse(results), label=label)


def _error(group: ClassicGroup, request: TxnOffsetCommitRequest) -> Errors:
    """The membership is checked if the request contains it (version 3 and later)."""
    if request.generation_id < 0 and group.state is GroupState.EMPTY:
        return Errors.NONE
    if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return Errors.NONE
    error = group.member_error(request.member_id, request.group_instance_id)
    if error is Errors.NONE and request.generation_id != group.generation_id:
        return Errors.ILLEGAL_GENERATION
    return error
