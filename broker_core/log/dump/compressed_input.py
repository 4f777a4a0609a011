"""The compressed bytes of a batch with a cursor, and the base of their readers."""

from collections.abc import Callable

from broker_core.log.dump.java import out_of_memory

HELD_BYTES = 128 * 1024 * 1024
"""The maximum held in memory for a codec that cannot be read piece by piece."""
ALLOCATABLE_BYTES = 240 * 1024 * 1024
"""The maximum that Kafka's tool can allocate at once with its 256 MB."""

Fetch = Callable[[int, int], bytes]
"""Reads compressed bytes: position and length to bytes, fewer at the end."""


class StreamFault(Exception):
    """An exception that Java throws while reading a stream; the text is `class: message`."""

    @property
    def reason(self) -> str:
        """The message, or the class if there is none."""
        return str(self).partition(": ")[2] or str(self)


def io_fault(message: str) -> StreamFault:
    """A `java.io.IOException`."""
    return StreamFault(f"java.io.IOException: {message}")


class CompressedInput:
    """`size` bytes that are read from their start to their end."""

    def __init__(self, fetch: Fetch, size: int) -> None:
        self._fetch = fetch
        self.size = size
        self.position = 0

    @property
    def remaining(self) -> int:
        """The number of bytes that have not been read."""
        return self.size - self.position

    def take(self, length: int) -> bytes:
        """The next bytes, fewer at the end."""
        data = self._fetch(self.position, min(length, self.remaining))
        self.position += len(data)
        return data

    def taken(self) -> bytes:
        """All bytes that were read so far."""
        return self._fetch(0, self.position)


def held(length: int, what: str) -> int:
    """Returns the length if that many bytes may be held in memory. Raises Thrown otherwise."""
    if length > HELD_BYTES:
        raise out_of_memory(f"{what} may have {HELD_BYTES} bytes, it has {length}")
    return length
