"""The contents of the brokers' files at an instant of the past.

Bytes come from the file as it is now, and, where some were removed since, from the archive: the events record the
position, the length, and the digest in the archive. They also record later names of a file: one that is deleted is
renamed first.
"""

from functools import cached_property

from broker_core.events import Event
from broker_core.events.log import Cut
from lab.recordings.disk.file_changes import Renamed, changes
from lab.recordings.recording import Recording


class PastFiles:
    """The files as they were after event `seq`, by their paths at that event."""

    def __init__(self, recording: Recording, seq: int) -> None:
        self._recording = recording
        self._seq = seq

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`. Raises FileNotFoundError when there is nothing left of the file."""
        cuts, now = self._history(path)
        return self._undo(now, start, end, cuts)

    def read_all(self, path: str) -> bytes | None:
        """All of a file that is only ever written at once; None when nothing is left of it."""
        cuts, now = self._history(path)
        for _, position, _, digest in cuts:
            if position == 0 and digest:
                return self._recording.folder.archive.get(digest)
        try:
            return (self._recording.folder.cluster / now).read_bytes()
        except FileNotFoundError:
            return None

    @cached_property
    def _events(self) -> list[Event]:
        """All that has happened to files since."""
        return [
            self._recording.events(number, number)[0][4]
            for segment in self._recording.segments()
            for number in segment.cuts
            if number > self._seq
        ]

    def _history(self, path: str) -> tuple[list[Cut], str]:
        """The bytes that were removed from the file since, in order, and its current path."""
        cuts: list[Cut] = []
        for event in self._events:
            for change in changes(event):
                if isinstance(change, Renamed):
                    path = change.follow(path)
                elif change[0] == path:
                    cuts.append(change)
        return cuts, path

    def _undo(self, path: str, start: int, end: int, cuts: list[Cut]) -> bytes:
        """The bytes from `start` to `end` as they were before `cuts`, which came in this order."""
        if start >= end:
            return b""
        for index, (_, position, length, digest) in enumerate(cuts):
            if digest and start < position + length and end > position:
                cut = self._recording.folder.archive.get(digest).ljust(length, b"\0")
                later = cuts[index + 1 :]
                return (
                    self._undo(path, start, position, later)
                    + cut[max(start - position, 0) : end - position]
                    + self._undo(path, max(start, position + length), end, later)
                )
        with (self._recording.folder.cluster / path).open("rb") as stream:
            stream.seek(start)
            return stream.read(end - start)
