"""The replicas of a partition, and which of them come and go while it moves (`ReplicaAssignment`, KIP-455)."""

from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """`replicas` are all that there are at the moment; `adding` and `removing` are those of them that are new and those
    that shall go. Both are empty unless the partition moves.
    """

    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        """Whether the partition moves."""
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """Where the partition comes from: what cancelling goes back to."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """Where the partition goes to."""
        return _without(self.replicas, self.removing)

    def reassign_to(self, target: tuple[int, ...]) -> "ReplicaAssignment":
        """The assignment while the partition moves to `target`, those first. An earlier target is forgotten."""
        origin = self.origin
        replicas = tuple(dict.fromkeys(target + origin))
        return ReplicaAssignment(replicas, _without(replicas, origin), _without(replicas, target))

    def without(self, broker_id: int) -> "ReplicaAssignment":
        """The assignment when a replica is gone."""
        gone = (broker_id,)
        return ReplicaAssignment(
            _without(self.replicas, gone), _without(self.adding, gone), _without(self.removing, gone)
        )


def _without(replicas: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(each for each in replicas if each not in others)
