"""Compares reproduced events with the recorded ones. Whole segments are compared by their digests."""

from broker_core.texts import Text, text
from lab.recordings.recording import Recording
from lab.recordings.timeline import SEGMENT_EVENTS, digest_of


class OtherEvents(Exception):
    """Events differ from those recorded."""

    def __init__(self, message: Text) -> None:
        super().__init__(message)
        self.message = message


class Comparison:
    """Takes the bytes of events in order, from `first_seq` on; events beyond the recording are ignored."""

    def __init__(self, recording: Recording, first_seq: int) -> None:
        self._recording = recording
        self._segments = recording.segments()
        self._first_seq = first_seq
        self._records: list[bytes] = []

    def take(self, records: list[bytes]) -> None:
        """The next events. Raises OtherEvents."""
        self._records += records
        while True:
            segment = (self._first_seq - 1) // SEGMENT_EVENTS
            count = (segment + 1) * SEGMENT_EVENTS - self._first_seq + 1
            if count > len(self._records) or self._first_seq + count - 1 > self._recording.last_seq:
                return
            if count == SEGMENT_EVENTS:
                first = (self._segments[0].first_seq - 1) // SEGMENT_EVENTS
                is_same = digest_of(self._records[:count]) == self._segments[segment - first].digest
            else:
                is_same = self._records[:count] == self._recording.records(self._first_seq, self._first_seq + count - 1)
            self._judge(is_same)
            del self._records[:count]
            self._first_seq += count

    def finish(self) -> None:
        """No more events come. Raises OtherEvents."""
        recorded = self._recording.records(self._first_seq, self._recording.last_seq)
        self._judge(self._records[: len(recorded)] == recorded)

    def _judge(self, is_same: bool) -> None:
        if not is_same:
            raise OtherEvents(text("replay.other_events", seq=self._first_seq))
