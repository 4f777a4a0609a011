"""The journal of one learner: `DATA/learning/<learner>/learning-0`.

The offset of a record is the event's seq and its timestamp the wall time in milliseconds.
"""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from broker_core.texts import text
from lab.journals.journal import JournalFolder, StampedRecord, journal_config
from lab.texts.refusal import Refusal

FORMAT = 1
TOPIC = "learning"
_CONFIG = journal_config(16 * 1024 * 1024, segment_index_bytes=256 * 1024, max_message_bytes=1024 * 1024)
_READ_BYTES = 1024 * 1024


class Header(msgspec.Struct, frozen=True):
    """The record at offset 0."""

    format: int
    learner: str


class LearningJournal:
    """The open journal of one learner. Thread-safe; one object for each journal in a process."""

    def __init__(self, folder: Path, learner: str) -> None:
        """Opens the journal, or creates it. Raises Refusal for one of another format."""
        self.folder = folder
        self._lock = threading.RLock()
        self._folder = JournalFolder(folder, {TOPIC: _CONFIG})
        self._journal = self._folder[TOPIC]
        if self._journal.end == 0:
            self.append(msgspec.json.encode(Header(FORMAT, learner)), 0)
        self._check_header()

    @property
    def last_seq(self) -> int:
        """The seq of the last event; 0 when there is none."""
        return self._journal.last_seq

    @property
    def size_bytes(self) -> int:
        return self._journal.size_bytes

    def append(self, record: bytes, at_ms: int) -> int:
        """Writes one event; returns its seq. The operating system has it when this returns. Raises KafkaException
        (KAFKA_STORAGE_ERROR) when it cannot be written.
        """
        with self._lock:
            return self._journal.append([(at_ms, record)])

    def read(self, first_seq: int) -> Iterator[StampedRecord]:
        """The events from `first_seq` to the end, in order."""
        while True:
            with self._lock:
                found = self._journal.stamped(first_seq, _READ_BYTES)
            if not found:
                return
            yield from found
            first_seq = found[-1].seq + 1

    def close(self) -> None:
        """Closes the files as a clean shutdown does."""
        with self._lock:
            self._folder.close()

    def _check_header(self) -> None:
        try:
            header = msgspec.json.decode(self._journal.header() or b"", type=Header)
        except msgspec.MsgspecError as error:
            raise Refusal("refusal.learning_log", 500, folder=str(self.folder), problem=str(error)) from None
        if header.format != FORMAT:
            problem = text("refusal.learning_format", format=header.format)
            raise Refusal("refusal.learning_log", 500, folder=str(self.folder), problem=problem)


def remove_folder(folder: Path) -> None:
    """Deletes a learner's journal. It is renamed first, so that a crash does not leave half of it under its name."""
    if folder.exists():
        doomed = folder.with_name(f".deleted-{folder.name}")
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)
