"""The cleaner's state of the transactions in the log (`CleanedTransactionMetadata`; KIP-98, KIP-534).

Records of aborted transactions are removed; a marker is kept as long as any batch of its transaction is, because
readers need it. The state is carried from segment to segment: a transaction may span several.
"""

from heapq import heappop, heappush

from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.records.control_record import ControlRecordType, read_end_transaction_marker
from broker_core.records.record_batch import BatchHeader, iterate_records


class CleanedTransactions:
    """The transactions that are open at the current batch."""

    def __init__(self) -> None:
        self._still_aborted: list[AbortedTransaction] = []
        self._ahead: list[tuple[int, int, AbortedTransaction]] = []
        self._committed: set[int] = set()
        self._aborted: dict[int, AbortedTransaction] = {}
        self._met: set[int] = set()
        self._number = 0

    def add_aborted(self, transactions: list[AbortedTransaction]) -> None:
        """Adds the aborted transactions of the next segment."""
        for transaction in transactions:
            self._number += 1
            heappush(self._ahead, (transaction.first_offset, self._number, transaction))

    def take_still_aborted(self) -> list[AbortedTransaction]:
        """Returns the aborted transactions whose marker was kept since the last call, for the new segment's transaction
        index.
        """
        taken, self._still_aborted = self._still_aborted, []
        return taken

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether this batch, which is not a marker, belongs to an aborted transaction."""
        self._reach(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._met.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def is_empty_marker(self, header: BatchHeader, data: bytes, position: int) -> bool:
        """Whether the transaction that the marker at `position` of `data` ends has no records left."""
        self._reach(header.last_offset)
        record = next(iterate_records(data, header, position), None)
        if record is None:
            return True
        marker = read_end_transaction_marker(record)
        if marker is None:
            return False
        producer_id = header.producer_id
        if marker[0] is ControlRecordType.ABORT:
            transaction = self._aborted.pop(producer_id, None)
            if transaction is None or producer_id not in self._met:
                return True
            self._met.discard(producer_id)
            self._still_aborted.append(transaction)
            return False
        if producer_id in self._committed:
            self._committed.discard(producer_id)
            return False
        return True

    def _reach(self, offset: int) -> None:
        ahead = self._ahead
        while ahead and ahead[0][0] <= offset:
            transaction = heappop(ahead)[2]
            self._aborted.setdefault(transaction.producer_id, transaction)
