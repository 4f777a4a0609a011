"""The loading of logs in slices of bounded work: a broker that recovers large logs must not block the others."""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

SLICE_BYTES = 4 * 1024 * 1024
"""The limit of bytes of batches that are checked between two pauses, unless a single batch is larger."""
SLICE_BATCHES = 1_000
LOG_BATCHES = 20
"""The cost of opening a log, besides its batches: its files and their first and last entries are read."""

Slices: TypeAlias = Generator[None, None, T]
"""Work that pauses at each `yield`, and its result."""


class Work:
    """Counts the work of a slice."""

    def __init__(self) -> None:
        self._bytes = self._batches = 0

    def add(self, size: int, batches: int = 1) -> bool:
        """Adds `batches` of `size` bytes. Returns whether the slice is full; if so, counts a new one."""
        self._bytes += size
        self._batches += batches
        if self._bytes < SLICE_BYTES and self._batches < SLICE_BATCHES:
            return False
        self._bytes = self._batches = 0
        return True


def at_once(slices: Slices[T]) -> T:
    """Does all of the work; returns its result."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
