"""The last events of a branch, encoded once for all watchers."""

CAPACITY = 20_000


class Ring:
    """Events with dense seqs, at least the newest `capacity` of them. Each reader advances at its own speed."""

    def __init__(self, last_seq: int, capacity: int = CAPACITY) -> None:
        self.last_seq = last_seq
        self.capacity = capacity
        self._events: list[bytes] = []

    @property
    def first_seq(self) -> int:
        """The oldest buffered event; `last_seq + 1` if there is none."""
        return self.last_seq - len(self._events) + 1

    def extend(self, events: list[bytes]) -> None:
        """Adds the events after `last_seq`."""
        self._events += events
        self.last_seq += len(events)
        # Cutting the front off moves all that stays: not for every batch.
        if len(self._events) > self.capacity + self.capacity // 4:
            del self._events[: len(self._events) - self.capacity]

    def follows(self, seq: int) -> bool:
        """Whether all events after `seq` are here."""
        return self.first_seq - 1 <= seq <= self.last_seq

    def after(self, seq: int, max_events: int, max_bytes: int) -> list[bytes]:
        """The events after `seq`, as many as fit and at least one if there is one. `follows(seq)` must hold."""
        start = seq - self.first_seq + 1
        found = self._events[start : start + max_events]
        size = 0
        for count, event in enumerate(found):
            size += len(event)
            if size > max_bytes and count:
                return found[:count]
        return found
