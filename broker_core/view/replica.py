"""Roles, watermarks, a leader's view of its followers, the ISR."""

from broker_core.events import replica
from broker_core.partitions import ReplicaId, broker_node
from broker_core.view.folding import ESCAPED, REPLICAS, folds, unchanged
from broker_core.view.patch import Patch
from broker_core.view.tree import RemoteReplica, View

unchanged(replica.FetcherFailed)


@folds
def _became_leader(view: View, event: replica.ReplicaBecameLeader, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(
        view,
        event.replica,
        {
            "role": "leader",
            "leader": ReplicaId.parse(event.replica).broker_id,
            "leader_epoch": event.leader_epoch,
            "leader_epoch_start_offset": event.leader_epoch_start_offset,
            "partition_epoch": event.partition_epoch,
            "isr": list(event.isr),
            "pending_isr": None,
            "remotes": {
                broker_node(broker_id): {"log_end_offset": log_end_offset, "last_caught_up_us": last_caught_up_us}
                for broker_id, log_end_offset, last_caught_up_us in event.remotes
            },
        },
    )


@folds
def _became_follower(view: View, event: replica.ReplicaBecameFollower, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(
        view,
        event.replica,
        {
            "role": "follower",
            "leader": event.leader,
            "leader_epoch": event.leader_epoch,
            "leader_epoch_start_offset": -1,
            "partition_epoch": event.partition_epoch,
            "isr": [],
            "pending_isr": None,
            "remotes": {},
        },
    )


@folds
def _went_offline(view: View, event: replica.ReplicaWentOffline, at_us: int, seq: int) -> Patch:
    return offline(view, event.replica)


def offline(view: View, name: str) -> Patch:
    """A replica that is neither leader nor follower."""
    return REPLICAS.set(
        view,
        name,
        {
            "role": "offline",
            "leader": -1,
            "leader_epoch_start_offset": -1,
            "isr": [],
            "pending_isr": None,
            "remotes": {},
        },
    )


@folds
def _high_watermark(
    view: View, event: replica.HighWatermarkAdvanced | replica.HighWatermarkLowered, at_us: int, seq: int
) -> Patch:
    name, offset = event.replica, event.to_offset
    view["replicas"][name]["high_watermark"] = offset
    return [[f"{REPLICAS.pointers[name]}/high_watermark", offset]]


@folds
def _remote_updated(view: View, event: replica.RemoteReplicaUpdated, at_us: int, seq: int) -> Patch:
    remote: RemoteReplica = {"log_end_offset": event.log_end_offset, "last_caught_up_us": event.last_caught_up_us}
    name, follower = event.replica, event.follower
    view["replicas"][name]["remotes"][follower] = remote
    return [[f"{REPLICAS.pointers[name]}/remotes/{ESCAPED[follower]}", remote]]


@folds
def _isr_proposed(view: View, event: replica.IsrChangeProposed, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(view, event.replica, {"pending_isr": list(event.isr)})


@folds
def _isr_changed(view: View, event: replica.IsrShrunk | replica.IsrExpanded, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(
        view, event.replica, {"isr": list(event.to_isr), "pending_isr": None, "partition_epoch": event.partition_epoch}
    )


@folds
def _isr_refused(view: View, event: replica.IsrChangeRefused, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(view, event.replica, {"pending_isr": None})
