"""The index of a segment's aborted transactions, `.txnindex` (`TransactionIndex`, `AbortedTxn`; KIP-98).

An entry of 34 bytes says which producer's records, from which offset to that of the ABORT marker, a reader with
isolation.level=read_committed has to skip, and the last stable offset at the time of the abort. It is in the segment
that holds the marker. The file is created with the first abort: most segments have none.
"""

import struct
from typing import NamedTuple

from broker_core.log.files.storage_fault import StorageFault
from broker_core.sim.disk import CutFact, Disk, File
from broker_core.texts import Text, text

ENTRY_BYTES = 34
VERSION = 0
_ENTRY = struct.Struct(">hqqqq")
# Kafka writes the version as an int16 and reads its first byte.
_READ_ENTRY = struct.Struct(">bxqqqq")


class AbortedTransaction(NamedTuple):
    """A transaction that an ABORT marker ended: its first offset, that of the marker, and the last stable offset then
    (computed without this transaction).
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def encode(self) -> bytes:
        """The encoded entry."""
        return _ENTRY.pack(VERSION, *self)


class CorruptTransactionIndex(Exception):
    """The file does not match its segment and has to be rebuilt; holds the byte position and the reason."""

    def __init__(self, position: int, rule: Text) -> None:
        super().__init__(rule)
        self.position = position
        self.rule = rule


class TransactionIndex:
    """The `.txnindex` of one segment, with its entries in memory."""

    __slots__ = ("_disk", "base_offset", "file", "path", "transactions")

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        self._disk = disk
        self.path = path
        self.base_offset = base_offset
        self.transactions: list[AbortedTransaction] = []
        self.file: File | None = disk.open(path) if disk.exists(path) else None

    def load(self) -> None:
        """Reads and checks the entries (`sanityCheck`).

        Raises CorruptTransactionIndex for a transaction that ended before the segment begins, StorageFault for an entry
        of an unknown version.
        """
        self.transactions = []
        if self.file is None:
            return
        # An incomplete entry at the end of a damaged file is not read, but kept.
        data = self.file.read(0, self.file.size // ENTRY_BYTES * ENTRY_BYTES)
        for number, (version, *fields) in enumerate(_READ_ENTRY.iter_unpack(data)):
            if version > VERSION:
                rule = text("fault.transaction_index_version", version=version, expected=VERSION)
                raise StorageFault(self.path, rule, number * ENTRY_BYTES, is_io_error=False)
            transaction = AbortedTransaction(*fields)
            if transaction.last_offset < self.base_offset:
                raise CorruptTransactionIndex(
                    number * ENTRY_BYTES,
                    text("fault.transaction_before_segment", offset=transaction.last_offset, segment=self.base_offset),
                )
            self.transactions.append(transaction)

    def append(self, transaction: AbortedTransaction) -> None:
        """Adds an entry; the file is created if there was none."""
        if self.file is None:
            self.file = self._disk.open(self.path)
        self.file.append(transaction.encode())
        self.transactions.append(transaction)

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Drops the transactions whose marker is at or above `offset`; returns the removed bytes."""
        kept = next((slot for slot, aborted in enumerate(self.transactions) if aborted.last_offset >= offset), None)
        if self.file is None or kept is None:
            return ()
        position = kept * ENTRY_BYTES
        length = self.file.size - position
        del self.transactions[kept:]
        return (CutFact(self.path, position, length, self.file.truncate(position)),)

    def change_suffix(self, old: str, new: str) -> None:
        """Renames the file, or what it will be called."""
        renamed = self.path.removesuffix(old) + new
        if self.file is not None:
            self._disk.rename(self.path, renamed)
        self.path = renamed

    def clear(self) -> None:
        """Deletes all entries, corrupt ones included, before the index is rebuilt."""
        self.transactions = []
        if self.file is not None:
            self.file.release(0)

    def flush(self) -> None:
        """Makes all entries survive a power loss."""
        if self.file is not None:
            self.file.fsync()

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """The transactions that overlap `fetch_offset` to `upper_bound` (exclusive), and whether no later segment can
        list another one (`collectAbortedTxns`).
        """
        found = []
        for transaction in self.transactions:
            if transaction.last_offset >= fetch_offset and transaction.first_offset < upper_bound:
                found.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return found, True
        return found, False
