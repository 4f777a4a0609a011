"""The start offset of each leader epoch of a log (`LeaderEpochFileCache`; KIP-101, KIP-279)."""

from bisect import bisect_right

from broker_core.log.files.checkpoints import LeaderEpochCheckpoint
from broker_core.log.files.storage_fault import StorageFault
from broker_core.records.record_batch import NO_LEADER_EPOCH
from broker_core.texts import text

UNDEFINED_EPOCH_OFFSET = -1


class LeaderEpochCache:
    """The epochs of a log, increasing in epoch and start offset, and their file, written with every change.

    With `is_kept` false there are neither: messages of magic 0 and 1 do not carry an epoch.
    """

    def __init__(self, checkpoint: LeaderEpochCheckpoint, is_kept: bool = True, only_rises: bool = False) -> None:
        self._checkpoint = checkpoint
        self._only_rises = only_rises
        self._is_kept = is_kept
        self._entries: list[tuple[int, int]] = []
        self.latest_epoch = NO_LEADER_EPOCH
        """The newest epoch, -1 without entries."""
        self.changes = 0
        """The number of changes of the entries."""
        if not is_kept:
            checkpoint.delete()
            return
        # Lines that contradict later ones are ignored, but stay in the file until it is written.
        for epoch, start_offset in checkpoint.read():
            if epoch < 0 or start_offset < 0:
                raise StorageFault(
                    checkpoint.path,
                    text("fault.negative_epoch", epoch=epoch, offset=start_offset),
                    is_io_error=False,
                )
            self._add(epoch, start_offset)

    @property
    def path(self) -> str:
        """The file, a path of its disk."""
        return self._checkpoint.path

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """(epoch, start offset), oldest first."""
        return tuple(self._entries)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Records that `epoch` starts at `start_offset`; returns whether that changed the cache.

        Entries that contradict it, with an epoch or a start at or above the new one's, are dropped; if the cache
        ignores lower epochs, one that would contradict the entries is ignored. Raises ValueError for a negative epoch
        or offset.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"leader epoch {epoch} at offset {start_offset}: neither may be negative")
        entries = self._entries
        if not self._is_kept or (entries and entries[-1][0] == epoch and start_offset >= entries[-1][1]):
            return False
        if self._only_rises and entries and (entries[-1][0] >= epoch or entries[-1][1] > start_offset):
            return False
        self._add(epoch, start_offset)
        self._checkpoint.write(entries)
        return True

    def keep(self, is_kept: bool) -> None:
        """Applies a change of the log's message format; dropping the epochs deletes the file."""
        if self._is_kept and not is_kept:
            self._set([])
            self._checkpoint.delete()
        self._is_kept = is_kept

    def epoch_for(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written; -1 if the cache starts above it."""
        slot = bisect_right(self._entries, offset, key=_start_offset)
        return self._entries[slot - 1][0] if slot else NO_LEADER_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the newest epoch at or below `epoch`, the end being the next epoch's start.

        (-1, -1) if the newest epoch of the log is older than `epoch`, or `epoch` is undefined.
        """
        entries = self._entries
        if epoch == NO_LEADER_EPOCH or not entries:
            return NO_LEADER_EPOCH, UNDEFINED_EPOCH_OFFSET
        if entries[-1][0] == epoch:
            return epoch, log_end_offset
        slot = bisect_right(entries, epoch, key=_epoch)
        if slot == len(entries):
            return NO_LEADER_EPOCH, UNDEFINED_EPOCH_OFFSET
        higher_start = entries[slot][1]
        return (entries[slot - 1][0], higher_start) if slot else (epoch, higher_start)

    def is_before_first(self, epoch: int) -> bool:
        """Whether the first epoch of the log is greater."""
        return bool(self._entries) and epoch < self._entries[0][0]

    def truncate_from_end(self, offset: int) -> bool:
        """Drops the epochs that start at or above `offset`; returns whether there were any."""
        kept = [entry for entry in self._entries if entry[1] < offset]
        return self._replace(kept)

    def truncate_from_start(self, offset: int) -> bool:
        """Drops epochs below `offset`; the epoch at `offset` now starts there. Returns whether entries changed."""
        slot = bisect_right(self._entries, offset, key=_start_offset)
        if not slot:
            return False
        return self._replace([(self._entries[slot - 1][0], offset), *self._entries[slot:]])

    def clear(self) -> bool:
        """Drops all epochs; returns whether there were any. The file is written even if there were none."""
        if not self._is_kept:
            return False
        had_entries = bool(self._entries)
        self._set([])
        self._checkpoint.write([])
        return had_entries

    def _replace(self, entries: list[tuple[int, int]]) -> bool:
        if entries == self._entries:
            return False
        self._set(entries)
        self._checkpoint.write(entries)
        return True

    def _add(self, epoch: int, start_offset: int) -> None:
        entries = self._entries
        while entries and (entries[-1][0] >= epoch or entries[-1][1] >= start_offset):
            entries.pop()
        entries.append((epoch, start_offset))
        self.latest_epoch = epoch
        self.changes += 1

    def _set(self, entries: list[tuple[int, int]]) -> None:
        self._entries = entries
        self.latest_epoch = entries[-1][0] if entries else NO_LEADER_EPOCH
        self.changes += 1


def _epoch(entry: tuple[int, int]) -> int:
    return entry[0]


def _start_offset(entry: tuple[int, int]) -> int:
    return entry[1]
