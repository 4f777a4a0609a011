"""Roles, watermarks, beliefs, the ISR."""

from broker_core.events import replica
from broker_core.view.rules import rule

rule(
    replica.ReplicaBecameLeader,
    ("/replicas/{replica}/role", "'leader'"),
    ("/replicas/{replica}/leader", "int(k_replica.rpartition('@b')[2])"),
    ("/replicas/{replica}/leader_epoch", "event.leader_epoch"),
    ("/replicas/{replica}/leader_epoch_start_offset", "event.leader_epoch_start_offset"),
    ("/replicas/{replica}/partition_epoch", "event.partition_epoch"),
    ("/replicas/{replica}/isr", "list(event.isr)"),
    ("/replicas/{replica}/pending_isr", "None"),
    (
        "/replicas/{replica}/remotes",
        "{f'b{broker_id}': {'log_end_offset': log_end_offset, 'last_caught_up_us': last_caught_up_us} "
        "for broker_id, log_end_offset, last_caught_up_us in event.remotes}",
    ),
)
rule(
    replica.ReplicaBecameFollower,
    ("/replicas/{replica}/role", "'follower'"),
    ("/replicas/{replica}/leader", "event.leader"),
    ("/replicas/{replica}/leader_epoch", "event.leader_epoch"),
    ("/replicas/{replica}/leader_epoch_start_offset", "-1"),
    ("/replicas/{replica}/partition_epoch", "event.partition_epoch"),
    ("/replicas/{replica}/isr", "[]"),
    ("/replicas/{replica}/pending_isr", "None"),
    ("/replicas/{replica}/remotes", "{}"),
)
rule(
    replica.ReplicaWentOffline,
    ("/replicas/{replica}/role", "'offline'"),
    ("/replicas/{replica}/leader", "-1"),
    ("/replicas/{replica}/leader_epoch_start_offset", "-1"),
    ("/replicas/{replica}/isr", "[]"),
    ("/replicas/{replica}/pending_isr", "None"),
    ("/replicas/{replica}/remotes", "{}"),
)
rule(replica.HighWatermarkAdvanced, ("/replicas/{replica}/high_watermark", "event.to_offset"))
rule(replica.HighWatermarkLowered, ("/replicas/{replica}/high_watermark", "event.to_offset"))
rule(
    replica.RemoteReplicaUpdated,
    (
        "/replicas/{replica}/remotes/{follower}",
        "{'log_end_offset': event.log_end_offset, 'last_caught_up_us': event.last_caught_up_us}",
    ),
)
rule(replica.IsrChangeProposed, ("/replicas/{replica}/pending_isr", "list(event.isr)"))
for _kind in (replica.IsrShrunk, replica.IsrExpanded):
    rule(
        _kind,
        ("/replicas/{replica}/isr", "list(event.to_isr)"),
        ("/replicas/{replica}/pending_isr", "None"),
        ("/replicas/{replica}/partition_epoch", "event.partition_epoch"),
    )
rule(replica.IsrChangeRefused, ("/replicas/{replica}/pending_isr", "None"))
rule(replica.FetcherFailed)
