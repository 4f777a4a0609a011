"""The purgatory: requests that wait for a condition, watched under the partitions that can fulfil it.

`kafka.server.DelayedOperationPurgatory`. An operation completes once: by a check after a change or by the deadline,
whichever is first.
"""

from typing import Generic, Protocol, TypeVar


class DelayedOperation(Protocol):
    """A delayed request. `request` is its rpc id; `partitions` are its keys."""

    request: str
    partitions: tuple[str, ...]


Waiting = TypeVar("Waiting", bound=DelayedOperation)


class Purgatory(Generic[Waiting]):
    """Operations by request and by partition, in the order of their arrival."""

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
        """Removes an operation; returns None if it has completed already."""
        operation = self._operations.pop(request, None)
        if operation is not None:
            for partition in operation.partitions:
                self._watchers[partition].pop(request, None)  # a request may have named a partition twice
        return operation

    def forget(self, partition: str) -> None:
        """Removes a partition. It is kept while an operation waits for it."""
        if not self._watchers.get(partition, True):
            del self._watchers[partition]

    def get(self, request: str) -> Waiting | None:
        """The operation of a request, if it is still delayed."""
        return self._operations.get(request)

    def watching(self, partition: str) -> list[Waiting]:
        """The operations to check after a change of this partition."""
        watchers = self._watchers.get(partition)
        return list(watchers.values()) if watchers else []

    def requests(self) -> list[str]:
        """The rpc ids of all delayed operations."""
        return list(self._operations)

    def __len__(self) -> int:
        return len(self._operations)
