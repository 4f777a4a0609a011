"""Replication: watermarks, roles, a leader's view of its followers, the ISR."""

from broker_core.events.envelope import Event, kind

Isr = tuple[int, ...]


@kind("replica")
class ReplicaBecameLeader(Event):
    """`remotes`: (broker id, log end offset, last caught-up time) of the other replicas."""

    replica: str
    leader_epoch: int
    leader_epoch_start_offset: int
    partition_epoch: int
    controller_epoch: int
    isr: Isr
    remotes: tuple[tuple[int, int, int], ...]


@kind("replica")
class ReplicaBecameFollower(Event):
    replica: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    controller_epoch: int


@kind("replica")
class ReplicaWentOffline(Event):
    replica: str


@kind("replica")
class HighWatermarkAdvanced(Event):
    replica: str
    from_offset: int
    to_offset: int


@kind("replica")
class HighWatermarkLowered(Event):
    replica: str
    from_offset: int
    to_offset: int


@kind("replica")
class RemoteReplicaUpdated(Event):
    """The leader took note of a follower's fetch. `from_offset` -1 = it knew nothing before."""

    replica: str
    follower: str
    from_offset: int
    log_end_offset: int
    last_caught_up_us: int


@kind("replica")
class IsrChangeProposed(Event):
    """The leader asked for another ISR and has no answer yet (KIP-497)."""

    replica: str
    isr: Isr


@kind("replica")
class IsrShrunk(Event):
    replica: str
    from_isr: Isr
    to_isr: Isr
    partition_epoch: int


@kind("replica")
class IsrExpanded(Event):
    replica: str
    from_isr: Isr
    to_isr: Isr
    partition_epoch: int


@kind("replica")
class IsrChangeRefused(Event):
    """`isr` is the committed ISR that holds again. `error` is Kafka's name of it."""

    replica: str
    isr: Isr
    error: str


@kind("replica")
class FetcherFailed(Event):
    replica: str
    leader: int
    why: str
