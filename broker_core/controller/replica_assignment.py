"""The replicas of a partition, with the adding and removing ones (`ReplicaAssignment`, KIP-455)."""

from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """`replicas` are all current ones; `adding` and `removing` are those of them that are new and those to be removed.
    Both are empty unless the partition is being reassigned.
    """

    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        """Whether the partition is being reassigned."""
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The original replicas, to which a cancellation returns."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The target replicas."""
        return _without(self.replicas, self.removing)

    def reassign_to(self, target: tuple[int, ...]) -> "ReplicaAssignment":
        """The assignment during a reassignment to `target`, those first. Replaces an earlier target."""
        origin = self.origin
        replicas = tuple(dict.fromkeys(target + origin))
        return ReplicaAssignment(replicas, _without(replicas, origin), _without(replicas, target))

    def without(self, broker_id: int) -> "ReplicaAssignment":
        """The assignment without a replica."""
        gone = (broker_id,)
        return ReplicaAssignment(
            _without(self.replicas, gone), _without(self.adding, gone), _without(self.removing, gone)
        )


def _without(replicas: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(each for each in replicas if each not in others)
