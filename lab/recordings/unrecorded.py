"""Replaces the recording of a run that is not recorded."""

from collections.abc import Callable, Sequence
from typing import Any

from broker_core.view.tree import View
from lab.recordings.derivation import Made
from lab.recordings.folder import BranchFolder
from lab.recordings.logs import Header, Stamped, StoredEvent
from lab.recordings.recording import Recording
from lab.recordings.timeline import SegmentFacts


class Unrecorded(Recording):
    """Stores only the position of a run, not its events. Its engine can be built once."""

    is_kept = False

    def __init__(self, folder: BranchFolder, header: Header) -> None:
        self.folder = folder
        self.last_seq = self.last_at_us = 0
        self._header = header
        folder.path.mkdir(parents=True, exist_ok=True)

    @property
    def config(self) -> dict[str, Any]:
        return self._header.config

    @property
    def first_seq(self) -> int:
        return 1

    @property
    def first_at_us(self) -> int:
        return 0

    @property
    def input_count(self) -> int:
        return 0

    @property
    def size_bytes(self) -> int:
        return 0

    @property
    def has_pending(self) -> bool:
        return False

    def append_inputs(self, inputs: Sequence[Stamped]) -> None:
        """Nothing is written."""

    def append_events(self, made: Sequence[Made], view: Callable[[], View] | None = None) -> None:
        """Only the number and the instant of the last event are kept."""
        if made:
            self.last_seq, self.last_at_us = made[-1][0][:2]

    def flush_aside(self) -> None:
        """Nothing waits."""

    def flush(self) -> None:
        """Nothing waits."""

    def sync(self) -> None:
        """Nothing was written."""

    def close(self) -> None:
        """Nothing is open."""

    def inputs(self, first: int = 0) -> list[bytes]:
        return []

    def stored(self, first_seq: int, last_seq: int) -> list[StoredEvent]:
        return []

    def segments(self) -> list[SegmentFacts]:
        return []
