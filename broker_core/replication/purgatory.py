"""The purgatory: requests that wait for a condition, watched under the partitions that can fulfil it.

`kafka.server.DelayedOperationPurgatory`. Completion happens once, by whoever comes first: a check after a change, or
the deadline.
"""

from typing import Generic, Protocol, TypeVar


class DelayedOperation(Protocol):
    """A request that waits. `request` is the rpc id by which it is known; `partitions` are its keys."""

    request: str
    partitions: tuple[str, ...]


Waiting = TypeVar("Waiting", bound=DelayedOperation)


class Purgatory(Generic[Waiting]):
    """Operations by request and by partition, in the order in which they came."""

    def __init__(self) -> None:
        self._operations: dict[str, Waiting] = {}
        self._watchers: dict[str, dict[str, Waiting]] = {}

    def watch(self, operation: Waiting) -> None:
        """Keeps an operation until `remove`."""
        request = operation.request
        self._operations[request] = operation
        for partition in operation.partitions:
            watchers = self._watchers.get(partition)
            if watchers is None:
                watchers = self._watchers[partition] = {}
            watchers[request] = operation

    def remove(self, request: str) -> Waiting | None:
        """Takes an operation out. None when it has completed already: then there is nothing left to do for it."""
        operation = self._operations.pop(request, None)
        if operation is not None:
            for partition in operation.partitions:
                self._watchers[partition].pop(request, None)  # a request may have named a partition twice
        return operation

    def get(self, request: str) -> Waiting | None:
        """The operation of a request, if it still waits."""
        return self._operations.get(request)

    def watching(self, partition: str) -> list[Waiting]:
        """The operations to check after something changed on this partition."""
        watchers = self._watchers.get(partition)
        return list(watchers.values()) if watchers else []

    def requests(self) -> list[str]:
        """The rpc ids of everything that waits."""
        return list(self._operations)

    def __len__(self) -> int:
        return len(self._operations)
